/// The exchanges of a worker that wait for reuse.
struct ExchangeSupply {
    private(set) var free: [Exchange] = []

    private static let freeCountMax = 256

    /// A used exchange; nil if there is none.
    mutating func takeFree() -> Exchange? { free.popLast() }

    mutating func giveBack(_ exchange: Exchange) {
        if free.count < Self.freeCountMax { free.append(exchange) }
    }
}
