public import Attestation
public import Bytes
public import EventLoop

/// A request to the registry, with the callback for its reply.
public enum RegistryOperation: Sendable {
    case find(RegistryLookUp)
    case enrol(
        KeyRecord, challenge: Bytes16, SuccessionClaim?,
        reply: @Sendable (Result<EnrolmentOutcome, StoreError>) -> Void)
    case retire(
        KeyRetirement, by: AuditAuthor, reply: @Sendable (Result<Bool, StoreError>) -> Void)
    case advance(
        KeyID, counter: UInt32, reply: @Sendable (Result<DurableOutcome, StoreError>) -> Void)
    case dueReceipts(
        DueReceiptQuery, reply: @Sendable (Result<[DueReceipt], StoreError>) -> Void)
    case receiptBacklog(
        ReceiptGroup, now: Int64, reply: @Sendable (Result<ReceiptBacklog, StoreError>) -> Void)
    case storeRenewals(
        FencedRenewals, reply: @Sendable (Result<Set<KeyID>, StoreError>) -> Void)
    case findUser(
        of: KeyID, countedSince: Int64, reply: @Sendable (Result<UserKeys?, StoreError>) -> Void)
    case note(KeySighting, reply: @Sendable (Result<UserKeys?, StoreError>) -> Void)
    case keepBits(
        DeviceBits, of: KeyID, reply: @Sendable (Result<Bool, StoreError>) -> Void)
    case forget(RegistryExpiry)
    case raiseFloors(
        [(keyID: KeyID, counter: UInt32)], reply: @Sendable (Result<Void, StoreError>) -> Void)
    case probe(reply: @Sendable (Result<Void, StoreError>) -> Void)
    case readShared(String, reply: @Sendable (Result<SharedReading, StoreError>) -> Void)
    case writeShared(
        SharedWrite, reply: @Sendable (Result<SharedOutcome, StoreError>) -> Void)

    public var isWrite: Bool {
        switch self {
        case .enrol, .retire, .advance, .storeRenewals, .note, .keepBits, .forget, .raiseFloors,
            .writeShared:
            true
        case .find, .findUser, .probe, .dueReceipts, .receiptBacklog, .readShared: false
        }
    }

    /// True for a write that lets all others go first.
    package var isFloors: Bool { if case .raiseFloors = self { true } else { false } }

    /// True if it writes a counter and nothing else. A counter that comes with a request may be
    /// refused; others wait in memory and in files of their own.
    package var isCounters: Bool {
        switch self {
        case .advance, .raiseFloors: true
        default: false
        }
    }

    /// True if a queue for `countMax` look-ups takes the operation when `count` of them wait.
    ///
    /// Any client can have keys looked up. Operations that come after a proof, or from the gateway
    /// itself, have as many places again, so that a flood of look-ups does not keep them out.
    package func fits(behind count: Int, of countMax: Int) -> Bool {
        if case .find = self { return count < countMax }
        return count / 2 < countMax
    }

    public func fail(_ error: StoreError) {
        switch self {
        case .find(let lookUp): lookUp.reply(.failure(error))
        case .enrol(_, _, _, let reply): reply(.failure(error))
        case .retire(_, _, let reply): reply(.failure(error))
        case .advance(_, _, let reply): reply(.failure(error))
        case .dueReceipts(_, let reply): reply(.failure(error))
        case .receiptBacklog(_, _, let reply): reply(.failure(error))
        case .storeRenewals(_, let reply): reply(.failure(error))
        case .findUser(_, _, let reply): reply(.failure(error))
        case .note(_, let reply): reply(.failure(error))
        case .keepBits(_, _, let reply): reply(.failure(error))
        case .forget: break
        case .raiseFloors(_, let reply): reply(.failure(error))
        case .probe(let reply): reply(.failure(error))
        case .readShared(_, let reply): reply(.failure(error))
        case .writeShared(_, let reply): reply(.failure(error))
        }
    }
}

/// The requests of workers that no thread of the registry has taken yet. The queue is bounded, and
/// each operation that enters it is answered exactly once, whatever happens.
public final class RegistryQueue: Sendable {
    public struct Wake: Sendable {}

    public struct Batch: Sendable {
        public var operations: [RegistryOperation] = []
        public var isClosing = false
    }

    private struct Contents {
        var reads: [RegistryOperation] = []
        var writes: [RegistryOperation] = []
        /// Writes that are not waited for.
        var floors: [RegistryOperation] = []
        var isClosing = false
        /// The reason why nothing is taken any more.
        var refusal: StoreError?
        var changeHandlers: [@Sendable (RegistryChange) -> Void] = []
    }

    public let operationCountMax: Int
    /// The knowledge of changes by others. The thread that calls ``notify(_:)`` keeps it up to
    /// date.
    public let hearing = ChangeHearing()
    private let writesApart: Bool
    private let contents = Locked(Contents())
    /// Rung for every operation that waits; only for look-ups if writes have a thread of their own.
    public let bell: Mailbox<Wake>
    /// Rung for writes.
    public let writeBell: Mailbox<Wake>

    /// `writesApart`: another thread takes the writes. As many of them may wait as look-ups.
    public init(operationCountMax: Int, writesApart: Bool = false) throws(IOError) {
        self.operationCountMax = operationCountMax
        self.writesApart = writesApart
        bell = try Mailbox(countMax: 1)
        writeBell = writesApart ? try Mailbox(countMax: 1) : bell
    }

    public func post(_ operation: RegistryOperation) {
        if let refusal = contents.withLock({ refusal(adding: operation, to: &$0) }) {
            return operation.fail(refusal)
        }
        // A full mailbox has been rung already.
        _ = (operation.isWrite ? writeBell : bell).post(Wake())
    }

    /// Posts several look-ups, and rings once for those that are taken.
    public func post(_ lookUps: [RegistryLookUp]) {
        let refused = contents.withLock { contents in
            lookUps.compactMap { each in
                refusal(adding: .find(each), to: &contents).map { (each, $0) }
            }
        }
        for (each, refusal) in refused { each.reply(.failure(refusal)) }
        if refused.count < lookUps.count { _ = bell.post(Wake()) }
    }

    /// Adds `operation`, or returns the reason why it is not taken.
    private func refusal(
        adding operation: RegistryOperation, to contents: inout Contents
    ) -> StoreError? {
        if let refusal = contents.refusal { return refusal }
        let isWrite = operation.isWrite
        let ownCount = isWrite ? contents.writes.count : contents.reads.count
        let allCount = contents.reads.count + contents.writes.count
        let count = operation.isFloors ? contents.floors.count : writesApart ? ownCount : allCount
        guard operation.fits(behind: count, of: operationCountMax) else { return .queueFull }
        if operation.isFloors {
            contents.floors.append(operation)
        } else if isWrite {
            contents.writes.append(operation)
        } else {
            contents.reads.append(operation)
        }
        return nil
    }

    public func onChange(_ handler: @escaping @Sendable (RegistryChange) -> Void) {
        contents.withLock { $0.changeHandlers.append(handler) }
    }

    public func notify(_ change: RegistryChange) {
        for handler in contents.withLock({ $0.changeHandlers }) { handler(change) }
    }

    /// Closes the queue. Everything asked before is still done.
    public func close() {
        contents.withLock { contents in
            contents.isClosing = true
            if contents.refusal == nil { contents.refusal = StoreError("registry: closed") }
        }
        for bell in [bell, writeBell] { _ = bell.post(Wake()) }
    }

    /// Refuses everything from now on, because every thread is gone.
    public func abandon(_ reason: StoreError) {
        contents.withLock { contents in
            if contents.refusal == nil { contents.refusal = reason }
        }
        for operation in takeBatch().operations { operation.fail(reason) }
    }

    // MARK: the registry's threads

    public func takeBatch() -> Batch {
        contents.withLock { contents in
            defer { (contents.reads, contents.writes, contents.floors) = ([], [], []) }
            return Batch(
                operations: contents.reads + contents.writes + contents.floors,
                isClosing: contents.isClosing)
        }
    }

    /// Takes the next requests for the thread that takes no writes.
    public func takeReads() -> Batch {
        contents.withLock { contents in
            defer { contents.reads = [] }
            return Batch(operations: contents.reads, isClosing: contents.isClosing)
        }
    }

    /// The number of writes in a thread's turn that raise floors. The next request that waits for a
    /// write then does not wait for all floors.
    private static let floorsPerTurn = 4

    /// Takes the next writes for the thread that takes nothing else. Floors come last and, unless
    /// the queue is closed, only some of them at a time.
    public func takeWrites() -> Batch {
        let (batch, isMore) = contents.withLock { contents -> (Batch, Bool) in
            let limit = contents.isClosing ? contents.floors.count : Self.floorsPerTurn
            let floors = contents.floors.prefix(limit)
            let operations = contents.writes + floors
            contents.writes = []
            contents.floors.removeFirst(floors.count)
            let batch = Batch(operations: operations, isClosing: contents.isClosing)
            return (batch, !contents.floors.isEmpty)
        }
        if isMore { _ = writeBell.post(Wake()) }
        return batch
    }
}
