import AppAttest
import Bytes
import EventLoop
import KeyStore

/// One thing asked of the registry, and whom to tell.
enum RegistryOperation: Sendable {
    case find(KeyID, reply: @Sendable (Result<KeyRecord?, StoreError>) -> Void)
    case enrol(
        KeyRecord, challenge: Bytes16,
        reply: @Sendable (Result<EnrolmentOutcome, StoreError>) -> Void)
    case advance(
        KeyID, counter: UInt32, reply: @Sendable (Result<DurableOutcome, StoreError>) -> Void)
    case probe(reply: @Sendable (Result<Void, StoreError>) -> Void)

    var isWrite: Bool {
        switch self {
        case .enrol, .advance: true
        case .find, .probe: false
        }
    }

    func fail(_ error: StoreError) {
        switch self {
        case .find(_, let reply): reply(.failure(error))
        case .enrol(_, _, let reply): reply(.failure(error))
        case .advance(_, _, let reply): reply(.failure(error))
        case .probe(let reply): reply(.failure(error))
        }
    }
}

/// What workers ask and the registry's thread has not yet taken. Bounded; each operation that goes
/// in is answered once, come what may.
final class RegistryQueue: Sendable {
    struct Wake: Sendable {}

    struct Batch: Sendable {
        var operations: [RegistryOperation] = []
        var isClosing = false
    }

    private struct Contents {
        var batch = Batch()
        var floors: [KeyID: UInt32] = [:]
        /// Why nothing is taken any more.
        var refusal: StoreError?
        var changeHandlers: [@Sendable (RegistryChange) -> Void] = []
    }

    /// Floors may be lost, so more than this are.
    private static let floorCountMax = 100_000

    private let operationCountMax: Int
    private let contents = Locked(Contents())
    let bell: Mailbox<Wake>

    init(operationCountMax: Int) throws(IOError) {
        self.operationCountMax = operationCountMax
        bell = try Mailbox(countMax: 1)
    }

    func post(_ operation: RegistryOperation) {
        let refusal = contents.withLock { contents -> StoreError? in
            if let refusal = contents.refusal { return refusal }
            guard contents.batch.operations.count < operationCountMax else {
                return StoreError("registry: too many requests wait for it")
            }
            contents.batch.operations.append(operation)
            return nil
        }
        if let refusal { return operation.fail(refusal) }
        // A full mailbox has been rung already.
        _ = bell.post(Wake())
    }

    func raiseFloors(_ floors: [(keyID: KeyID, counter: UInt32)]) {
        let wasEmpty = contents.withLock { contents in
            let wasEmpty = contents.floors.isEmpty
            for floor in floors {
                if let known = contents.floors[floor.keyID] {
                    contents.floors[floor.keyID] = max(known, floor.counter)
                } else if contents.floors.count < Self.floorCountMax {
                    contents.floors[floor.keyID] = floor.counter
                }
            }
            return wasEmpty
        }
        if wasEmpty { _ = bell.post(Wake()) }
    }

    func onChange(_ handler: @escaping @Sendable (RegistryChange) -> Void) {
        contents.withLock { $0.changeHandlers.append(handler) }
    }

    func notify(_ change: RegistryChange) {
        for handler in contents.withLock({ $0.changeHandlers }) { handler(change) }
    }

    /// What was asked before is still done.
    func close() {
        contents.withLock { contents in
            contents.batch.isClosing = true
            if contents.refusal == nil { contents.refusal = StoreError("registry: closed") }
        }
        _ = bell.post(Wake())
    }

    /// The thread is gone: nobody will take anything any more.
    func abandon(_ reason: StoreError) {
        let left = contents.withLock { contents in
            if contents.refusal == nil { contents.refusal = reason }
            defer { contents.batch.operations = [] }
            return contents.batch.operations
        }
        for operation in left { operation.fail(reason) }
    }

    // MARK: the registry's thread

    func takeBatch() -> Batch {
        contents.withLock { contents in
            defer { contents.batch.operations = [] }
            return contents.batch
        }
    }

    var hasFloors: Bool { contents.withLock { !$0.floors.isEmpty } }

    func takeFloors() -> [KeyID: UInt32] {
        contents.withLock { contents in
            defer { contents.floors = [:] }
            return contents.floors
        }
    }
}
