import Administration
import Background
import EventLoop
import Gateway
import KeyStore
import Policy
import Settings

/// `sallyport rollout`: controls by hand the rollouts that move by themselves, also while gateways
/// run, which follow within seconds.
enum RolloutCommand {
    static let usage = """
        usage: sallyport rollout ACTION [-c FILE] [ROUTE]

          show [ROUTE]         how far the rollouts are, and why
          set ROUTE PERCENT    set the share, and hold it there
          hold ROUTE           keep the share where it is, whatever guard and schedule say
          resume ROUTE         let guard and schedule act again, from here

          --json   print one JSON object for each rollout

        ROUTE is the name of a route whose attest.rollout is a mapping, or attest_rollout.
        Exit code 3: as for `sallyport keys`, the change was made and may be lost.
        """

    private enum Action: String {
        case show
        case set
        case hold
        case resume

        /// The action's name in the audit log.
        var audited: AuditAction {
            switch self {
            case .set, .show: .setRollout
            case .hold: .holdRollout
            case .resume: .resumeRollout
            }
        }
    }

    static func main(_ words: [String]) {
        guard let word = words.first else { Exit.usage(usage) }
        let arguments = Arguments(
            Array(words.dropFirst()), options: ["-c", "--config"], flags: ["--json"], usage: usage)
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
                try show(
                    rollouts(arguments.operands.first, settings), settings,
                    asJSON: arguments.wantsJSON)
            case .set, .hold, .resume:
                let rollout = rollouts(arguments.operands.first, settings)[0]
                let write = { (state: RolloutState) in
                    Console.print(
                        arguments.wantsJSON
                            ? RolloutLine.text(rollout, state) : RolloutText.text(rollout, state))
                }
                try change(rollout, settings, action.audited, write) { state, now in
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

    /// The share that `set` asks for. Operands that do not fit end the process.
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

    /// The rollouts with that name; all of them if there is no name.
    private static func rollouts(_ name: String?, _ settings: Settings) -> [PlannedRollout] {
        let rollouts = settings.plannedRollouts
        guard let name else { return rollouts }
        let named = rollouts.filter { $0.subject.name == name }
        guard named.isEmpty else { return named }
        let others = rollouts.map(\.subject.name).joined(separator: ", ")
        Exit.failed(
            whyFixed(name, settings)
                + (others.isEmpty ? "" : "; rollouts that move by command: \(others)"))
    }

    /// The reason why no command moves the share of `name`, with what to do.
    private static func whyFixed(_ name: String, _ settings: Settings) -> String {
        let (key, percent): (String, Int)
        if let route = settings.routes.first(where: { $0.name == name }) {
            guard route.attest.mode == .enforce else {
                return "\(name): attest.mode is \(route.attest.mode.rawValue), so nothing is "
                    + "enforced that a share could be of"
            }
            (key, percent) = ("attest.rollout", route.attest.rolloutPercent)
        } else if name == EndpointSettings.attestRolloutName {
            (key, percent) = ("endpoints.attest_rollout", settings.endpoints.attestRollout.percent)
        } else {
            return "no route is named \(name)"
        }
        return
            "\(name): its share is fixed at \(percent)% by the configuration: change \(key) there "
            + "and reload, or write \(key): { start: \(max(1, percent))% } to have commands move it"
    }

    // MARK: actions

    private static func show(
        _ rollouts: [PlannedRollout], _ settings: Settings, asJSON: Bool
    ) throws {
        guard !rollouts.isEmpty else {
            // Without a rollout, no object is printed.
            return asJSON ? () : Console.print("no rollout moves by itself")
        }
        let registry = try Stores.administration(settings)
        registry.warn(ofChange: false)
        for rollout in rollouts {
            let reading = try registry.readShared(rollout.entryName)
            let state = try RolloutLine.state(reading, rollout)
            Console.print(
                asJSON ? RolloutLine.text(rollout, state) : RolloutText.text(rollout, state))
        }
    }

    /// Changes a rollout. Gateways write there too, so a state that one of them has just written is
    /// read and changed again.
    private static func change(
        _ rollout: PlannedRollout, _ settings: Settings, _ action: AuditAction,
        _ tell: (RolloutState) -> Void, _ body: (inout RolloutState, Int64) -> Void
    ) throws {
        let registry = try Stores.administration(settings, by: .ofCommand())
        registry.warn(ofChange: true)
        var reading = try registry.readShared(rollout.entryName)
        for _ in 0..<attemptCountMax {
            var state =
                try RolloutLine.state(reading, rollout)
                ?? RolloutState(beginning: rollout.plan, at: reading.now)
            body(&state, reading.now)
            let write = SharedWrite(
                name: rollout.entryName, value: RolloutRecord.encode(state),
                expected: reading.entry)
            let note = AuditNote(
                action, rollout.subject.name, outcome: "done",
                detail: "\(state.percent)%, \(state.status.rawValue)")
            let outcome = try registry.writeShared(write, noting: note)
            if outcome.isWritten {
                tell(state)
                return registry.exitIfUnconfirmed()
            }
            reading = outcome.reading
        }
        Exit.failed("\(rollout.subject.name): other writers change it at the same time; try again")
    }

    private static let attemptCountMax = 50
}

/// A rollout in words.
private enum RolloutText {
    static func text(_ rollout: PlannedRollout, _ state: RolloutState?) -> String {
        let name = rollout.subject.name
        guard let state else {
            return "\(name): no gateway has begun it\n  plan: \(rollout.plan.summary)"
        }
        let since = WallClock.timestamp(seconds: state.changedAt / 1000)
        var lines = [
            "\(name): \(state.percent)%, \(state.status.rawValue)",
            "  since \(since): \(state.cause.rawValue) from \(state.previousPercent)%"
                + counts(", ", state.evidence),
            "  plan: \(rollout.plan.summary)",
        ]
        let period = WallClock.timestamp(seconds: state.periodStartedAt / 1000)
        lines.append("  counted since \(period)" + counts(": ", state.period))
        if rollout.plan.guard != nil {
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
