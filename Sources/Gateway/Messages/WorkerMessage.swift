import Attestation
import Background
import EventLoop
import KeyStore

/// A message from another thread to a worker.
enum WorkerMessage: Sendable {
    case keyLookedUp(KeyQuestion, Result<KeyRecord?, StoreError>)
    case enrolled(UInt64, Result<EnrolmentOutcome, StoreError>)
    case advancedDurably(UInt64, Result<DurableOutcome, StoreError>)
    /// A user was looked up, for the request with that number, if any.
    case userLookedUp(UInt64?, KeyID, Result<UserKeys?, StoreError>)
    case userNoted(KeySighting, Result<UserKeys?, StoreError>)
    /// The registry's reply about a key whose successor has signed.
    case keyRetired(KeyRetirement, Result<Bool, StoreError>)
    case keysChanged(RegistryChange)
    /// The registry has these floors now.
    case floorsRaised(FloorTable.News)
    /// Apple's reply about the device of a waiting request.
    case deviceReplied(UInt64, DeviceReply)
    /// The registry's reply about keeping the bits of a key's device.
    case bitsKept(UInt64, Result<Bool, StoreError>)
    /// A charge of another thread, which the mailbox is told the verdict on.
    case charge(QuotaCharge, Mailbox<QuotaVerdict>)
    /// The first listeners, sent once every worker is there.
    case listen([BoundListener])
    case reload(WorkerUpdate)
    /// The names of upstream servers stand for other addresses, which the hub has.
    case serversChanged
    case drain
    /// Ends the worker at once, with its connections.
    case stop
    /// Connections end with their next answer; new ones are still accepted.
    case retire
    /// Ends the worker like ``drain``, but without refusing clients: the listeners are handed over,
    /// not closed.
    case handOver(KeptListeners)
    /// A question that a worker answers at once unless it is stuck.
    case beat(UInt64, Mailbox<WorkerReport>)
}

/// A question to the registry about a key.
struct KeyQuestion: Sendable {
    /// The number of the request that asks.
    let number: UInt64
    let keyID: KeyID
    /// The number of changes that the worker had heard of when it asked, and the number of changed
    /// keys that all workers had heard of.
    let changeCount: UInt64
    let newsCount: UInt64
    /// The number of the last news of floors when it asked. The record includes these floors.
    let floorNewsNumber: UInt64
}

/// A message from a worker to the control thread.
enum WorkerReport: Sendable {
    case stopped(worker: Int)
    case beat(worker: Int, number: UInt64)
    /// The configuration of that generation is in force, and what it dropped is closed.
    case updated(worker: Int, generation: Int)
    /// The reason why the next program cannot take over; nil if it can.
    case upgradeChecked(problem: String?)
    case rollout(RolloutAnswer)
    /// Every name of an upstream's server was asked for, and answered or not.
    case namesAsked
    /// Files of the configuration have changed since they were read.
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
    /// Every listener of the configuration. Those that are open already come without a descriptor.
    let listeners: [BoundListener]
    /// The mailbox that is told when it is in force.
    let reports: Mailbox<WorkerReport>
}
