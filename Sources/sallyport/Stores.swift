import EventLoop
import Gateway
import KeyStore
import Policy
import PostgresKeyStore
import SQLiteKeyStore
import Settings

/// The stores that a configuration names, opened; closed cleanly at the end.
final class Stores {
    let registry: any Registry
    let embeddedCounters: EmbeddedCounters?
    private let ownership: Ownership?

    /// A box: what is owned once cannot stand in an optional of a class that is taken apart.
    private final class Ownership {
        let value: EmbeddedOwnership

        init(registryPath: String) throws {
            value = try EmbeddedOwnership(registryPath: registryPath)
        }
    }

    init(_ settings: Settings) throws {
        let registry = try Self.registry(settings)
        self.registry = registry
        guard case .embedded = settings.counters else {
            embeddedCounters = nil
            ownership = nil
            return
        }
        // Beside a database there is no place for them: each start has another incarnation.
        var ownership: Ownership?
        if case .sqlite(let path) = settings.registry {
            ownership = try Ownership(registryPath: path)
        }
        self.ownership = ownership
        embeddedCounters = EmbeddedCounters(
            options: Self.options(for: settings), resuming: try ownership?.value.takeState(),
            clock: .now(),
            raiseFloors: { registry.raiseFloors($0) })
    }

    private static func registry(_ settings: Settings) throws -> any Registry {
        let queueCountMax = settings.limits.registryQueueCountMax
        switch settings.registry {
        case .sqlite(let path):
            var options = SQLiteRegistry.Options()
            options.queueCountMax = queueCountMax
            return try SQLiteRegistry(path: path, options: options)
        case .postgres(let postgres):
            return try PostgresRegistry(
                PostgresRegistryConfiguration(postgres, queueCountMax: queueCountMax))
        }
    }

    /// The registry by hand. `createsIfMissing`: makes it where there is none.
    static func administration(
        _ settings: Settings, createsIfMissing: Bool = false
    ) throws -> any RegistryAdministration {
        switch settings.registry {
        case .sqlite(let path):
            return try SQLiteAdministration(path: path, createsIfMissing: createsIfMissing)
        case .postgres(let postgres):
            return try PostgresAdministration(
                PostgresRegistryConfiguration(postgres, queueCountMax: 1),
                createsIfMissing: createsIfMissing)
        }
    }

    private static func options(for settings: Settings) -> EmbeddedCounters.Options {
        var options = EmbeddedCounters.Options()
        options.challengeLifeMilliseconds =
            Int(settings.challenge.timeToLive.components.seconds) * 1000
        // A reload may widen a window to the widest there is.
        options.windowSizeMax = ReplayPolicy.windowSizeMax
        return options
    }

    /// After the last request: what the embedded counters know is kept for the next start.
    func close() {
        let state = embeddedCounters?.snapshot(
            nowMilliseconds: Int64(MonotonicInstant.now().nanoseconds / 1_000_000))
        registry.close()
        if let state, let ownership {
            // Where it fails, the next start begins another incarnation, which is safe.
            try? ownership.value.storeState(state)
        }
    }
}
