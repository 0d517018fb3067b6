import Background
import EventLoop
import Testing

@testable import Gateway

@Suite("Events that repeat themselves")
struct RepeatedEventsTests {
    @Test("are told once a minute, with how often they were left out")
    mutating func repeated() {
        var events = RepeatedEvents()
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        #expect(events.text("a", at: now) == "a")
        now = now + .seconds(59)
        for _ in 0..<3 { #expect(events.text("a", at: now) == nil) }
        #expect(events.text("b", at: now) == "b")
        now = now + .seconds(1)
        #expect(events.text("a", at: now) == "a; 3 more times since this was last reported")
        #expect(events.text("b", at: now) == nil)
        now = now + .seconds(600)
        #expect(events.text("a", at: now) == "a")
    }

    @Test("are of one kind whatever their words, if whoever tells them says so")
    mutating func kinds() {
        var events = RepeatedEvents()
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        #expect(events.text("threw 1 away", of: "a", at: now) == "threw 1 away")
        #expect(events.text("threw 2 away", of: "a", at: now) == nil)
        #expect(events.text("threw 2 away", of: "b", at: now) == "threw 2 away")
        now = now + .seconds(60)
        #expect(
            events.text("threw 3 away", of: "a", at: now)
                == "threw 3 away; 1 more time since this was last reported")
    }

    @Test("are bounded in number, whatever words strangers choose")
    mutating func bounded() {
        var events = RepeatedEvents()
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        let told = (0..<1000).compactMap { events.text("from \($0)", at: now) }
        #expect(told.count == 65)
        #expect(told.last == "from 64; more events of that kind are left out for a minute")
        now = now + .seconds(60)
        #expect(events.text("from 999", at: now) == "from 999")
    }
}
