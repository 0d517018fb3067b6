import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

@Suite("The file of the counts of quotas")
struct QuotaFileTests {
    private static let day: Int64 = 86_400_000
    /// 2026-11-28.
    private static let start: Int64 = 1_795_824_000_000
    private static let period = start..<start + day

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }
}

extension QuotaFileTests {
    private func count(_ name: UInt64, _ period: Range<Int64> = period) -> QuotaCount {
        QuotaCount(
            name: Bytes16(word0: name &* 0x9E37_79B9_7F4A_7C15, word1: ~name), period: period)
    }

    /// A process with the file of a registry.
    private final class Life {
        let quotas = EmbeddedQuotas()
        let file: QuotaFile
        let opening: QuotaOpening

        init(_ registryPath: String, now: Int64 = 0, wall: Int64 = QuotaFileTests.start) {
            file = QuotaFile(registryPath: registryPath)
            opening = file.read(into: quotas, nowMilliseconds: now, wallMilliseconds: wall)
        }

        func make(
            _ change: QuotaCharge.Change, _ count: QuotaCount, limit: Int = 1000,
            now: Int64 = 0, wall: Int64 = QuotaFileTests.start
        ) -> QuotaVerdict {
            quotas.charge(
                QuotaCharge(change, of: count, limit: limit), nowMilliseconds: now,
                wallMilliseconds: wall)
        }

        func write(wall: Int64 = QuotaFileTests.start, isLast: Bool = false) throws {
            try file.write(quotas, wallMilliseconds: wall, isLast: isLast)
        }

        func stop() throws {
            quotas.close()
            try write(isLast: true)
            file.close()
        }
    }

    /// A copy of what `kill -9` leaves now, which the process that goes on does not touch.
    private func killed(_ registryPath: String) throws -> String {
        let copy = directory.path + "/\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for suffix in ["", "-wal"] {
            let source = registryPath + ".quotas" + suffix
            if FileManager.default.fileExists(atPath: source) {
                try FileManager.default.copyItem(
                    atPath: source, toPath: copy + "/registry.db.quotas" + suffix)
            }
        }
        return copy + "/registry.db"
    }

    @Test("is not there before there are counts")
    func nothing() throws {
        let life = Life(directory.registryPath)
        #expect(life.opening == .none)
        try life.write()
        try life.stop()
        #expect(directory.names.isEmpty)
    }

    @Test("brings all counts back after a clean stop")
    func cleanStop() throws {
        let life = Life(directory.registryPath)
        #expect(life.make(.take(7), count(1)) == .granted(used: 7))
        #expect(life.make(.giveBack(9), count(2)) == .granted(used: -9))
        try life.write()
        #expect(life.make(.take(1), count(1)) == .granted(used: 8))
        try life.stop()
        #expect(directory.names == ["registry.db.quotas"])
        let next = Life(directory.registryPath)
        #expect(next.opening == .resumed(countCount: 2, isClean: true, leftOutCount: 0))
        #expect(next.make(.look, count(1)) == .granted(used: 8))
        #expect(next.make(.look, count(2)) == .granted(used: -9))
        #expect(next.make(.look, count(3)) == .granted(used: 0))
    }

    @Test("after a kill, what was taken in the last batch is charged once more, once")
    func kill() throws {
        let life = Life(directory.registryPath)
        _ = life.make(.take(5), count(1))
        _ = life.make(.take(3), count(2))
        try life.write()
        _ = life.make(.take(2), count(1))
        _ = life.make(.giveBack(1), count(1))
        try life.write()
        // Never written.
        _ = life.make(.take(100), count(1))
        var path = try killed(directory.registryPath)
        for _ in 0..<3 {
            let next = Life(path)
            #expect(next.opening == .resumed(countCount: 2, isClean: false, leftOutCount: 0))
            #expect(next.make(.look, count(1)) == .granted(used: 5 + 2 - 1 + 2))
            #expect(next.make(.look, count(2)) == .granted(used: 3))
            path = try killed(path)
        }
    }

    @Test("after a kill, what was taken long before is not charged again")
    func killIdle() throws {
        let life = Life(directory.registryPath)
        _ = life.make(.take(5), count(1))
        for _ in 0..<3 { try life.write() }
        let next = Life(try killed(directory.registryPath))
        #expect(next.make(.look, count(1)) == .granted(used: 5))
    }

    @Test("a thread writes the counts, and all of them at its end")
    func writer() throws {
        let take = QuotaCharge(.take(7), of: count(1), limit: 10)
        for round in 0..<2 {
            let quotas = EmbeddedQuotas()
            let writer = try QuotaWriter(quotas, registryPath: directory.registryPath)
            let isFirst = round == 0
            #expect(
                writer.opening
                    == (isFirst ? .none : .resumed(countCount: 1, isClean: true, leftOutCount: 0)))
            let verdict = quotas.charge(take, nowMilliseconds: 0, wallMilliseconds: Self.start)
            #expect(verdict == (isFirst ? .granted(used: 7) : .exhausted(used: 7)))
            #expect(writer.stop(within: ChildProcess.patience))
            let late = quotas.charge(take, nowMilliseconds: 0, wallMilliseconds: Self.start)
            #expect(late == .unavailable)
            #expect(quotas.fileState.trouble(at: .now()) == nil)
        }
    }

    @Test("a damaged file is kept aside, and the start goes on without it", arguments: [0, 1, 2])
    func damage(_ kind: Int) throws {
        let path = directory.registryPath + ".quotas"
        let life = Life(directory.registryPath)
        for name in UInt64(0)..<500 { _ = life.make(.take(1), count(name)) }
        try life.stop()
        switch kind {
        case 0: try Data("no database at all, but some text".utf8).write(to: URL(filePath: path))
        case 1:
            var bytes = try Data(contentsOf: URL(filePath: path))
            for index in 2048..<bytes.count { bytes[index] = 0xA5 }
            try bytes.write(to: URL(filePath: path))
        default:
            let connection = try Connection(path: path)
            try connection.execute("PRAGMA user_version = 99")
        }
        let next = Life(directory.registryPath)
        guard case .lost(let words) = next.opening else {
            Issue.record("\(next.opening)")
            return
        }
        #expect(words.contains("it is kept as \(path).damaged"))
        #expect(directory.names == ["registry.db.quotas.damaged"])
        // A part of it may have been read.
        let before = next.quotas.used(count(1))
        #expect(next.make(.take(4), count(1)) == .granted(used: before + 4))
        try next.stop()
        let last = Life(directory.registryPath)
        #expect(last.make(.look, count(1)) == .granted(used: next.quotas.used(count(1))))
    }

    private func removeFiles() throws {
        for name in directory.names {
            try FileManager.default.removeItem(atPath: directory.path + "/" + name)
        }
    }

    @Test("a file that was removed is made anew with all counts")
    func removed() throws {
        let life = Life(directory.registryPath)
        _ = life.make(.take(5), count(1))
        try life.write()
        try removeFiles()
        _ = life.make(.take(3), count(2))
        try life.write()
        try life.stop()
        let next = Life(directory.registryPath)
        #expect(next.make(.look, count(1)) == .granted(used: 5))
        #expect(next.make(.look, count(2)) == .granted(used: 3))
    }

    @Test("a file that was made anew charges no earlier use again after a kill")
    func removedThenKilled() throws {
        let life = Life(directory.registryPath)
        _ = life.make(.take(500), count(1))
        try life.write()
        try removeFiles()
        _ = life.make(.take(3), count(1))
        try life.write()
        let next = Life(try killed(directory.registryPath))
        #expect(next.make(.look, count(1)) == .granted(used: 503))
        // The batch after it is charged again as ever.
        _ = life.make(.take(2), count(1))
        _ = life.make(.take(4), count(2))
        try life.write()
        let last = Life(try killed(directory.registryPath))
        #expect(last.make(.look, count(1)) == .granted(used: 503 + 2 + 2))
        #expect(last.make(.look, count(2)) == .granted(used: 4 + 4))
    }

    @Test("counts that could not be written are written later")
    func refused() throws {
        let life = Life(directory.registryPath)
        _ = life.make(.take(5), count(1))
        // In the way of the file.
        let path = directory.registryPath + ".quotas"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: StoreError.self) { try life.write() }
        #expect(life.make(.take(1), count(1)) == .granted(used: 6))
        try FileManager.default.removeItem(atPath: path)
        try life.write()
        // They were taken before the last second.
        let killed = Life(try killed(directory.registryPath))
        #expect(killed.make(.look, count(1)) == .granted(used: 6))
        try life.stop()
        let next = Life(directory.registryPath)
        #expect(next.make(.look, count(1)) == .granted(used: 6))
    }

    @Test("counts of ended periods leave the file after the grace, by both clocks")
    func ended() throws {
        let path = directory.registryPath + ".quotas"
        let life = Life(directory.registryPath)
        let next = Self.period.upperBound..<Self.period.upperBound + Self.day
        for name in UInt64(0)..<100 { _ = life.make(.take(1), count(name)) }
        try life.write()
        // The wall clock alone has leapt ahead.
        try life.write(wall: Self.start + 10 * Self.day)
        let end = Self.day + Int64(EmbeddedQuotas.Options().graceMilliseconds) + 1
        _ = life.make(.take(1), count(1, next), now: end, wall: Self.start + end)
        life.quotas.sweep(nowMilliseconds: end, wallMilliseconds: Self.start + end)
        // The monotonic clock alone has come so far.
        try life.write(wall: Self.start)
        func rows() throws -> (Int64?, Int64?) {
            let copy = try killed(directory.registryPath) + ".quotas"
            let connection = try Connection(path: copy)
            return (
                try connection.integer("SELECT count(*) FROM counts"),
                try connection.integer("SELECT count(*) FROM periods")
            )
        }
        #expect(try rows() == (101, 2))
        try life.write(wall: Self.start + end)
        #expect(try rows() == (1, 1))
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "goes on with a simple model through batches, kills, stops and leaping clocks",
        arguments: 0..<12)
    func model(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var path = directory.registryPath
        var life = Life(path)
        var model = QuotaModel()
        var now: Int64 = 0
        let counts = (0..<4).map { count($0) } + [count(0, Self.start..<Self.start + 7 * Self.day)]
        /// The sums in the file, and what was taken in the last batch.
        var written: [QuotaCount: QuotaSums] = [:]
        var gained: [QuotaCount: Int] = [:]
        func noteWritten() {
            var batch: [QuotaCount: Int] = [:]
            for count in counts {
                let sums = life.quotas.sums(of: count) ?? QuotaSums()
                let before = written[count] ?? QuotaSums()
                if sums != before { batch[count] = sums.taken - before.taken }
                written[count] = sums
            }
            gained = batch
        }
        for step in 0..<400 {
            now += Int64.random(in: 0..<60_000, using: &generator)
            // The clock leaps by years, and is right again before the grace is over.
            let leap = Int64.random(in: -3...3, using: &generator) * 366 * Self.day
            let wall = Self.start + now % Self.day + leap
            switch Int.random(in: 0..<12, using: &generator) {
            case 0: life.quotas.sweep(nowMilliseconds: now, wallMilliseconds: wall)
            case 1, 2:
                try life.write(wall: wall)
                noteWritten()
            case 3:
                // A clean stop.
                try life.stop()
                noteWritten()
                gained = [:]
                life = Life(path, now: now, wall: wall)
            case 4:
                path = try killed(path)
                life = Life(path, now: now, wall: wall)
                for count in counts {
                    let sums = written[count] ?? QuotaSums()
                    let after = QuotaSums(
                        taken: sums.taken + (gained[count] ?? 0), returned: sums.returned)
                    written[count] = after
                    model.set(after.used, for: count)
                }
                gained = [:]
            default:
                let charge = QuotaModel.charge(counts, using: &generator)
                let verdict = life.make(
                    charge.change, charge.count, limit: charge.limit, now: now,
                    wall: Self.start + now % Self.day)
                #expect(verdict == model.make(charge), "seed \(seed), step \(step): \(charge)")
            }
            // The clock is right again.
            life.quotas.sweep(nowMilliseconds: now, wallMilliseconds: Self.start + now % Self.day)
        }
    }

    @Test("a count takes some forty bytes, and thousands are read back")
    func size() throws {
        let total = 20_000
        let life = Life(directory.registryPath)
        for name in 0..<total { _ = life.make(.take(123_456), count(UInt64(name)), limit: 1 << 40) }
        try life.stop()
        let attributes = try FileManager.default.attributesOfItem(
            atPath: directory.registryPath + ".quotas")
        let byteCount = (attributes[.size] as? Int ?? 0) / total
        print("a count takes \(byteCount) bytes in the file")
        #expect((20..<80).contains(byteCount))
        let next = Life(directory.registryPath)
        #expect(next.opening == .resumed(countCount: total, isClean: true, leftOutCount: 0))
    }

    @Test("a file whose batches have no next number is set aside", arguments: [Int64.max, -1])
    func noNextBatch(number: Int64) throws {
        let path = directory.registryPath
        let first = Life(path)
        #expect(first.make(.take(1), count(1)) == .granted(used: 1))
        try first.stop()
        try Connection(path: path + ".quotas").execute("UPDATE life SET batch = \(number)")
        let life = Life(path)
        guard case .lost(let reason) = life.opening else {
            Issue.record("\(life.opening)")
            return
        }
        #expect(reason.contains("damaged"), "\(reason)")
        #expect(life.make(.take(1), count(1)) == .granted(used: 1))
        try life.stop()
    }
}

extension EmbeddedQuotas {
    func used(_ count: QuotaCount) -> Int { sums(of: count)?.used ?? 0 }
}
