import Attestation
import Bytes
import EventLoop
import Gateway
import KeyStore
import Policy
import PostgresKeyStore
import SQLiteKeyStore
import Settings

/// The open stores of a configuration, which are closed cleanly at the end.
final class Stores {
    let registry: any Registry
    let counters: CounterAccess
    let floors: FloorTable
    private let embeddedCounters: EmbeddedCounters?
    private let ownership: Ownership?
    /// Nil if no file keeps the counts of quotas.
    private let quotaWriter: QuotaWriter?
    private let opening: [StoreLife.News]
    private var isClosed = false

    /// A box, because a value that cannot be copied cannot be taken out of an optional of a class.
    private final class Ownership {
        let value: EmbeddedOwnership

        init(registryPath: String) throws {
            value = try EmbeddedOwnership(registryPath: registryPath)
        }
    }

    /// `whenOpen` is called when the registry is open, before the state of the last clean stop is
    /// taken out of it. If the process is killed after that and before ``close(tell:)``, that state
    /// is lost.
    init(_ settings: Settings, whenOpen: () -> Void) throws {
        let registry = try Self.registry(settings)
        self.registry = registry
        whenOpen()
        Self.noteRestore(settings)
        if case .redis(let redis) = settings.counters {
            counters = .redis(redis)
            embeddedCounters = nil
            ownership = nil
            quotaWriter = nil
            opening = []
            if case .sqlite(let path) = settings.registry {
                try EmbeddedOwnership.forgetState(registryPath: path)
            }
            // Redis may have lost its memory together with the gateway.
            floors = Self.floors(settings, holds: { _ in false })
            return
        }
        // A database has no place for them, so each start has another incarnation.
        guard case .sqlite(let path) = settings.registry else {
            ownership = nil
            quotaWriter = nil
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
        let quotaWriter = try QuotaWriter(embedded.quotas, registryPath: path)
        self.quotaWriter = quotaWriter
        opening =
            Self.news(of: embedded, from: state) + Self.news(of: quotaWriter.opening)
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

    /// The administration of the registry. `createsIfMissing`: makes a missing one. `author`: the
    /// author of changes; nil for reading only.
    static func administration(
        _ settings: Settings, createsIfMissing: Bool = false, by author: AuditAuthor? = nil
    ) throws -> any RegistryAdministration {
        let registry = try administration(
            settings.registry, createsIfMissing: createsIfMissing)
        registry.author = author
        return registry
    }

    /// The administration of the registry, for callers that know nothing else of the settings.
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

    /// Notes in the audit log, once, that the registry is a copy that `keys backup` made.
    private static func noteRestore(_ settings: Settings) {
        guard case .sqlite(let path) = settings.registry else { return }
        do {
            let registry = try SQLiteAdministration(path: path)
            registry.author = .ofGateway()
            try registry.noteRestore()
        } catch {
            // The keys are there, so this is no reason not to serve.
            Console.complain("sallyport: audit log: \(error)")
        }
    }

    private static func options(for settings: Settings) -> EmbeddedCounters.Options {
        var options = EmbeddedCounters.Options()
        options.challengeLifeMilliseconds =
            Int(settings.challenge.timeToLive.components.seconds) * 1000
        // Counters are remembered for longer if challenges live longer.
        let usual = EmbeddedCounters.Options().challengeLifeMilliseconds
        let times = max(1, options.challengeLifeMilliseconds / usual)
        options.spentCountPerKeyMax *= times
        // For the widest window, because a reload may widen one.
        options.windowSizeMax = ReplayPolicy.windowSizeMax
        return options
    }

    /// The messages about the stores, for the gateway that uses them.
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

    /// Keeps the state of the embedded counters for the next start. To be called after the last
    /// request. `tell` is called with messages for the operator. A second call does nothing.
    func close(tell: (StoreLife.News) -> Void) {
        guard !isClosed else { return }
        isClosed = true
        let state = embeddedCounters?.snapshot(nowMilliseconds: Self.monotonicMilliseconds)
        // These floors are kept nowhere else. The registry completes its operations before it ends.
        if ownership == nil { floors.settleAll(now: Self.monotonicMilliseconds) }
        floors.raise(in: registry, isWhole: true, now: Self.monotonicMilliseconds)
        registry.close()
        floors.close(now: Self.monotonicMilliseconds)
        if let state, let ownership { keep(state, in: ownership, tell: tell) }
        endQuotas(tell: tell)
    }

    private func endQuotas(tell: (StoreLife.News) -> Void) {
        guard let quotaWriter, let quotas = embeddedCounters?.quotas else { return }
        let isWritten = quotaWriter.stop(within: Self.quotaPatience)
        let trouble =
            isWritten ? quotas.fileState.trouble(at: .now()) : "the disk does not answer"
        if let trouble { tell(Self.unkept(trouble)) }
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
