import Bytes
import EventLoop

/// The exchanges of a worker that wait for reuse, and the state that all of them share.
struct ExchangeSupply {
    /// Lends memory to bodies that are held.
    let bodyStorage = StoragePool.ofBodies()
    /// Makes the files of bodies that are too large for memory.
    let bodyFiles: BodyFiles
    let answerPipe: AnswerPipe
    private(set) var free: [Exchange] = []
    private var lastNumber: UInt64 = 0

    private static let freeCountMax = 256

    init(_ hub: Hub, loop: EventLoop, deadlines: DeadlineWheel) throws(IOError) {
        let descriptorMax = hub.descriptors.requestMax
        bodyFiles = try BodyFiles(
            loop: loop, deadlines: deadlines, threads: hub.bodyFileThreads,
            descriptorMax: descriptorMax)
        answerPipe = AnswerPipe(descriptorMax: descriptorMax)
    }

    /// An empty body that will be held.
    var emptyBody: HeldBody { HeldBody(storage: bodyStorage, files: bodyFiles) }

    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// A used exchange; nil if there is none.
    mutating func takeFree() -> Exchange? { free.popLast() }

    mutating func giveBack(_ exchange: Exchange) {
        if free.count < Self.freeCountMax { free.append(exchange) }
    }

    /// Forgets the free exchanges, because they hold their worker.
    mutating func clear() { free = [] }
}
