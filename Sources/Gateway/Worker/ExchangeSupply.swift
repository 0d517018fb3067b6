import Bytes

/// The exchanges of a worker that wait to be used again, and what all of them share.
struct ExchangeSupply {
    /// Lends memory to bodies that are held back.
    let bodyStorage = StoragePool.ofBodies()
    let answerPipe: AnswerPipe
    private(set) var free: [Exchange] = []
    private var lastNumber: UInt64 = 0

    private static let freeCountMax = 256

    init(descriptorMax: Int32) { answerPipe = AnswerPipe(descriptorMax: descriptorMax) }

    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// One that was used before, or nil if there is none.
    mutating func takeFree() -> Exchange? { free.popLast() }

    mutating func giveBack(_ exchange: Exchange) {
        if free.count < Self.freeCountMax { free.append(exchange) }
    }

    /// Forgets those that are free: they hold their worker.
    mutating func clear() { free = [] }
}
