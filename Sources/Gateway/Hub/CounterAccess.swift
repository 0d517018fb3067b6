public import EventLoop
public import KeyStore
public import Settings

/// The counter store of one worker, with its response to a reload.
public struct OpenedCounters {
    let store: any CounterStore
    let update: (CounterSettings) -> Void

    /// `update` takes new passwords and certificates, for the connections made from now on.
    public init(
        _ store: any CounterStore, update: @escaping (CounterSettings) -> Void = { _ in }
    ) {
        self.store = store
        self.update = update
    }
}

/// The workers' access to their counter store. Only the command knows the kinds of stores.
public struct CounterAccess: Sendable {
    let isRemote: Bool
    /// The counts of quotas, if they are in this process.
    let quotas: EmbeddedQuotas?
    let open: @Sendable (EventLoop) throws -> OpenedCounters
    let examine: (@Sendable (_ warn: @escaping (String) -> Void) -> Void)?

    /// - Parameters:
    ///   - isRemote: true if each worker has to reach the store before requests can be served.
    ///   - examine: returns what operators should know of their store; blocks. Nil if there is
    ///     nothing.
    ///   - quotas: the counts of quotas; nil if they are in the store.
    ///   - open: makes the store of one worker, on its thread.
    public init(
        isRemote: Bool, quotas: EmbeddedQuotas? = nil,
        examine: (@Sendable (_ warn: @escaping (String) -> Void) -> Void)? = nil,
        open: @escaping @Sendable (EventLoop) throws -> OpenedCounters
    ) {
        self.isRemote = isRemote
        self.quotas = quotas
        self.examine = examine
        self.open = open
    }

    /// The counters of this process.
    public static func embedded(_ counters: EmbeddedCounters) -> CounterAccess {
        CounterAccess(isRemote: false, quotas: counters.quotas) { loop in
            OpenedCounters(EmbeddedCounterStore(counters, loop: loop))
        }
    }
}
