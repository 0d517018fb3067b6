import Background
import EventLoop
import KeyStore
import Testing

@Suite("The watch over revocations")
struct RevocationWatchTests {}

extension RevocationWatchTests {
    @Test("is told once for each reason, again when keys are cached no more, and at its end")
    func events() {
        let log = RecordedEvents()
        let hearing = ChangeHearing(since: MonotonicInstant(nanoseconds: 0))
        let watch = RevocationWatch(hearing, log: log)
        func look(_ seconds: UInt64) -> [String] {
            watch.look(at: MonotonicInstant(nanoseconds: seconds * 1_000_000_000))
            return log.take()
        }
        #expect(look(2).isEmpty)
        let first = look(3).first
        #expect(first?.hasSuffix("still passes if it is cached: registry: no answer") == true)
        #expect(look(4).isEmpty)
        hearing.failed("registry: denied")
        #expect(look(5).first?.hasSuffix("registry: denied") == true)
        hearing.expire()
        #expect(look(6).first?.contains("no key is cached any more") == true)
        #expect(look(7).isEmpty)
        hearing.heard(asOf: MonotonicInstant(nanoseconds: 7_000_000_000))
        #expect(look(8) == ["revocations_heard: the registry's changes can be read again"])
        #expect(look(9).isEmpty)
        RevocationWatch(nil, log: log).look(at: .distantFuture)
        #expect(log.take().isEmpty)
    }
}

/// Keeps what is told.
final class RecordedEvents: EventLog {
    private let lines = Locked<[String]>([])

    func event(level: StaticString, _ name: StaticString, _ message: String) {
        lines.withLock { $0.append("\(name): \(message)") }
    }

    func leftOut(_ name: StaticString, isOwed: Bool) {}

    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }
}
