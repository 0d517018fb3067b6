import KeyStore

/// What other threads tell a worker.
enum WorkerMessage: Sendable {
    case keyLookedUp(UInt64, Result<KeyRecord?, StoreError>)
    case enrolled(UInt64, Result<EnrolmentOutcome, StoreError>)
    case advancedDurably(UInt64, Result<DurableOutcome, StoreError>)
    case keysChanged(RegistryChange)
    /// The first listeners, once every worker is there.
    case listen([BoundListener])
    case reload(WorkerUpdate)
    /// The names of upstream servers stand for other addresses: the hub has them.
    case serversChanged
    case drain
}

/// A new configuration for one worker.
struct WorkerUpdate: Sendable {
    let site: Site
    /// Every listener of the configuration; those that are open already come without a descriptor.
    let listeners: [BoundListener]
}
