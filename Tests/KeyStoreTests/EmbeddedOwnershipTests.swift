import Attestation
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
}

extension EmbeddedOwnershipTests {
    @Test("after a clean stop: the same incarnation, and replays are still refused")
    func cleanStop() throws {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        let used = bench.use(bench.generator.bytes16())
        let unused = bench.use(bench.generator.bytes16())
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            #expect(try ownership.takeState().snapshot == nil)
            #expect(bench.advance(key, 5, challenge: used) == .accepted)
            #expect(bench.advance(key, 9, window: 64) == .accepted)
            let snapshot = bench.snapshot()
            #expect(bench.advance(key, 10) == .unavailable)
            try ownership.storeState(snapshot)
        }
        let ownership = try EmbeddedOwnership(registryPath: path)
        let state = try #require(try ownership.takeState().snapshot)
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
            #expect(try ownership.takeState().snapshot == nil)
            try ownership.storeState(bench.snapshot())
        }
        try EmbeddedOwnership.forgetState(registryPath: path)
        let ownership = try EmbeddedOwnership(registryPath: path)
        #expect(try ownership.takeState().snapshot == nil)
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
        #expect(try ownership.takeState().snapshot == nil)
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
            try ownership.storeState(bench.snapshot())
        }
        let other = try Connection(path: path)
        try other.begin(.immediate)
        do { #expect(try EmbeddedOwnership(registryPath: path).takeState().snapshot == nil) }
        other.rollback()
        // It was not deleted, and counts no more all the same.
        #expect(try EmbeddedOwnership(registryPath: path).takeState().snapshot == nil)
    }

    @Test("after a crash: another incarnation, and old challenges are refused")
    func crash() throws {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            try ownership.storeState(bench.snapshot())
        }
        let before = bench.counters.incarnation
        do {
            // Started from the clean stop, and killed: nothing is stored.
            let ownership = try EmbeddedOwnership(registryPath: path)
            bench = EmbeddedBench(seed: 3, resuming: try ownership.takeState().snapshot)
            #expect(bench.counters.incarnation == before)
        }
        let ownership = try EmbeddedOwnership(registryPath: path)
        let unused = bench.use(bench.generator.bytes16())
        var next = EmbeddedBench(seed: 4, resuming: try ownership.takeState().snapshot)
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
            try ownership.storeState(bench.snapshot())
        }
        let copy = directory.path + "/backup.db"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            bench = EmbeddedBench(seed: 3, resuming: try ownership.takeState().snapshot)
            #expect(bench.advance(key, 1, challenge: challenge) == .accepted)
            try ownership.storeState(bench.snapshot())
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: copy, toPath: path)
        let ownership = try EmbeddedOwnership(registryPath: path)
        var restored = EmbeddedBench(seed: 4, resuming: try ownership.takeState().snapshot)
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
            try ownership.storeState(bench.snapshot())
        }
        let copies = try directory.names.map {
            let url = URL(fileURLWithPath: directory.path + "/" + $0)
            return (url, try Data(contentsOf: url))
        }
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            bench = EmbeddedBench(seed: 3, resuming: try ownership.takeState().snapshot)
            #expect(bench.counters.isResumed)
            #expect(bench.advance(key, 1, challenge: challenge) == .accepted)
            try ownership.storeState(bench.snapshot())
        }
        for (url, bytes) in copies {
            if !isWrittenOver { try FileManager.default.removeItem(at: url) }
            try bytes.write(to: url)
        }
        let ownership = try EmbeddedOwnership(registryPath: path)
        var restored = EmbeddedBench(seed: 4, resuming: try ownership.takeState().snapshot)
        #expect(restored.advance(key, 1, challenge: challenge) == .incarnationChanged)
    }

    @Test("another boot, or an earlier time of the same, means another incarnation")
    func otherBoot() throws {
        var bench = EmbeddedBench()
        #expect(bench.advance(bench.generator.keyID(), 1) == .accepted)
        let snapshot = bench.snapshot()
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

    /// The parts of a state file begin with the numbers of their keys and challenges. Returns where
    /// the first key lies.
    private func firstKeyOffset(_ bytes: Data) -> Int {
        let headByteCount = 32
        var offset = 0
        // Empty parts are nothing but that.
        while bytes[offset..<offset + 8].allSatisfy({ $0 == 0 }) { offset += headByteCount }
        return offset + headByteCount
    }

    @Test("a stored state that was damaged in place brings no counters back", arguments: 0..<5)
    func damagedInPlace(change: Int) throws {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            #expect(bench.advance(key, 5) == .accepted)
            try ownership.storeState(bench.snapshot())
        }
        let file = URL(fileURLWithPath: path + ".counters")
        var bytes = try Data(contentsOf: file)
        let start = firstKeyOffset(bytes)
        switch change {
        case 0: bytes[start + 32] = 0x7F  // The key's highest counter becomes far too high.
        case 1: bytes[start + 48] ^= 1  // Its ring.
        case 2: bytes[start - 16] = 0x7F  // The end of challenges.
        case 3: bytes.removeLast()
        default:
            // The incarnation, which the registry has.
            try Connection(path: path).execute(
                """
                UPDATE embedded_state SET bytes = CAST(substr(bytes, 1, 24) || X'7FFFFFFF'
                    || substr(bytes, 29) AS BLOB)
                """)
        }
        try bytes.write(to: file)
        let state = try EmbeddedOwnership(registryPath: path).takeState()
        let next = EmbeddedBench(seed: 2, resuming: state.snapshot)
        #expect(!next.counters.isResumed)
        #expect(next.counters.incarnation != bench.counters.incarnation)
        switch state {
        case .kept: #expect(next.counters.resumeFailure?.contains(".counters: ") == true)
        case .lost(let reason): #expect(reason.hasPrefix("they are damaged"))
        case .none: Issue.record("nothing was found")
        }
    }

    @Test("more than 64 MiB, 1.5 million keys, survive a stop", .timeLimit(.minutes(30)))
    func millionKeys() throws {
        var bench = EmbeddedBench()
        let count = 1_550_000
        let first = bench.generator.keyID()
        let challenge = bench.use(bench.generator.bytes16())
        #expect(bench.advance(first, 5, challenge: challenge) == .accepted)
        var acceptedCount = 1
        for index in 1..<count {
            let keyID = KeyID(
                digest: Bytes32(
                    word0: UInt64(index) &* 0x9E37_79B9_7F4A_7C15, word1: 1, word2: 2, word3: 3))
            let challenge = bench.use(Bytes16(word0: UInt64(index), word1: 4))
            if bench.advance(keyID, 1, challenge: challenge) == .accepted { acceptedCount += 1 }
        }
        try #require(acceptedCount == count)
        let clock = ContinuousClock()
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            let snapshot = bench.snapshot()
            var byteCount = 0
            let time = try clock.measure { byteCount = try ownership.storeState(snapshot) }
            print("\(count) keys: \(byteCount) bytes stored in \(time)")
            #expect(byteCount > 64 << 20)
        }
        // The registry has grown by a row.
        #expect(try #require(File.byteCount(path)) < 1 << 20)
        let ownership = try EmbeddedOwnership(registryPath: path)
        let incarnation = bench.counters.incarnation
        var resumed: EmbeddedBench?
        let time = try clock.measure {
            resumed = EmbeddedBench(seed: 2, resuming: try ownership.takeState().snapshot)
        }
        print("\(count) keys: taken up in \(time)")
        bench = try #require(resumed)
        #expect(bench.counters.isResumed && bench.counters.incarnation == incarnation)
        #expect(bench.counters.keyCount == count && bench.counters.spentCount == count)
        #expect(bench.advance(first, 5, challenge: challenge) == .replayed)
        #expect(!File.exists(path + ".counters"))
    }

    @Test("a state that cannot be written: the stop says so, and the start after it why")
    func unkept() throws {
        var bench = EmbeddedBench()
        #expect(bench.advance(bench.generator.keyID(), 5) == .accepted)
        let obstacle = path + ".counters.draft"
        try FileManager.default.createDirectory(
            atPath: obstacle + "/full", withIntermediateDirectories: true)
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            #expect(throws: StoreError.self) { try ownership.storeState(bench.snapshot()) }
        }
        try FileManager.default.removeItem(atPath: obstacle)
        let ownership = try EmbeddedOwnership(registryPath: path)
        guard case .lost(let reason) = try ownership.takeState() else {
            Issue.record("a state")
            return
        }
        #expect(reason.hasPrefix("the last stop could not keep them: registry: "))
        #expect(reason.contains("file exists"))
    }

    @Test("a stop that is killed at any step leaves no counters, and says so", arguments: 0..<3)
    func killedStop(step: Int) throws {
        var bench = EmbeddedBench()
        #expect(bench.advance(bench.generator.keyID(), 5) == .accepted)
        let owner = URL(fileURLWithPath: path + ".owner")
        let running: Data
        do {
            let ownership = try EmbeddedOwnership(registryPath: path)
            _ = try ownership.takeState()
            running = try Data(contentsOf: owner)
            try ownership.storeState(bench.snapshot())
        }
        // The steps are taken back, the last one first.
        try Connection(path: path).execute("DELETE FROM embedded_state")
        if step < 2 { try running.write(to: owner) }
        if step < 1 {
            let file = path + ".counters"
            try FileManager.default.moveItem(atPath: file, toPath: file + ".draft")
        }
        let state = try EmbeddedOwnership(registryPath: path).takeState()
        guard case .lost(let reason) = state else {
            Issue.record("a state")
            return
        }
        #expect(reason.contains(step < 2 ? "was killed" : "was cut off"))
        #expect(!directory.names.contains { $0.contains(".counters") })
    }

    @Test("damaged or foreign state means another incarnation, not a failure")
    func damagedState() throws {
        var bench = EmbeddedBench()
        for counter in 1...100 {
            #expect(bench.advance(bench.generator.keyID(), UInt32(counter)) == .accepted)
        }
        let snapshot = bench.snapshot()
        #expect(EmbeddedBench(resuming: snapshot).counters.isResumed)
        let index = try #require(try snapshot.parts.firstIndex { $0.count > 32 })
        for change in 0..<4 {
            var parts = try snapshot.parts
            switch change {
            case 0: parts[index].removeLast()
            case 1: parts[index].append(0)
            case 2: parts[index][0] = 0xFF
            default: parts.removeLast()
            }
            let next = EmbeddedBench(resuming: snapshot.with(parts))
            #expect(!next.counters.isResumed)
            #expect(next.counters.incarnation != snapshot.incarnation)
        }
        let narrow = EmbeddedBench(resuming: snapshot) { $0.windowSizeMax = 64 }
        #expect(!narrow.counters.isResumed && narrow.counters.resumeFailure != nil)
    }
}
