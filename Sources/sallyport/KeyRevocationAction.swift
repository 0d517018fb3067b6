import AppAttest
import Gateway
import KeyStore
import RedisKeyStore
import Settings

/// `sallyport keys revoke` and `erase`: the registry first, which lasts, then the mark in Redis,
/// which takes effect at once in every gateway.
enum KeyRevocationAction {
    static func revoke(
        _ registry: any RegistryAdministration, _ keyIDs: [KeyID], _ settings: Settings
    ) throws {
        let outcomes = try registry.revoke(keyIDs)
        try mark(keyIDs, settings)
        report(keyIDs, outcomes, done: "revoked", unchanged: "was not active")
    }

    static func erase(
        _ registry: any RegistryAdministration, _ keyIDs: [KeyID], _ settings: Settings
    ) throws {
        let outcomes = try registry.erase(keyIDs)
        try mark(keyIDs, settings)
        report(keyIDs, outcomes, done: "erased", unchanged: "was erased")
    }

    private static func mark(_ keyIDs: [KeyID], _ settings: Settings) throws {
        guard case .redis(let redis) = settings.counters else { return }
        try RedisRevocations.mark(keyIDs, configuration: RedisCounterConfiguration(redis))
    }

    private static func report(
        _ keyIDs: [KeyID], _ outcomes: [AdministrationOutcome], done: String, unchanged: String
    ) {
        var isComplete = true
        for (keyID, outcome) in zip(keyIDs, outcomes) {
            switch outcome {
            case .done: Console.print("\(keyID.base64): \(done)")
            case .unchanged: Console.print("\(keyID.base64): \(unchanged)")
            case .unknownKey:
                Console.complain("\(keyID.base64): unknown key")
                isComplete = false
            }
        }
        if !isComplete { Exit.with(.failed) }
    }
}
