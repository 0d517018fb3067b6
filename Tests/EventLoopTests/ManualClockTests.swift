import EventLoop
import Testing

@Suite("A loop with a manual clock")
struct ManualClockTests {}

extension ManualClockTests {
    @Test("timers fire when the clock was moved to them, the longest due first")
    func timers() throws {
        let clock = ManualClock(now: MonotonicInstant(nanoseconds: 5), wallMilliseconds: 7)
        let loop = try EventLoop(clock: clock)
        var fired: [String] = []
        let late = Timer(loop: loop) { fired.append("late") }
        let early = Timer(loop: loop) { fired.append("early") }
        let cancelled = Timer(loop: loop) { fired.append("cancelled") }
        let later = Timer(loop: loop) { fired.append("later") }
        late.schedule(after: .milliseconds(20))
        early.schedule(after: .milliseconds(10))
        cancelled.schedule(after: .milliseconds(1))
        cancelled.cancel()
        later.schedule(after: .milliseconds(500))
        loop.runUntilIdle()
        #expect(fired.isEmpty)
        #expect(loop.now == clock.now)
        #expect(loop.wallMilliseconds == 7)
        clock.now = clock.now + .milliseconds(30)
        loop.runUntilIdle()
        #expect(fired == ["early", "late"])
        #expect(!late.isScheduled && later.isScheduled)
    }

    @Test("a repeating timer fires once for all ticks that were missed")
    func repeating() throws {
        let clock = ManualClock(now: MonotonicInstant(nanoseconds: 5), wallMilliseconds: 0)
        let loop = try EventLoop(clock: clock)
        var count = 0
        let timer = Timer(loop: loop) { count += 1 }
        timer.scheduleRepeating(every: .milliseconds(10))
        clock.now = clock.now + .milliseconds(35)
        loop.runUntilIdle()
        #expect(count == 1)
        clock.now = clock.now + .milliseconds(5)
        loop.runUntilIdle()
        #expect(count == 2)
    }

    @Test("what a descriptor brings is handled without waiting")
    func descriptors() throws {
        let loop = try EventLoop(
            clock: ManualClock(now: MonotonicInstant(nanoseconds: 1), wallMilliseconds: 0))
        let mailbox = try Mailbox<Int>(countMax: 4)
        var received: [Int] = []
        let receiver = mailbox.attach(to: loop) { received.append($0) }
        #expect(mailbox.post(1))
        #expect(mailbox.post(2))
        loop.runUntilIdle()
        #expect(received == [1, 2])
        receiver.close()
    }
}
