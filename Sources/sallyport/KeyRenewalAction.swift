import Attestation
import Bytes
import EventLoop
import JSON
import KeyStore
import Settings

/// `sallyport keys renew`: makes receipts due again, whatever became of them before. The gateway
/// that renews receipts sends them within seconds, at its rate.
enum KeyRenewalAction {
    /// The selection of receipts, among those of active keys.
    private enum Selection {
        case any
        /// The receipts that were never sent.
        case never
        case outcome(RenewalOutcome)

        init?(_ text: String) {
            switch text {
            case "any": self = .any
            case "never": self = .never
            default:
                guard let outcome = RenewalOutcome(rawValue: text) else { return nil }
                self = .outcome(outcome)
            }
        }

        func includes(_ record: KeyRecord) -> Bool {
            switch self {
            case .any: true
            case .never: record.receiptState?.lastOutcome == nil
            case .outcome(let outcome): record.receiptState?.lastOutcome == outcome
            }
        }
    }

    static func run(
        _ registry: any RegistryAdministration, _ arguments: Arguments, _ filter: KeyFilter,
        _ settings: Settings
    ) throws {
        if let text = arguments.value("--outcome") {
            guard arguments.operands.isEmpty else { Exit.usage("--outcome takes no KEY_ID") }
            guard let selection = Selection(text) else {
                let known = ["any", "never"] + RenewalOutcome.allCases.map(\.rawValue)
                Exit.usage("--outcome: \(text) is not one of \(known.joined(separator: ", "))")
            }
            try renew(selection, filter, registry, asJSON: arguments.wantsJSON)
        } else {
            try renew(KeysCommand.keyIDs(arguments), registry, asJSON: arguments.wantsJSON)
        }
        if !settings.receipts.renews || settings.apple == nil {
            Console.complain(
                settings.apple == nil
                    ? "none will be sent: the configuration has no apple.keys"
                    : "none will be sent: receipts.renew is off")
        }
    }

    private static func renew(
        _ keyIDs: [KeyID], _ registry: any RegistryAdministration, asJSON: Bool
    ) throws {
        let now = WallClock.now().seconds
        var isComplete = true
        for (keyID, outcome) in zip(keyIDs, try registry.renewReceipts(of: keyIDs, at: now)) {
            if asJSON {
                tell(keyID, outcome)
                isComplete = isComplete && outcome.isSuccess
                continue
            }
            let problem: String
            switch outcome {
            case .due(let dueAt):
                let time = dueAt > now ? "at \(WallClock.timestamp(seconds: dueAt))" : "now"
                Console.print("\(keyID.base64): due \(time)")
                continue
            case .wasDue:
                Console.print("\(keyID.base64): was due")
                continue
            case .noReceipt: problem = "has no receipt"
            case .notActive: problem = "is not active"
            case .unknownKey: problem = "unknown key"
            }
            Console.complain("\(keyID.base64): \(problem)")
            isComplete = false
        }
        if !isComplete { Exit.with(.failed) }
    }

    private static func tell(_ keyID: KeyID, _ outcome: RenewalOrderOutcome) {
        MachineOutput.print { writer in
            writer.member("key_id", string: keyID.base64)
            writer.member("outcome", string: outcome.word)
            guard case .due(let dueAt) = outcome else { return }
            writer.member("due_at", string: WallClock.timestamp(seconds: dueAt))
        }
    }

    /// Renews page by page, so that gateways can write in between.
    private static func renew(
        _ selection: Selection, _ filter: KeyFilter, _ registry: any RegistryAdministration,
        asJSON: Bool
    ) throws {
        let now = WallClock.now().seconds
        var filter = filter
        filter.status = .active
        filter.countMax = 1000
        var dueCount = 0
        while true {
            let page = try registry.list(filter, withReceipts: false)
            let chosen = page.filter(selection.includes).map(\.keyID)
            let outcomes = chosen.isEmpty ? [] : try registry.renewReceipts(of: chosen, at: now)
            dueCount += outcomes.count { if case .due = $0 { true } else { false } }
            guard let last = page.last else { break }
            filter.after = last.keyID
        }
        guard asJSON else {
            return
                Console.print("\(String(counting: dueCount, "receipt")) made due")
        }
        MachineOutput.print { $0.member("due", int: Int64(dueCount)) }
    }
}

extension RenewalOrderOutcome {
    fileprivate var isSuccess: Bool {
        switch self {
        case .due, .wasDue: true
        case .noReceipt, .notActive, .unknownKey: false
        }
    }
}
