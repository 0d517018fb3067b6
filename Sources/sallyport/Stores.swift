import AppAttest
import Bytes
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
    let counters: CounterAccess
    let floors: FloorTable
    private let embeddedCounters: EmbeddedCounters?
    private let ownership: Ownership?
    private let opening: [StoreLife.News]
    private var isClosed = false

    /// A box: what is owned once cannot stand in an optional of a class that is taken apart.
    private final class Ownership {
        let value: EmbeddedOwnership

        init(registryPath: String) throws {
            value = try EmbeddedOwnership(registryPath: registryPath)
        }
    }

    /// `whenOpen` is called when the registry is open, before the state of the last clean stop is
    /// taken out of it: a process that is killed from then on has lost that state, until
    /// ``close()``.
    init(_ settings: Settings, whenOpen: () -> Void) throws {
        let registry = try Self.registry(settings)
        self.registry = registry
        whenOpen()
        Self.noteRestore(settings)
        if case .redis(let redis) = settings.counters {
            counters = .redis(redis)
            embeddedCounters = nil
            ownership = nil
            opening = []
            if case .sqlite(let path) = settings.registry {
                try EmbeddedOwnership.forgetState(registryPath: path)
            }
            // Redis may have lost its memory together with the gateway.
            floors = Self.floors(settings, holds: { _ in false })
            return
        }
        // Beside a database there is no place for them: each start has another incarnation.
        guard case .sqlite(let path) = settings.registry else {
            ownership = nil
            opening = []
            let embedded = EmbeddedCounters(options: Self.options(for: settings), clock: .now())
            counters = .embedded(embedded)
            embeddedCounters = embedded
            floors = Self.floors(settings, holds: { _ in false })
            return
        }
        let ownership = try Ownership(registryPath: path)
        self.ownership = ownership
        let state = try ownership.value.takeState()
        let embedded = EmbeddedCounters(
            options: Self.options(for: settings), resuming: state.snapshot, clock: .now())
        opening = Self.news(of: embedded, from: state)
        counters = .embedded(embedded)
        embeddedCounters = embedded
        floors = Self.floors(settings, holds: embedded.holds)
    }

    /// After this time a lower counter is not merely late. The counters are forgotten later than
    /// this.
    static func floorLife(_ settings: Settings) -> Int64 {
        settings.challenge.timeToLive.components.seconds * 1000 + 5000
    }

    static var monotonicMilliseconds: Int64 {
        MonotonicInstant.now().milliseconds
    }

    private static func registry(_ settings: Settings) throws -> any Registry {
        let queueCountMax = settings.limits.registryQueueCountMax
        switch settings.registry {
        case .sqlite(let path):
            var options = SQLiteRegistry.Options()
            options.queueCountMax = queueCountMax
            options.logByteCountMax = settings.limits.registryLogByteCountMax
            return try SQLiteRegistry(path: path, options: options)
        case .postgres(let postgres):
            return try PostgresRegistry(
                PostgresRegistryConfiguration(postgres, queueCountMax: queueCountMax))
        }
    }

    /// The registry by hand. `createsIfMissing`: makes it where there is none. `author`: who
    /// changes something; nil where it is only read.
    static func administration(
        _ settings: Settings, createsIfMissing: Bool = false, by author: AuditAuthor? = nil
    ) throws -> any RegistryAdministration {
        let registry = try administration(
            settings.registry, createsIfMissing: createsIfMissing)
        registry.author = author
        return registry
    }

    /// The registry by hand, where nothing else of the settings is known.
    static func administration(
        _ settings: RegistrySettings, createsIfMissing: Bool = false
    ) throws -> any RegistryAdministration {
        switch settings {
        case .sqlite(let path):
            return try SQLiteAdministration(path: path, createsIfMissing: createsIfMissing)
        case .postgres(let postgres):
            return try PostgresAdministration(
                PostgresRegistryConfiguration(postgres, queueCountMax: 1),
                createsIfMissing: createsIfMissing)
        }
    }

    /// Enters in the audit log that the registry is a copy that `keys backup` made, once.
    private static func noteRestore(_ settings: Settings) {
        guard case .sqlite(let path) = settings.registry else { return }
        do {
            let registry = try SQLiteAdministration(path: path)
            registry.author = .ofGateway()
            try registry.noteRestore()
        } catch {
            // The keys are there: no reason not to serve.
            Console.complain("sallyport: audit log: \(error)")
        }
    }

    private static func options(for settings: Settings) -> EmbeddedCounters.Options {
        var options = EmbeddedCounters.Options()
        options.challengeLifeMilliseconds =
            Int(settings.challenge.timeToLive.components.seconds) * 1000
        // They are remembered for longer where challenges live longer.
        let usual = EmbeddedCounters.Options().challengeLifeMilliseconds
        let times = max(1, options.challengeLifeMilliseconds / usual)
        options.spentCountPerKeyMax *= times
        // A reload may widen a window to the widest there is.
        options.windowSizeMax = ReplayPolicy.windowSizeMax
        return options
    }

    /// For the gateway that uses them.
    var life: StoreLife {
        StoreLife(opening: opening) { [unowned self] tell in close(tell: tell) }
    }

    /// The event about the counters of the last stop.
    private static func news(
        of counters: EmbeddedCounters, from state: KeptState
    ) -> [StoreLife.News] {
        let reason: String? =
            switch state {
            case .none: nil
            case .kept: counters.resumeFailure
            case .lost(let reason): reason
            }
        if let reason {
            return [
                StoreLife.News(
                    level: "warning", event: "counters_unresumed",
                    "the counters of the last stop are not there, so that each app signs once"
                        + " more: \(reason)")
            ]
        }
        guard counters.isResumed else { return [] }
        return [
            StoreLife.News(
                level: "info", event: "counters_resumed",
                "the counters of \(String(counting: counters.keyCount, "key")) go on from the last"
                    + " stop")
        ]
    }

    /// After the last request: what the embedded counters know is kept for the next start. `tell`
    /// gets what the operator should know of it. A second call does nothing.
    func close(tell: (StoreLife.News) -> Void) {
        guard !isClosed else { return }
        isClosed = true
        let state = embeddedCounters?.snapshot(nowMilliseconds: Self.monotonicMilliseconds)
        // What is kept nowhere else: the registry does what it was asked before it ends.
        if ownership == nil { floors.settleAll(now: Self.monotonicMilliseconds) }
        floors.raise(in: registry, isWhole: true, now: Self.monotonicMilliseconds)
        registry.close()
        floors.close(now: Self.monotonicMilliseconds)
        if let state, let ownership { keep(state, in: ownership, tell: tell) }
    }

    private func keep(
        _ state: EmbeddedSnapshot, in ownership: Ownership, tell: (StoreLife.News) -> Void
    ) {
        let count = String(counting: embeddedCounters?.keyCount ?? 0, "key")
        let start = MonotonicInstant.now()
        do throws(StoreError) {
            let byteCount = try ownership.value.storeState(state)
            let milliseconds = (MonotonicInstant.now() - start).wholeNanoseconds / 1_000_000
            tell(
                StoreLife.News(
                    level: "info", event: "counters_kept",
                    "the counters of \(count) are kept for the next start: \(byteCount) bytes in"
                        + " \(milliseconds) ms"))
        } catch {
            // The next start begins another incarnation, which is safe.
            tell(
                StoreLife.News(
                    level: "error", event: "counters_unkept",
                    "the counters of \(count) are not kept, so that each app signs once more after"
                        + " the next start: \(error)"))
        }
    }
}
