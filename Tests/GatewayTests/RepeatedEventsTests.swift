import Background
import EventLoop
import Foundation
import Settings
import Testing

@testable import Gateway

@Suite("Events that repeat themselves")
struct RepeatedEventsTests {}

extension RepeatedEventsTests {
    @Test("are told once a minute, with how often they were left out")
    mutating func repeated() {
        var events = RepeatedEvents()
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        #expect(events.turn("event", "a", at: now) == .told("a"))
        now = now + .seconds(59)
        for _ in 0..<3 { #expect(events.turn("event", "a", at: now) == .repeated) }
        #expect(events.turn("event", "b", at: now) == .told("b"))
        now = now + .seconds(1)
        #expect(
            events.turn("event", "a", at: now)
                == .told("a; 3 more times since this was last reported"))
        #expect(events.turn("event", "b", at: now) == .repeated)
        now = now + .seconds(600)
        #expect(events.turn("event", "a", at: now) == .told("a"))
    }

    @Test("are of one kind whatever their words, if whoever tells them says so")
    mutating func kinds() {
        var events = RepeatedEvents()
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        #expect(
            events.turn("event", "threw 1 away", of: "a", at: now)
                == .told("threw 1 away"))
        #expect(events.turn("event", "threw 2 away", of: "a", at: now) == .repeated)
        #expect(
            events.turn("event", "threw 2 away", of: "b", at: now)
                == .told("threw 2 away"))
        now = now + .seconds(60)
        #expect(
            events.turn("event", "threw 3 away", of: "a", at: now)
                == .told("threw 3 away; 1 more time since this was last reported"))
    }

    @Test("are bounded in number, whatever words strangers choose")
    mutating func bounded() {
        var events = RepeatedEvents()
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        let turns = (0..<1000).map { events.turn("event", "from \($0)", at: now) }
        #expect(turns[..<64] == ArraySlice((0..<64).map { .told("from \($0)") }))
        #expect(
            turns[64] == .told("from 64; more events of that kind are left out for a minute"))
        #expect(turns[65...].allSatisfy { $0 == .crowdedOut })
        #expect(events.turn("event", "from 0", at: now) == .repeated)
        #expect(events.turn("another", "from 999", at: now) == .told("from 999"))
        now = now + .seconds(60)
        #expect(events.turn("event", "from 999", at: now) == .told("from 999"))
    }

    @Test("of many strangers silence no other event, and what is left out of them is told")
    func strangers() throws {
        let path = NSTemporaryDirectory() + "sallyport-events-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var settings = LogSettings()
        settings.access = .off
        settings.events = .file(path: path)
        let writers = try LogWriters(settings)
        let log = WorkerLog(
            writers: writers, spans: SpanQueue(meter: ExportMeter()), refusals: RefusalRing(),
            loop: try EventLoop())
        for peer in 0..<68 { log.repeatedEvent("http2_fault", "protocol_error by 192.0.2.\(peer)") }
        for name: StaticString in ["body_file_failed", "registry_failed", "check_call_failed"] {
            log.repeatedEvent(name, "no space left")
        }
        writers.tellLeftOut(at: MonotonicInstant.now() + .seconds(61))
        writers.close()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count { $0.contains("\"http2_fault\"") } == 65)
        for name in ["body_file_failed", "registry_failed", "check_call_failed"] {
            #expect(lines.count { $0.contains("\"\(name)\"") } == 1, "\(name)")
        }
        #expect(lines.contains { $0.contains("3 more of http2_fault came within a minute") })
    }
}
