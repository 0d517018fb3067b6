import EventLoop

/// The exchanges of a worker that wait for a store's answer, by the numbers that they had when they
/// began to wait.
final class WaitingExchanges {
    private final class Wait: DeadlineHandler {
        let exchange: Exchange
        private let number: UInt64
        let startedAt: MonotonicInstant
        let operation: StoreOperation?
        private let owner: WaitingExchanges
        private var deadline: Deadline?

        init(_ exchange: Exchange, owner: WaitingExchanges, nanoseconds: UInt64?) {
            self.exchange = exchange
            self.owner = owner
            number = exchange.number
            startedAt = exchange.worker.loop.now
            operation = StoreOperation(exchange.awaited)
            guard let nanoseconds else { return }
            let deadline = Deadline(wheel: owner.deadlines, handler: self)
            deadline.set(afterNanoseconds: nanoseconds)
            self.deadline = deadline
        }

        func deadlineExpired() {
            owner.take(number, for: operation)?.prover.registryTimedOut(waitingSince: startedAt)
        }
    }

    fileprivate let deadlines: DeadlineWheel
    private var waits: [UInt64: Wait] = [:]

    init(deadlines: DeadlineWheel) { self.deadlines = deadlines }

    var count: Int { waits.count }

    /// `nanoseconds`: the time for the registry's answer; nil for a store that keeps its own time.
    func insert(_ exchange: Exchange, withinNanoseconds nanoseconds: UInt64?) {
        waits[exchange.number] = Wait(exchange, owner: self, nanoseconds: nanoseconds)
    }

    func removeAll() { waits = [:] }

    func contains(_ number: UInt64, for operation: StoreOperation?) -> Bool {
        waits[number].map { $0.operation == operation } ?? false
    }

    /// Returns, once, the exchange that waits for this answer under `number`. Nil if it was
    /// answered, if its time was over, or if it has ended meanwhile and serves another request.
    ///
    /// An exchange that went on without an answer may wait for another one by now, which must not
    /// be mixed up with a late one.
    ///
    /// - Parameter operation: nil for an answer that no store gives.
    func take(_ number: UInt64, for operation: StoreOperation?) -> Exchange? {
        guard contains(number, for: operation), let wait = waits.removeValue(forKey: number)
        else { return nil }
        let worker = wait.exchange.worker
        if let operation = wait.operation {
            worker.meter.storeAnswered(
                operation, nanoseconds: worker.loop.now.nanoseconds(since: wait.startedAt))
        }
        return wait.exchange.number == number ? wait.exchange : nil
    }

    /// The answer of a counter store, if it comes within the call. Otherwise nil, and `later` is
    /// called with it if the exchange still waits.
    func answer<Answer>(
        for exchange: Exchange, as awaited: Awaited,
        asking ask: (_ reply: @escaping (Answer) -> Void) -> Void,
        later: @escaping (Exchange, Answer) -> Void
    ) -> Answer? {
        let number = exchange.number
        var isInline = true
        var answer: Answer?
        ask { [unowned self] given in
            if isInline {
                answer = given
            } else if let exchange = take(number, for: StoreOperation(awaited)) {
                later(exchange, given)
            }
        }
        isInline = false
        if answer == nil { exchange.worker.wait(exchange, for: awaited) }
        return answer
    }
}
