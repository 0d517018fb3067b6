import Administration
import Attestation
import Gateway
import JSON
import KeyStore
import RedisKeyStore
import Settings

/// `sallyport keys revoke` and `erase`: change the registry first, which lasts, then the mark in
/// Redis, which takes effect at once in every gateway.
enum KeyRevocationAction {
    static func revoke(
        _ registry: any RegistryAdministration, _ arguments: Arguments, _ settings: Settings
    ) throws {
        let keyIDs = KeysCommand.keyIDs(arguments)
        let outcomes = try registry.revoke(keyIDs)
        try mark(keyIDs, settings)
        report(
            keyIDs, outcomes, done: "revoked", unchanged: "was not active",
            newer: try registry.newerKeys(than: keyIDs), asJSON: arguments.wantsJSON)
    }

    static func erase(
        _ registry: any RegistryAdministration, _ arguments: Arguments, _ settings: Settings
    ) throws {
        try erase(registry, KeysCommand.keyIDs(arguments), arguments, settings)
    }

    static func erase(
        _ registry: any RegistryAdministration, _ keyIDs: [KeyID], _ arguments: Arguments,
        _ settings: Settings
    ) throws {
        let outcomes = try registry.erase(keyIDs)
        try mark(keyIDs, settings)
        report(
            keyIDs, outcomes, done: "erased", unchanged: "was erased",
            asJSON: arguments.wantsJSON)
    }

    /// Sets marks in a Redis that gateways share, if there is one. Blocks.
    @Sendable
    static func mark(_ keyIDs: [KeyID], _ settings: Settings) throws {
        guard case .redis(let redis) = settings.counters else { return }
        try RedisRevocations.mark(keyIDs, configuration: RedisCounterConfiguration(redis))
    }

    /// `newer`: the keys with which the installations of these keys go on.
    private static func report(
        _ keyIDs: [KeyID], _ outcomes: [AdministrationOutcome], done: String, unchanged: String,
        newer: [KeyID: NewerKey] = [:], asJSON: Bool
    ) {
        var isComplete = true
        for (keyID, outcome) in zip(keyIDs, outcomes) {
            if asJSON {
                MachineOutput.print { writer in
                    writer.member("key_id", string: keyID.base64)
                    writer.member("outcome", string: outcome == .done ? done : outcome.word)
                    if let newer = newer[keyID] { SuccessionText.write(newer, to: &writer) }
                }
                if outcome == .unknownKey { isComplete = false }
                continue
            }
            let rest =
                newer[keyID].map {
                    "; its installation \($0.installation) has the newer key \($0.keyID.base64)"
                } ?? ""
            switch outcome {
            case .done: Console.print("\(keyID.base64): \(done)\(rest)")
            case .unchanged: Console.print("\(keyID.base64): \(unchanged)\(rest)")
            case .unknownKey:
                Console.complain("\(keyID.base64): unknown key")
                isComplete = false
            }
        }
        if !isComplete { Exit.with(.failed) }
    }
}
