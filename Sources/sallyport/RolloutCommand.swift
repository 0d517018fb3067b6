import EventLoop
import Gateway
import KeyStore
import Policy
import Settings

/// `sallyport rollout`: rollouts that move by themselves, by hand; also while gateways run, which
/// follow within seconds.
enum RolloutCommand {
    static let usage = """
        usage: sallyport rollout ACTION -c FILE [ROUTE]

          show [ROUTE]         how far the rollouts have come, and why
          set ROUTE PERCENT    put the share there, and hold it
          hold ROUTE           keep the share where it is, whatever guard and schedule say
          resume ROUTE         let guard and schedule act again, from here

        ROUTE is the name of a route whose attest.rollout is a mapping, or attest_rollout.
        """

    private enum Action: String {
        case show
        case set
        case hold
        case resume
    }

    static func main(_ words: [String]) {
        guard let word = words.first else { Exit.usage(usage) }
        let arguments = Arguments(
            Array(words.dropFirst()), options: ["-c", "--config"], flags: [], usage: usage)
        if ["--help", "-h"].contains(word) { return Console.print(usage) }
        guard let action = Action(rawValue: word) else {
            Exit.usage("unknown action \(word)\n\n\(usage)")
        }
        let percent = percent(action, arguments.operands)
        let path = ConfigurationFile.path(arguments, usage: usage)
        let settings = ConfigurationFile.loadOrExit(path).settings
        do {
            switch action {
            case .show:
                try show(courses(arguments.operands.first, settings), settings)
            case .set, .hold, .resume:
                let course = courses(arguments.operands.first, settings)[0]
                try change(course, settings) { state, now in
                    switch action {
                    case .set: if let percent { state.set(percent, at: now) }
                    case .hold: state.hold(at: now)
                    case .resume: state.resume(at: now)
                    case .show: break
                    }
                }
            }
        } catch {
            Exit.failed("\(error)")
        }
    }

    // MARK: words

    /// What `set` asks for; operands that do not fit end the process.
    private static func percent(_ action: Action, _ operands: [String]) -> Int? {
        let counts =
            switch action {
            case .show: 0...1
            case .set: 2...2
            case .hold, .resume: 1...1
            }
        guard counts.contains(operands.count) else { Exit.usage(usage) }
        guard action == .set else { return nil }
        let digits = operands[1].hasSuffix("%") ? operands[1].dropLast() : operands[1][...]
        guard let percent = Int(digits), (0...100).contains(percent),
            digits.allSatisfy(\.isNumber)
        else { Exit.usage("\(operands[1]) is not a share from 0% to 100%") }
        return percent
    }

    /// The rollouts that are meant: all of them where none is named.
    private static func courses(_ name: String?, _ settings: Settings) -> [RolloutCourse] {
        let courses = settings.rolloutCourses
        guard let name else { return courses }
        let named = courses.filter { $0.subject.name == name }
        guard named.isEmpty else { return named }
        let isRoute =
            name == EndpointSettings.attestRolloutName
            || settings.routes.contains { $0.name == name }
        let others = courses.map(\.subject.name).joined(separator: ", ")
        Exit.failed(
            (isRoute
                ? "\(name): its share is what the configuration says, or nothing is enforced"
                : "no route is named \(name)")
                + (others.isEmpty ? "" : "; rollouts that move by themselves: \(others)"))
    }

    // MARK: actions

    private static func show(_ courses: [RolloutCourse], _ settings: Settings) throws {
        guard !courses.isEmpty else {
            return Console.print("no rollout moves by itself")
        }
        let registry = try Stores.administration(settings)
        for course in courses {
            let reading = try registry.readShared(course.entryName)
            Console.print(RolloutText.text(course, try state(reading, course)))
        }
    }

    /// Gateways write there too: what one of them has written meanwhile is changed instead.
    private static func change(
        _ course: RolloutCourse, _ settings: Settings,
        _ body: (inout RolloutState, Int64) -> Void
    ) throws {
        let registry = try Stores.administration(settings)
        var reading = try registry.readShared(course.entryName)
        for _ in 0..<attemptCountMax {
            var state =
                try state(reading, course) ?? RolloutState(beginning: course.plan, at: reading.now)
            body(&state, reading.now)
            let write = SharedWrite(
                name: course.entryName, value: RolloutRecord.encode(state),
                expected: reading.entry)
            let outcome = try registry.writeShared(write)
            if outcome.isWritten {
                return Console.print(RolloutText.text(course, state))
            }
            reading = outcome.reading
        }
        Exit.failed("\(course.subject.name): others write all the time; try again")
    }

    private static let attemptCountMax = 50

    private static func state(
        _ reading: SharedReading, _ course: RolloutCourse
    ) throws -> RolloutState? {
        guard let entry = reading.entry else { return nil }
        guard let state = RolloutRecord.decode(entry.value) else {
            throw StoreError(
                "\(course.subject.name): written by a version that this one does not know")
        }
        return state
    }
}

/// A rollout in words.
private enum RolloutText {
    static func text(_ course: RolloutCourse, _ state: RolloutState?) -> String {
        let name = course.subject.name
        guard let state else {
            return "\(name): no gateway has begun it\n  plan: \(course.plan.summary)"
        }
        let since = WallClock.timestamp(seconds: state.changedAt / 1000)
        var lines = [
            "\(name): \(state.percent)%, \(state.status.rawValue)",
            "  since \(since): \(state.cause.rawValue) from \(state.previousPercent)%"
                + counts(", ", state.evidence),
            "  plan: \(course.plan.summary)",
        ]
        let period = WallClock.timestamp(seconds: state.periodStartedAt / 1000)
        lines.append("  counted since \(period)" + counts(": ", state.period))
        if course.plan.guard != nil {
            let seen = state.window.reduce(RolloutCounts()) { $0 + $1.counts }
            lines.append("  in the guard's window" + counts(": ", seen))
        }
        return lines.joined(separator: "\n")
    }

    private static func counts(_ prefix: String, _ counts: RolloutCounts) -> String {
        guard counts.judged > 0 else { return prefix == ", " ? "" : ": no requests" }
        return "\(prefix)\(counts.refused) of \(counts.judged) refused"
    }
}
