import EventLoop
import Testing

@Suite("A timer")
struct TimerTests {}

extension TimerTests {
    @Test("fires in the order of the times asked for, never early")
    func order() throws {
        let loop = try EventLoop()
        var fired: [Int] = []
        var timers: [Timer] = []
        let start = loop.now
        for milliseconds in [7, 3, 5, 1, 0] {
            let timer = Timer(loop: loop) {
                fired.append(milliseconds)
                #expect(loop.now - start >= .milliseconds(milliseconds))
            }
            timer.schedule(after: .milliseconds(milliseconds))
            timers.append(timer)
        }
        loop.run()
        // Coarse clocks may merge neighbours into one turn, in any order within it.
        #expect(fired.sorted() == [0, 1, 3, 5, 7])
        let stillScheduled = timers.filter(\.isScheduled)
        #expect(stillScheduled.isEmpty)
    }

    @Test("repeats until it is cancelled by its own closure")
    func repeating() throws {
        let loop = try EventLoop()
        var count = 0
        var timer: Timer?
        timer = Timer(loop: loop) {
            count += 1
            if count == 5 { timer?.cancel() }
        }
        timer?.scheduleRepeating(every: .milliseconds(1))
        loop.run()
        timer = nil
        #expect(count == 5)
    }

    @Test("may be dropped by its own closure")
    func dropped() throws {
        let loop = try EventLoop()
        var count = 0
        var timer: Timer?
        timer = Timer(loop: loop) {
            count += 1
            timer = nil
        }
        timer?.scheduleRepeating(every: .milliseconds(1))
        loop.run()
        #expect(count == 1)
    }

    @Test("takes any duration, and replaces what was scheduled")
    func durations() throws {
        let loop = try EventLoop()
        var count = 0
        let timer = Timer(loop: loop) { count += 1 }
        timer.schedule(after: .seconds(Int64.max))
        timer.schedule(after: .seconds(-5))
        loop.run()
        #expect(count == 1)
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == UInt64.max)
        #expect(Duration.seconds(-1).wholeNanoseconds == 0)
        #expect(
            Duration(secondsComponent: 1, attosecondsComponent: 1).wholeNanoseconds
                == 1_000_000_001)
    }
}

@Suite("A wheel of deadlines")
struct DeadlineWheelTests {}

extension DeadlineWheelTests {
    @Test("expires entries once their time has come, in the order of their slots")
    func order() throws {
        let fixture = try Fixture()
        for seconds: UInt64 in [90, 3, 1, 200, 2] { fixture.set(after: seconds * second) }
        for seconds: UInt64 in 0...210 { fixture.advance(to: seconds * second) }
        #expect(fixture.expired == [1, 2, 3, 90, 200])
        #expect(fixture.wheel.linkedCount == 0)
    }

    @Test("never expires early and at most a slot late", arguments: [1, 66_999_999, 1_234_567_891])
    func precision(wait: UInt64) throws {
        let fixture = try Fixture()
        fixture.set(after: wait)
        fixture.advance(to: wait - 1)
        #expect(fixture.expired.isEmpty)
        fixture.advance(to: wait + DeadlineWheel.granularity.wholeNanoseconds)
        #expect(fixture.expired.count == 1)
    }

    @Test("moves later by a store, earlier by a new link, and forgets what was cleared")
    func moves() throws {
        let fixture = try Fixture()
        let later = fixture.set(after: 1 * second)
        let earlier = fixture.set(after: 60 * second)
        let cleared = fixture.set(after: 1 * second)
        later.set(at: fixture.start.advanced(byNanoseconds: 5 * second))
        earlier.set(at: fixture.start.advanced(byNanoseconds: 2 * second))
        cleared.clear()
        #expect(!cleared.isSet)
        fixture.advance(to: 2 * second - 1)
        #expect(fixture.expired.isEmpty)
        #expect(fixture.wheel.linkedCount == 2)
        fixture.advance(to: 3 * second)
        #expect(fixture.expired == [60])
        fixture.advance(to: 5 * second - 1)
        #expect(fixture.expired == [60])
        fixture.advance(to: 6 * second)
        #expect(fixture.expired == [60, 1])
        #expect(!later.isSet)
    }

    @Test("meets every entry after a stall longer than its ring")
    func stall() throws {
        let fixture = try Fixture()
        for seconds: UInt64 in 1...100 { fixture.set(after: seconds * second) }
        fixture.advance(to: 99 * second)
        #expect(fixture.expired.sorted() == Array(1...99))
        fixture.advance(to: 5000 * second)
        #expect(fixture.expired.sorted() == Array(1...100))
    }

    @Test("lets a handler set, clear and drop deadlines of the slot being handled")
    func reentrance() throws {
        let fixture = try Fixture()
        // One slot for all: whoever comes first takes the others out.
        for _ in 0..<10 { fixture.set(after: second) }
        fixture.onExpire = { entry in
            fixture.entries.removeAll { $0 !== entry }
            entry.deadline.set(at: fixture.start)
            fixture.onExpire = { _ in }
        }
        fixture.advance(to: 2 * second)
        #expect(fixture.expired.count == 2)
        #expect(fixture.wheel.linkedCount == 0)
    }

    @Test("runs on its loop, and lets the loop end when it is empty")
    func onLoop() throws {
        let fixture = try Fixture()
        fixture.set(after: 1_000_000)
        let cleared = fixture.set(after: 1_000_000)
        cleared.clear()
        fixture.loop.run()
        #expect(fixture.expired.count == 1)
        #expect(fixture.loop.now > fixture.start)
        fixture.set(after: 0)
        fixture.loop.run()
        #expect(fixture.expired.count == 2)
    }
}

@Suite("A wheel whose loop is late")
struct LateDeadlineTests {
    private final class Entry: DeadlineHandler {
        var expiredCount = 0
        func deadlineExpired() { expiredCount += 1 }
    }

    private let clock: ManualClock
    private let loop: EventLoop
    private let wheel: DeadlineWheel
    private let tick = DeadlineWheel.granularity.wholeNanoseconds

    init() throws {
        clock = ManualClock(now: MonotonicInstant(nanoseconds: 3 << 40), wallMilliseconds: 0)
        loop = try EventLoop(clock: clock)
        wheel = DeadlineWheel(loop: loop)
    }
}

extension LateDeadlineTests {
    private func run(to nanoseconds: UInt64, after start: MonotonicInstant) {
        clock.now = start.advanced(byNanoseconds: nanoseconds)
        loop.runUntilIdle()
    }

    @Test(
        "links its only entry again, as far away as the ring goes", .timeLimit(.minutes(30)),
        arguments: 0...3)
    func onlyEntry(lateness: UInt64) throws {
        let start = clock.now
        let entry = Entry()
        let deadline = Deadline(wheel: wheel, handler: entry)
        deadline.set(afterNanoseconds: 3600 * second)
        for round: UInt64 in 1...3 { run(to: (round * 1023 + lateness) * tick, after: start) }
        #expect(entry.expiredCount == 0)
        #expect(wheel.linkedCount == 1)
        run(to: 3600 * second - 1, after: start)
        #expect(entry.expiredCount == 0)
        run(to: 3600 * second + tick, after: start)
        #expect(entry.expiredCount == 1)
        #expect(wheel.linkedCount == 0)
    }

    @Test("is never early and at most a slot late, whatever happens", .timeLimit(.minutes(30)))
    func random() throws {
        var state: UInt64 = 7
        func random(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }
        let entries = [Entry(), Entry()]
        let deadlines = entries.map { Deadline(wheel: wheel, handler: $0) }
        var dues: [MonotonicInstant?] = [nil, nil]
        for _ in 0..<20_000 {
            let index = Int(random(2))
            switch random(8) {
            case 0:
                deadlines[index].clear()
                dues[index] = nil
            case 1, 2:
                // Often a whole number of rounds away.
                let ticks = random(2) == 0 ? 1024 * random(3) + random(3) : random(3000)
                let wait = ticks * tick + random(tick)
                deadlines[index].set(afterNanoseconds: wait)
                dues[index] = clock.now.advanced(byNanoseconds: wait)
            default:
                let ticks = random(20) == 0 ? 1022 + random(4) : random(4)
                run(to: ticks * tick + random(tick), after: clock.now)
            }
            for (index, entry) in entries.enumerated() {
                let isDue = dues[index].map { $0 <= clock.now } ?? false
                let isLate = dues[index].map { $0.advanced(byNanoseconds: tick) < clock.now }
                if entry.expiredCount > 0 {
                    try #require(entry.expiredCount == 1 && isDue)
                    entry.expiredCount = 0
                    dues[index] = nil
                } else {
                    try #require(isLate != true)
                }
            }
        }
    }
}

private let second: UInt64 = 1_000_000_000

/// A wheel driven by times of the test's own.
private final class Fixture {
    final class Entry: DeadlineHandler {
        let deadline: Deadline
        let wait: UInt64
        unowned let fixture: Fixture

        init(_ fixture: Fixture, wait: UInt64) {
            self.fixture = fixture
            self.wait = wait
            deadline = Deadline(wheel: fixture.wheel)
            deadline.handler = self
        }

        func deadlineExpired() {
            fixture.expired.append(wait / second)
            fixture.onExpire(self)
        }
    }

    let loop: EventLoop
    let wheel: DeadlineWheel
    let start: MonotonicInstant
    var entries: [Entry] = []
    var expired: [UInt64] = []
    var onExpire: (Entry) -> Void = { _ in }

    init() throws {
        loop = try EventLoop()
        wheel = DeadlineWheel(loop: loop)
        start = loop.now
    }

    @discardableResult
    func set(after wait: UInt64) -> Deadline {
        let entry = Entry(self, wait: wait)
        entries.append(entry)
        entry.deadline.set(at: start.advanced(byNanoseconds: wait))
        return entry.deadline
    }

    func advance(to wait: UInt64) { wheel.advance(to: start.advanced(byNanoseconds: wait)) }
}
