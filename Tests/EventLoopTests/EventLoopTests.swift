import EventLoop
import Testing

@Suite("An event loop")
struct EventLoopTests {}

extension EventLoopTests {
    @Test("returns when nothing is left that could wake it")
    func nothingLeft() throws {
        let loop = try EventLoop()
        loop.run()
        loop.run()
    }

    @Test("stops after the callback that asks for it, and can run again")
    func stop() throws {
        let loop = try EventLoop()
        let pairs = try (0..<3).map { _ in try Socket.pair() }
        defer {
            for (near, far) in pairs {
                Socket.close(near)
                Socket.close(far)
            }
        }
        let counter = CallCounter()
        var handlers: [ClosureHandler] = []
        for (near, far) in pairs {
            let handler = ClosureHandler(loop: loop, descriptor: near)
            handler.onReadable = { _ in
                counter.count += 1
                loop.stop()
            }
            handler.watch?.enableReading()
            _ = Socket.write(far, [1].span)
            handlers.append(handler)
        }
        loop.run()
        #expect(counter.count == 1)
        loop.run()
        #expect(counter.count == 2)
        loop.stop()
        loop.run()
        #expect(counter.count == 2)
    }

    @Test("runs a hook once at the end of a turn, after every callback of it")
    func hooks() throws {
        let loop = try EventLoop()
        let pairs = try (0..<10).map { _ in try Socket.pair() }
        defer {
            for (near, far) in pairs {
                Socket.close(near)
                Socket.close(far)
            }
        }
        var order: [Int] = []
        let hook = TurnEndHook(loop: loop) { order.append(-1) }
        var handlers: [ClosureHandler] = []
        for (index, (near, far)) in pairs.enumerated() {
            let handler = ClosureHandler(loop: loop, descriptor: near)
            handler.onReadable = { handler in
                hook.schedule()
                order.append(index)
                hook.schedule()
                handler.watch = nil
            }
            handler.watch?.enableReading()
            _ = Socket.write(far, [1].span)
            handlers.append(handler)
        }
        loop.run()
        #expect(order.count == 11)
        #expect(order.last == -1)
        #expect(Set(order) == Set(-1..<10))
    }

    @Test("ends a turn early when very many descriptors are ready")
    func longTurn() throws {
        let loop = try EventLoop()
        let pairs = try (0..<150).map { _ in try Socket.pair() }
        defer {
            for (near, far) in pairs {
                Socket.close(near)
                Socket.close(far)
            }
        }
        var pendingCount = 0
        var flushed: [Int] = []
        let hook = TurnEndHook(loop: loop) {
            flushed.append(pendingCount)
            pendingCount = 0
        }
        var handlers: [ClosureHandler] = []
        for (near, far) in pairs {
            let handler = ClosureHandler(loop: loop, descriptor: near)
            handler.onReadable = { handler in
                pendingCount += 1
                hook.schedule()
                handler.watch = nil
            }
            handler.watch?.enableReading()
            _ = Socket.write(far, [1].span)
            handlers.append(handler)
        }
        loop.run()
        #expect(flushed.reduce(0, +) == 150)
        #expect(flushed.allSatisfy { $0 <= 64 })
    }

    @Test("runs hooks scheduled by hooks, before it starts and after it was stopped")
    func hooksOfHooks() throws {
        let loop = try EventLoop()
        var order: [String] = []
        let last = TurnEndHook(loop: loop) { order.append("last") }
        let middle = TurnEndHook(loop: loop) {
            order.append("middle")
            loop.stop()
            last.schedule()
        }
        let first = TurnEndHook(loop: loop) {
            order.append("first")
            middle.schedule()
        }
        first.schedule()
        loop.run()
        #expect(order == ["first", "middle", "last"])
    }

    @Test("fires hooks stage by stage, however they were scheduled")
    func stages() throws {
        let loop = try EventLoop()
        var order: [String] = []
        let send = TurnEndHook(loop: loop, stage: .send) { order.append("send") }
        let ask = TurnEndHook(loop: loop, stage: .ask) { order.append("ask") }
        let work = TurnEndHook(loop: loop, stage: .work) {
            order.append("work")
            ask.schedule()
            send.schedule()
        }
        work.schedule()
        ask.schedule()
        loop.run()
        #expect(order == ["ask", "work", "ask", "send"])
    }

    @Test("forgets a hook that was cancelled or dropped by an earlier one")
    func cancelledHooks() throws {
        let loop = try EventLoop()
        var order: [String] = []
        var dropped: TurnEndHook?
        let cancelled = TurnEndHook(loop: loop) { order.append("cancelled") }
        let first = TurnEndHook(loop: loop) {
            order.append("first")
            dropped = nil
            cancelled.cancel()
        }
        first.schedule()
        dropped = TurnEndHook(loop: loop) { order.append("dropped") }
        dropped?.schedule()
        cancelled.schedule()
        loop.run()
        #expect(order == ["first"])
        cancelled.schedule()
        loop.run()
        #expect(order == ["first", "cancelled"])
    }

    @Test("shows one time throughout a callback, and a later one in the next")
    func time() throws {
        let loop = try EventLoop()
        var instants: [MonotonicInstant] = []
        var count = 0
        var timer: Timer?
        timer = Timer(loop: loop) {
            let first = loop.now
            // The real clock moves on meanwhile.
            let start = MonotonicInstant.now()
            while MonotonicInstant.now() == start {}
            #expect(loop.now == first)
            instants.append(first)
            count += 1
            if count < 3 { timer?.schedule(after: .zero) }
        }
        timer?.schedule(after: .zero)
        loop.run()
        timer = nil
        #expect(instants.count == 3)
        #expect(instants[0] < instants[1] && instants[1] < instants[2])
    }
}
