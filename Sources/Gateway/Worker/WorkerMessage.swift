import AppAttest
import Background
import EventLoop
import KeyStore

/// A message from another thread to a worker.
enum WorkerMessage: Sendable {
    case keyLookedUp(KeyQuestion, Result<KeyRecord?, StoreError>)
    case enrolled(UInt64, Result<EnrolmentOutcome, StoreError>)
    case advancedDurably(UInt64, Result<DurableOutcome, StoreError>)
    /// A user was looked up, for the exchange of that number, if any.
    case userLookedUp(UInt64?, KeyID, Result<UserKeys?, StoreError>)
    case userNoted(KeySighting, Result<UserKeys?, StoreError>)
    case keysChanged(RegistryChange)
    /// The registry has these floors now.
    case floorsRaised(FloorTable.News)
    /// Apple's word on the device of a waiting exchange.
    case deviceReplied(UInt64, DeviceReply)
    /// The registry's word on what was to be kept of the device of a key.
    case bitsKept(UInt64, Result<Bool, StoreError>)
    /// The first listeners, once every worker is there.
    case listen([BoundListener])
    case reload(WorkerUpdate)
    /// The names of upstream servers stand for other addresses: the hub has them.
    case serversChanged
    case drain
    /// Ends the worker at once, with its connections.
    case stop
    /// Connections end with their next answer; new ones are taken all the same.
    case retire
    /// Ends the worker like ``drain``, but without refusing clients: the listeners are handed over,
    /// not closed.
    case handOver(KeptListeners)
    /// A question to be answered at once, by a worker that is not stuck.
    case beat(UInt64, Mailbox<WorkerReport>)
}

/// A question to the registry about a key.
struct KeyQuestion: Sendable {
    /// The number of the exchange that asks.
    let number: UInt64
    let keyID: KeyID
    /// How many changes the worker had heard of when it asked, and of how many keys all workers
    /// had.
    let changeCount: UInt64
    let newsCount: UInt64
    /// The number of the last news of floors when it asked. The record holds what they said.
    let floorNewsNumber: UInt64
}

/// A message from a worker to the control thread.
enum WorkerReport: Sendable {
    case stopped(worker: Int)
    case beat(worker: Int, number: UInt64)
    /// The configuration of that generation is in force, and what it dropped is closed.
    case updated(worker: Int, generation: Int)
    /// Why the next program cannot take over; nil if it can.
    case upgradeChecked(problem: String?)
    case rollout(RolloutAnswer)
    /// Every name of an upstream's server was asked for, and answered or not.
    case namesAsked
    /// Files of the configuration are others than those that were read.
    case filesChanged([String])
}

/// The listening sockets of all workers, on their way to the next program.
final class KeptListeners: Sendable {
    private let descriptors = Locked<[Int32]>([])

    func add(_ descriptor: Int32) { descriptors.withLock { $0.append(descriptor) } }

    func take() throws(IOError) -> InheritedListeners {
        let listeners = InheritedListeners()
        for descriptor in descriptors.withLock({ $0 }) { try listeners.add(descriptor) }
        return listeners
    }
}

/// A new configuration for one worker.
struct WorkerUpdate: Sendable {
    let site: Site
    /// Every listener of the configuration; those that are open already come without a descriptor.
    let listeners: [BoundListener]
    /// The mailbox that is told when it is in force.
    let reports: Mailbox<WorkerReport>
}
