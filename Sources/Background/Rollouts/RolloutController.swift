package import EventLoop
package import KeyStore
package import Policy

/// The registry's answer about a rollout.
package enum RolloutAnswer: Sendable {
    case read(entryName: String, Result<SharedReading, StoreError>)
    case written(entryName: String, Result<SharedOutcome, StoreError>)
}

/// Follows the rollouts of a gateway and decides them together with the other gateways. Belongs to
/// the control thread.
///
/// Every few seconds each gateway reads the shared state, adds the counts that it has made since,
/// lets the state machine act, and writes the result over what it read. The first write is taken;
/// the other gateways begin again with its value. So no gateway is in charge, and any of them may
/// stop. A share is followed only after it was written, so all gateways do the same, also after a
/// restart.
package final class RolloutController {
    /// The time in which a change reaches every gateway.
    static let interval = Duration.seconds(2)
    /// The most writes of others that may come first in one round; the next round is soon.
    private static let attemptCountMax = 5

    private struct Follower {
        let rollout: PlannedRollout
        let share: RolloutShare
        /// The part of the meters' counts that the shared state already has.
        var counted: RolloutCounts
        var isAsked = false
        var attemptCount = 0
        /// The write in progress, and the counts of the meters when it was made; nil if there is
        /// none.
        var write: SharedWrite?
        var writeCounts = RolloutCounts()
        var hasComplained = false
    }

    private let registry: any Registry
    private let log: any EventLog
    private let register: RolloutRegister
    private let counts: (PlannedRollout) -> RolloutCounts
    private let answer: @Sendable (RolloutAnswer) -> Void
    private var followers: [String: Follower] = [:]
    private var timer: Timer?
    /// Called when the last share that was asked for at the start is known, or cannot be known.
    private var onSettled: (() -> Void)?

    /// `register` has the shares that requests read. `counts` returns this gateway's counts since
    /// its start. `answer` brings the registry's answers to the control thread, and so to
    /// ``take(_:)``.
    package init(
        registry: any Registry, log: any EventLog, register: RolloutRegister,
        counts: @escaping (PlannedRollout) -> RolloutCounts,
        answer: @escaping @Sendable (RolloutAnswer) -> Void
    ) {
        self.registry = registry
        self.log = log
        self.register = register
        self.counts = counts
        self.answer = answer
    }

    package func start(on loop: EventLoop) {
        let timer = Timer(loop: loop) { [unowned self] in tick() }
        timer.scheduleRepeating(every: Self.interval)
        self.timer = timer
    }

    /// Follows these rollouts from now on. Requests counted before belong to none of them.
    package func follow(_ rollouts: [PlannedRollout]) {
        var next: [String: Follower] = [:]
        for rollout in rollouts {
            let name = rollout.entryName
            var follower = Follower(
                rollout: rollout, share: register.share(of: rollout), counted: counts(rollout))
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

    /// True if no answer is awaited.
    package var isIdle: Bool { followers.values.allSatisfy { !$0.isAsked } }

    /// True if a share is unknown that the registry has been asked for.
    package var isUnsettled: Bool {
        followers.values.contains { $0.share.percent == nil && $0.isAsked }
    }

    package func whenSettled(_ body: @escaping () -> Void) { onSettled = body }

    package func tick() {
        for name in followers.keys.sorted() {
            followers[name]?.attemptCount = 0
            read(name)
        }
    }

    private func read(_ name: String) {
        guard let follower = followers[name], !follower.isAsked else { return }
        followers[name]?.isAsked = true
        let answer = answer
        registry.readShared(name) { answer(.read(entryName: name, $0)) }
    }

    // MARK: answers

    package func take(_ answer: RolloutAnswer) {
        switch answer {
        case .read(let name, let result):
            followers[name]?.isAsked = false
            if case .success(let reading) = result {
                settleLostWrite(name, reading)
                advance(name, from: reading)
            }
        case .written(let name, let result):
            followers[name]?.isAsked = false
            // If the answer was lost, the next reading shows what became of the write.
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

    /// Settles a write without an answer. It was not done if the value that it replaces is still
    /// there. If there is another value, it may have been done: its counts are given up rather than
    /// added twice.
    private func settleLostWrite(_ name: String, _ reading: SharedReading) {
        guard let follower = followers[name], let write = follower.write else { return }
        followers[name]?.write = nil
        let isUntouched = reading.entry?.version == write.expected?.version
        if !isUntouched { followers[name]?.counted = follower.writeCounts }
    }

    // MARK: deciding

    /// Follows the state that was read, and writes the next state, with the counts of this gateway.
    private func advance(_ name: String, from reading: SharedReading) {
        guard follow(name, reading), let follower = followers[name] else { return }
        let known = reading.entry.flatMap { RolloutRecord.decode($0.value) }
        let plan = follower.rollout.plan
        let news = (counts(follower.rollout) - follower.counted).bounded
        // A registry that has lost the state (an older backup, an empty replica) must not open a
        // route: a gateway that knows how far the rollout had come writes that.
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
        registry.writeShared(write) { answer(.written(entryName: name, $0)) }
    }

    /// Follows a state that was read. False if it cannot be understood: the share then stays as it
    /// is.
    private func follow(_ name: String, _ reading: SharedReading) -> Bool {
        guard let follower = followers[name] else { return false }
        guard let entry = reading.entry else { return true }
        guard let state = RolloutRecord.decode(entry.value) else {
            if !follower.hasComplained {
                followers[name]?.hasComplained = true
                log.event(
                    level: "error", "rollout_unreadable",
                    "\(follower.rollout.subject.name): the registry holds a state that this version"
                        + " does not know; the share stays as it is")
            }
            return false
        }
        followers[name]?.hasComplained = false
        let before = follower.share.follow(state)
        tell(follower.rollout.subject, state, before)
        return true
    }

    /// Logs one line for each change, in each gateway.
    private func tell(_ subject: RolloutSubject, _ state: RolloutState, _ before: RolloutState?) {
        guard let before else {
            return log.event(
                level: "info", "rollout", "\(subject.name): \(state.percent)%, \(state.status)")
        }
        guard
            before.changedAt != state.changedAt || before.cause != state.cause
                || before.percent != state.percent
        else { return }
        let isBad = state.status == .heldByGuard
        log.event(
            level: isBad ? "warning" : "info", "rollout_changed",
            "\(subject.name): \(before.percent)% to \(state.percent)%: \(state.changeText)")
    }
}

extension RolloutState {
    /// The reason for the present state: `stepped_up, 12 of 803 refused, running`.
    package var changeText: String {
        let seen =
            evidence.judged > 0 ? ", \(evidence.refused) of \(evidence.judged) refused" : ""
        return "\(cause.rawValue)\(seen), \(status.rawValue)"
    }
}
