import EventLoop
import KeyStore
public import Policy

/// What the registry answered about a rollout.
enum RolloutAnswer: Sendable {
    case read(entryName: String, Result<SharedReading, StoreError>)
    case written(entryName: String, Result<SharedOutcome, StoreError>)
}

/// Follows the rollouts of a gateway, and decides them together with the others. The control
/// thread's.
///
/// Every few seconds each gateway reads the shared state, adds the counts that it has made since,
/// lets the state machine act, and writes the result over what it read. Whoever comes first is
/// taken; the others begin again with what that one wrote. So no gateway is in charge, and one that
/// stops is missed by nobody. Nothing is followed before it is written: what one gateway does, all
/// do, also after a restart.
final class RolloutDirector {
    /// How soon a change reaches every gateway.
    static let interval = Duration.seconds(2)
    /// Others that may come first in one round; the next round is soon.
    private static let attemptCountMax = 5

    private struct Follower {
        let course: RolloutCourse
        let share: RolloutShare
        /// What the meters said of requests that the shared state knows.
        var counted: RolloutCounts
        var isAsked = false
        var attemptCount = 0
        /// What is being written, and the meters when it was made.
        var write: SharedWrite?
        var writeCounts = RolloutCounts()
        var hasComplained = false
    }

    private let hub: Hub
    private let answer: @Sendable (RolloutAnswer) -> Void
    private var followers: [String: Follower] = [:]
    private var timer: Timer?
    /// Called when the last share that was asked for at the start is known, or cannot be.
    private var onSettled: (() -> Void)?

    /// `answer` takes the registry's answers to the control thread, and so to ``take(_:)``.
    init(hub: Hub, answer: @escaping @Sendable (RolloutAnswer) -> Void) {
        self.hub = hub
        self.answer = answer
    }

    func start(on loop: EventLoop) {
        let timer = Timer(loop: loop) { [unowned self] in tick() }
        timer.scheduleRepeating(every: Self.interval)
        self.timer = timer
    }

    /// Follows the rollouts of `site` from now on. Requests counted before belong to none of them.
    func follow(_ site: Site) {
        var next: [String: Follower] = [:]
        for course in site.settings.rolloutCourses {
            let name = course.entryName
            var follower = Follower(
                course: course, share: site.rolloutRegister.share(of: course),
                counted: counts(of: course))
            if let known = followers[name] {
                follower.counted = known.counted
                follower.isAsked = known.isAsked
                follower.write = known.write
                follower.writeCounts = known.writeCounts
            }
            next[name] = follower
        }
        followers = next
        tick()
    }

    /// Whether no answer is awaited.
    var isIdle: Bool { followers.values.allSatisfy { !$0.isAsked } }

    /// Whether any share is unknown that the registry has been asked for.
    var isUnsettled: Bool { followers.values.contains { $0.share.percent == nil && $0.isAsked } }

    func whenSettled(_ body: @escaping () -> Void) { onSettled = body }

    func tick() {
        for name in followers.keys.sorted() {
            followers[name]?.attemptCount = 0
            read(name)
        }
    }

    private func read(_ name: String) {
        guard let follower = followers[name], !follower.isAsked else { return }
        followers[name]?.isAsked = true
        let answer = answer
        hub.registry.readShared(name) { answer(.read(entryName: name, $0)) }
    }

    // MARK: answers

    func take(_ answer: RolloutAnswer) {
        switch answer {
        case .read(let name, let result):
            followers[name]?.isAsked = false
            if case .success(let reading) = result {
                settleLostWrite(name, reading)
                advance(name, from: reading)
            }
        case .written(let name, let result):
            followers[name]?.isAsked = false
            // Where the answer was lost, the next reading tells what became of the write.
            if case .success(let outcome) = result { settle(name, outcome) }
        }
        guard let onSettled, !isUnsettled else { return }
        self.onSettled = nil
        onSettled()
    }

    private func settle(_ name: String, _ outcome: SharedOutcome) {
        guard let follower = followers[name], follower.write != nil else { return }
        followers[name]?.write = nil
        if outcome.isWritten {
            followers[name]?.counted = follower.writeCounts
            _ = follow(name, outcome.reading)
        } else {
            advance(name, from: outcome.reading)
        }
    }

    /// A write without an answer was not done where what it was written over stands there still.
    /// Where something else does, it was perhaps: its counts are given up rather than given twice.
    private func settleLostWrite(_ name: String, _ reading: SharedReading) {
        guard let follower = followers[name], let write = follower.write else { return }
        followers[name]?.write = nil
        let isUntouched = reading.entry?.version == write.expected?.version
        if !isUntouched { followers[name]?.counted = follower.writeCounts }
    }

    // MARK: deciding

    /// Follows what was read, and writes what it becomes by the counts of this gateway.
    private func advance(_ name: String, from reading: SharedReading) {
        guard follow(name, reading), let follower = followers[name] else { return }
        let known = reading.entry.flatMap { RolloutRecord.decode($0.value) }
        let plan = follower.course.plan
        let news = (counts(of: follower.course) - follower.counted).bounded
        // A registry that has lost it (an older backup, an empty replica) must not open a route:
        // whoever knows how far it had come says so.
        var state =
            known ?? follower.share.state ?? RolloutState(beginning: plan, at: reading.now)
        state.add(news, plan, at: reading.now)
        let isChanged = state.decide(plan, at: reading.now)
        let isNews = isChanged || news != RolloutCounts()
        guard isNews || state.periodStartedAt != known?.periodStartedAt else { return }
        guard follower.attemptCount < Self.attemptCountMax else { return }
        let write = SharedWrite(
            name: name, value: RolloutRecord.encode(state), expected: reading.entry)
        followers[name]?.attemptCount += 1
        followers[name]?.write = write
        followers[name]?.writeCounts = follower.counted + news
        followers[name]?.isAsked = true
        let answer = answer
        hub.registry.writeShared(write) { answer(.written(entryName: name, $0)) }
    }

    /// False where what stands there cannot be understood: the share stays as it is.
    private func follow(_ name: String, _ reading: SharedReading) -> Bool {
        guard let follower = followers[name] else { return false }
        guard let entry = reading.entry else { return true }
        guard let state = RolloutRecord.decode(entry.value) else {
            if !follower.hasComplained {
                followers[name]?.hasComplained = true
                hub.logs.event(
                    level: "error", "rollout_unreadable",
                    "\(follower.course.subject.name): the registry holds a state that this version"
                        + " does not know; the share stays as it is")
            }
            return false
        }
        followers[name]?.hasComplained = false
        let before = follower.share.follow(state)
        tell(follower.course.subject, state, before)
        return true
    }

    /// One line for each change, in each gateway.
    private func tell(_ subject: RolloutSubject, _ state: RolloutState, _ before: RolloutState?) {
        guard let before else {
            return hub.logs.event(
                level: "info", "rollout", "\(subject.name): \(state.percent)%, \(state.status)")
        }
        guard
            before.changedAt != state.changedAt || before.cause != state.cause
                || before.percent != state.percent
        else { return }
        let isBad = state.status == .heldByGuard
        hub.logs.event(
            level: isBad ? "warning" : "info", "rollout_changed",
            "\(subject.name): \(before.percent)% to \(state.percent)%: \(state.changeText)")
    }

    // MARK: counting

    /// What this gateway has seen of the cohort since its start.
    private func counts(of course: RolloutCourse) -> RolloutCounts {
        let name =
            switch course.subject {
            case .route(let name): name
            case .attestation: AppEndpoint.attestVerify.routeName
            }
        return hub.meters.reduce(RolloutCounts()) { sum, meter in
            guard let route = meter.routeMeters[name] else { return sum }
            return sum + (course.subject == .attestation ? route.attestations : route.cohort)
        }
    }
}

extension RolloutState {
    /// Why it is as it is: `stepped_up, 12 of 803 refused, running`.
    public var changeText: String {
        let seen =
            evidence.judged > 0 ? ", \(evidence.refused) of \(evidence.judged) refused" : ""
        return "\(cause.rawValue)\(seen), \(status.rawValue)"
    }
}
