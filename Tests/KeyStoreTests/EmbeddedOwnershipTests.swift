import AppAttest
import Bytes
import EventLoop
import Foundation
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

@Suite("Embedded counters across stops")
final class EmbeddedOwnershipTests {
    let directory: TemporaryDirectory
    var path: String { directory.registryPath }

    init() throws {
        directory = try TemporaryDirectory()
        try SQLiteRegistry(path: directory.registryPath).close()
    }

    @Test("after a clean stop: the same incarnation, and replays are still refused")
    func cleanStop() throws {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        let used = bench.use(bench.generator.bytes16())
        let unused = bench.use(bench.generator.bytes16())
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            #expect(try ownership.takeState() == nil)
            #expect(bench.advance(key, 5, challenge: used) == .accepted)
            #expect(bench.advance(key, 9, window: 64) == .accepted)
            let snapshot = try #require(bench.snapshot())
            #expect(bench.advance(key, 10) == .unavailable)
            try ownership.storeState(snapshot)
        }
        let ownership = try EmbeddedOwnership(registryPath: path)
        let state = try #require(try ownership.takeState())
        var resumed = EmbeddedBench(seed: 2, resuming: state)
        #expect(resumed.counters.isResumed)
        #expect(resumed.counters.incarnation == bench.counters.incarnation)
        #expect(resumed.advance(key, 5, challenge: used) == .replayed)
        #expect(resumed.advance(key, 7, challenge: used) == .challengeSpent)
        #expect(resumed.advance(key, 5, window: 64) == .counterUsed)
        #expect(resumed.advance(key, 9, window: 64) == .counterUsed)
        #expect(resumed.advance(key, 7, window: 64, challenge: unused) == .accepted)
        #expect(resumed.advance(key, 10) == .accepted)
    }

    @Test("after a gateway that counted elsewhere: another incarnation")
    func countedElsewhere() throws {
        try EmbeddedOwnership.forgetState(registryPath: path)
        let bench = EmbeddedBench()
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            #expect(try ownership.takeState() == nil)
            try ownership.storeState(try #require(bench.snapshot()))
        }
        try EmbeddedOwnership.forgetState(registryPath: path)
        let ownership = try EmbeddedOwnership(registryPath: path)
        #expect(try ownership.takeState() == nil)
        // While somebody counts here, it is that one's.
        let holder = EmbeddedOwnership.runner(registryPath: path)
        try EmbeddedOwnership.forgetState(registryPath: path)
        #expect(EmbeddedOwnership.runner(registryPath: path) == holder)
    }

    @Test("a registry under the name of a link: one gateway too")
    func link() throws {
        let link = path + ".link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let ownership = try EmbeddedOwnership(registryPath: path)
        #expect(try ownership.takeState() == nil)
        let holder = try #require(EmbeddedOwnership.runner(registryPath: link))
        #expect(holder.hasPrefix("process "))
        #expect(throws: EmbeddedOwnershipError.held(path: link, holder: holder)) {
            _ = try EmbeddedOwnership(registryPath: link)
        }
    }

    @Test("under the write lock of another process: a start, and another incarnation")
    func locked() throws {
        var bench = EmbeddedBench()
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            _ = bench.advance(bench.generator.keyID(), 5)
            try ownership.storeState(try #require(bench.snapshot()))
        }
        let other = try Connection(path: path)
        try other.begin(.immediate)
        do { #expect(try EmbeddedOwnership(registryPath: path).takeState() == nil) }
        other.rollback()
        // It was not deleted, and counts no more all the same.
        #expect(try EmbeddedOwnership(registryPath: path).takeState() == nil)
    }

    @Test("after a crash: another incarnation, and old challenges are refused")
    func crash() throws {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            try ownership.storeState(try #require(bench.snapshot()))
        }
        let before = bench.counters.incarnation
        do {
            // Started from the clean stop, and killed: nothing is stored.
            let ownership = try EmbeddedOwnership(registryPath: path)
            bench = EmbeddedBench(seed: 3, resuming: try ownership.takeState())
            #expect(bench.counters.incarnation == before)
        }
        let ownership = try EmbeddedOwnership(registryPath: path)
        let unused = bench.use(bench.generator.bytes16())
        var next = EmbeddedBench(seed: 4, resuming: try ownership.takeState())
        #expect(next.counters.incarnation != before)
        #expect(next.advance(key, 1, challenge: unused) == .incarnationChanged)
        #expect(next.advance(key, 1) == .accepted)
    }

    @Test("a registry restored from a backup brings no counters back")
    func backup() throws {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        let challenge = bench.use(bench.generator.bytes16())
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            try ownership.storeState(try #require(bench.snapshot()))
        }
        let copy = directory.path + "/backup.db"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            bench = EmbeddedBench(seed: 3, resuming: try ownership.takeState())
            #expect(bench.advance(key, 1, challenge: challenge) == .accepted)
            try ownership.storeState(try #require(bench.snapshot()))
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: copy, toPath: path)
        let ownership = try EmbeddedOwnership(registryPath: path)
        var restored = EmbeddedBench(seed: 4, resuming: try ownership.takeState())
        #expect(restored.advance(key, 1, challenge: challenge) == .incarnationChanged)
    }

    @Test("nor does a whole directory that is rolled back", arguments: [true, false])
    func rolledBack(_ isWrittenOver: Bool) throws {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        let challenge = bench.use(bench.generator.bytes16())
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            try ownership.storeState(try #require(bench.snapshot()))
        }
        let copies = try directory.names.map {
            let url = URL(fileURLWithPath: directory.path + "/" + $0)
            return (url, try Data(contentsOf: url))
        }
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            bench = EmbeddedBench(seed: 3, resuming: try ownership.takeState())
            #expect(bench.counters.isResumed)
            #expect(bench.advance(key, 1, challenge: challenge) == .accepted)
            try ownership.storeState(try #require(bench.snapshot()))
        }
        for (url, bytes) in copies {
            if !isWrittenOver { try FileManager.default.removeItem(at: url) }
            try bytes.write(to: url)
        }
        let ownership = try EmbeddedOwnership(registryPath: path)
        var restored = EmbeddedBench(seed: 4, resuming: try ownership.takeState())
        #expect(restored.advance(key, 1, challenge: challenge) == .incarnationChanged)
    }

    @Test("another boot, or an earlier time of the same, means another incarnation")
    func otherBoot() throws {
        var bench = EmbeddedBench()
        #expect(bench.advance(bench.generator.keyID(), 1) == .accepted)
        let snapshot = try #require(bench.snapshot())
        let clocks = [
            EmbeddedBench.clock(bench.now, boot: Bytes16(word0: 1, word1: 3)),
            EmbeddedBench.clock(bench.now, boot: nil), EmbeddedBench.clock(bench.now - 1),
        ]
        for clock in clocks {
            let next = EmbeddedCounters(resuming: snapshot, clock: clock)
            #expect(!next.isResumed && next.incarnation != snapshot.incarnation)
        }
        // The time of day does not matter: the clock goes on where it was.
        let later = EmbeddedClock(
            base: 5, boot: EmbeddedBench.boot, nowMilliseconds: bench.now + 1000)
        let next = EmbeddedCounters(resuming: snapshot, clock: later)
        #expect(next.isResumed)
        let moment = next.moment(nowMilliseconds: bench.now + 1000)
        let stopped = bench.counters.moment(nowMilliseconds: bench.now)
        #expect(moment.incarnation == stopped.incarnation)
        #expect(moment.milliseconds == stopped.milliseconds + 1000)
    }

    @Test("a second process is refused with the name of the first, and may come after it")
    func oneOwner() throws {
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            do {
                _ = try EmbeddedOwnership(registryPath: path)
                Issue.record("a second owner")
            } catch {
                #expect(
                    error
                        == .held(
                            path: path,
                            holder: "process \(ProcessInfo.processInfo.processIdentifier)"))
            }
            // The administration needs no lock.
            #expect(try SQLiteAdministration(path: path).counts().isEmpty)
        }
        _ = try EmbeddedOwnership(registryPath: path)
    }

    @Test("a stored state that was damaged in place brings no counters back", arguments: 0..<4)
    func damagedInPlace(change: Int) throws {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            #expect(bench.advance(key, 5) == .accepted)
            try ownership.storeState(try #require(bench.snapshot()))
        }
        let connection = try Connection(path: path)
        // The key's highest counter becomes far too high; its ring, the end of challenges
        // and the incarnation become others.
        let (part, offset) = [
            ("length(bytes) > 150 AND part > 0", 57), ("length(bytes) > 150 AND part > 0", 65),
            ("length(bytes) > 150 AND part > 0", 17), ("part = 0", 17),
        ][change]
        try connection.execute(
            """
            UPDATE embedded_state SET bytes = CAST(substr(bytes, 1, \(offset - 1)) || X'7FFFFFFF'
                || substr(bytes, \(offset + 4)) AS BLOB) WHERE \(part)
            """)
        #expect(connection.changeCount == 1)
        #expect(try EmbeddedOwnership(registryPath: path).takeState() == nil)
    }

    @Test("damaged or foreign state means another incarnation, not a failure")
    func damagedState() throws {
        var bench = EmbeddedBench()
        for counter in 1...100 {
            #expect(bench.advance(bench.generator.keyID(), UInt32(counter)) == .accepted)
        }
        let snapshot = try #require(bench.snapshot())
        #expect(EmbeddedBench(resuming: snapshot).counters.isResumed)
        let index = try #require(snapshot.parts.firstIndex { $0.count > 24 })
        for change in 0..<4 {
            var parts = snapshot.parts
            switch change {
            case 0: parts[index].removeLast()
            case 1: parts[index].append(0)
            case 2: parts[index][0] = 0xFF
            default: parts.removeLast()
            }
            let damaged = EmbeddedSnapshot(
                incarnation: snapshot.incarnation, clock: snapshot.clock, parts: parts)
            let next = EmbeddedBench(resuming: damaged)
            #expect(!next.counters.isResumed)
            #expect(next.counters.incarnation != snapshot.incarnation)
        }
        let narrow = EmbeddedBench(resuming: snapshot) { $0.windowSizeMax = 64 }
        #expect(!narrow.counters.isResumed)
        var small = EmbeddedBench { $0.snapshotByteCountMax = 100 }
        #expect(small.advance(small.generator.keyID(), 1) == .accepted)
        #expect(small.snapshot() == nil)
        #expect(small.advance(small.generator.keyID(), 1) == .unavailable)
    }
}
