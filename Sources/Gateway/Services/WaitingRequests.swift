import EventLoop

/// The requests of a worker that wait for a store's answer, by the numbers that they had when they
/// began to wait.
final class WaitingRequests {
    private final class Wait: DeadlineHandler {
        let request: any WaitingRequest
        private let number: UInt64
        let startedAt: MonotonicInstant
        let operation: StoreOperation?
        private let owner: WaitingRequests
        private var deadline: Deadline?

        init(_ request: any WaitingRequest, owner: WaitingRequests, nanoseconds: UInt64?) {
            self.request = request
            self.owner = owner
            number = request.number
            startedAt = owner.loop.now
            operation = request.awaited.operation
            guard let nanoseconds else { return }
            let deadline = Deadline(wheel: owner.deadlines, handler: self)
            deadline.set(afterNanoseconds: nanoseconds)
            self.deadline = deadline
        }

        func deadlineExpired() {
            owner.take(number, for: operation)?.registryTimedOut(waitingSince: startedAt)
        }
    }

    private let loop: EventLoop
    private let deadlines: DeadlineWheel
    private let meter: WorkerMeter
    private var waits: [UInt64: Wait] = [:]

    init(loop: EventLoop, deadlines: DeadlineWheel, meter: WorkerMeter) {
        self.loop = loop
        self.deadlines = deadlines
        self.meter = meter
    }

    var count: Int { waits.count }

    /// Notes that `request` waits.
    ///
    /// - Parameter nanoseconds: the time for the reply; nil for a reply that has its own time
    ///   limit.
    func wait(
        _ request: any WaitingRequest, for reply: Awaited,
        withinNanoseconds nanoseconds: UInt64? = nil
    ) {
        request.awaited = reply
        waits[request.number] = Wait(request, owner: self, nanoseconds: nanoseconds)
    }

    func removeAll() { waits = [:] }

    func contains(_ number: UInt64, for operation: StoreOperation?) -> Bool {
        waits[number].map { $0.operation == operation } ?? false
    }

    /// Returns, once, the request that waits for this answer under `number`. Nil if it was
    /// answered, if its time was over, or if its object serves another request by now.
    ///
    /// A request that went on without an answer may wait for another one by now, which must not
    /// be mixed up with a late one.
    ///
    /// - Parameter operation: nil for an answer that no store gives.
    func take(_ number: UInt64, for operation: StoreOperation?) -> (any WaitingRequest)? {
        guard let index = waits.index(forKey: number), waits[index].value.operation == operation
        else { return nil }
        let wait = waits.remove(at: index).value
        if let operation = wait.operation {
            meter.storeAnswered(
                operation, nanoseconds: loop.now.nanoseconds(since: wait.startedAt))
        }
        return wait.request.number == number ? wait.request : nil
    }

    /// The answer of a counter store, if it comes within the call. Otherwise nil, and `later` is
    /// called with it if the request still waits.
    func answer<Answer>(
        for request: any WaitingRequest, as awaited: Awaited,
        asking ask: (_ reply: @escaping (Answer) -> Void) -> Void,
        later: @escaping (any WaitingRequest, Answer) -> Void
    ) -> Answer? {
        let number = request.number
        var isInline = true
        var answer: Answer?
        ask { [unowned self] given in
            if isInline {
                answer = given
            } else if let request = take(number, for: awaited.operation) {
                later(request, given)
            }
        }
        isInline = false
        if answer == nil { wait(request, for: awaited) }
        return answer
    }
}
