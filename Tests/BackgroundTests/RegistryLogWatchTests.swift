import Background
import EventLoop
import KeyStore
import Testing

@Suite("The watch over the registry's log")
struct RegistryLogWatchTests {}

extension RegistryLogWatchTests {
    @Test("tells of a log that stays long, of one that takes no counters, and of the end")
    func events() {
        let events = RecordedEvents()
        let log = RegistryLog(byteCountMax: 100 << 20)
        let watch = RegistryLogWatch(log, log: events)
        func look(_ seconds: UInt64, _ mebibytes: Int, _ obstacle: String? = nil) -> [String] {
            let now = MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
            log.note(byteCount: mebibytes << 20, obstacle: obstacle, at: now)
            watch.look(at: now)
            return events.take()
        }
        #expect(look(1, 64).isEmpty)
        // An import has made it long, and it is emptied.
        #expect(look(2, 90).isEmpty)
        #expect(look(4, 0).isEmpty)
        #expect(look(5, 70, "process 7 (sqlite3) is in a transaction").isEmpty)
        #expect(look(7, 71, "process 7 (sqlite3) is in a transaction").isEmpty)
        let grown = look(8, 72, "process 7 (sqlite3) is in a transaction")
        #expect(grown.count == 1 && grown[0].hasPrefix("registry_log_grown: "))
        #expect(grown[0].contains("72 MiB") && grown[0].contains("process 7 (sqlite3)"))
        #expect(grown[0].contains("from 100 MiB on (limits.registry_log)"))
        #expect(look(9, 80).isEmpty && !log.isFull)
        let full = look(10, 100, "process 7 (sqlite3) is in a transaction")
        #expect(full.count == 1 && full[0].hasPrefix("registry_log_full: "))
        #expect(log.isFull && log.refusal.kind == .logFull)
        #expect(log.refusal.description.contains("process 7 (sqlite3)"))
        #expect(look(11, 101).isEmpty)
        #expect(
            look(12, 0) == ["registry_log_short: the registry's log (-wal) has 0 MiB again"])
        #expect(look(13, 0).isEmpty)
        RegistryLogWatch(nil, log: events).look(at: .distantFuture)
        #expect(events.take().isEmpty)
    }
}
