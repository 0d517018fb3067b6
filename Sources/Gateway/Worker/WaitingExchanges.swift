import EventLoop

/// The exchanges of a worker that wait for a store's answer, by the numbers that they had then.
final class WaitingExchanges {
    private final class Wait: DeadlineHandler {
        let exchange: Exchange
        private let number: UInt64
        private let startedAt: MonotonicInstant
        /// Not held: it owns this wait.
        unowned(unsafe) private let owner: WaitingExchanges
        private var deadline: Deadline?

        init(_ exchange: Exchange, owner: WaitingExchanges, nanoseconds: UInt64?) {
            self.exchange = exchange
            self.owner = owner
            number = exchange.number
            startedAt = exchange.worker.loop.now
            guard let nanoseconds else { return }
            let deadline = Deadline(wheel: owner.deadlines, handler: self)
            deadline.set(afterNanoseconds: nanoseconds)
            self.deadline = deadline
        }

        func deadlineExpired() {
            owner.take(number)?.registryTimedOut(waitingSince: startedAt)
        }
    }

    fileprivate let deadlines: DeadlineWheel
    private var waits: [UInt64: Wait] = [:]

    init(deadlines: DeadlineWheel) { self.deadlines = deadlines }

    var count: Int { waits.count }

    /// `nanoseconds`: how long the registry may take; nil for a store that keeps its own time.
    func insert(_ exchange: Exchange, withinNanoseconds nanoseconds: UInt64?) {
        waits[exchange.number] = Wait(exchange, owner: self, nanoseconds: nanoseconds)
    }

    func contains(_ number: UInt64) -> Bool { waits[number] != nil }

    /// The exchange that waits under `number`, once; nil where it was answered, its time was over,
    /// or it has ended meanwhile and serves another request.
    func take(_ number: UInt64) -> Exchange? {
        guard let exchange = waits.removeValue(forKey: number)?.exchange,
            exchange.number == number
        else { return nil }
        return exchange
    }
}
