import Attestation
import Bytes
import Crypto
import EventLoop
import Foundation
import KeyStore
import SQLiteKeyStore
import Testing

@Suite("The keys command's side of the registry")
final class SQLiteAdministrationTests {
    let directory: TemporaryDirectory
    let administration: SQLiteAdministration
    var generator = SeededGenerator(seed: 31)

    init() throws {
        directory = try TemporaryDirectory()
        administration = try SQLiteAdministration(
            path: directory.registryPath, createsIfMissing: true)
    }
}

extension SQLiteAdministrationTests {
    private func load(_ records: [KeyRecord]) throws -> ImportSummary {
        let load = administration.beginImport()
        for record in records { try load.add(record) }
        return try load.finish()
    }

    private func export(_ filter: KeyFilter = KeyFilter()) throws -> [KeyRecord] {
        var records: [KeyRecord] = []
        try administration.export(filter) { (record) throws(NoReply) in records.append(record) }
        return records
    }

    private func ordered(_ records: [KeyRecord]) -> [KeyRecord] {
        records.sorted { $0.keyID.digest < $1.keyID.digest }
    }

    @Test("what is imported is exported again, and importing it twice changes nothing")
    func roundTrip() throws {
        var records: [KeyRecord] = []
        for number in 0..<2500 {
            var record = generator.record(appID: "TEAM.app\(number % 3)")
            record.environment = number.isMultiple(of: 5) ? .development : .production
            record.counterFloor = UInt32(truncatingIfNeeded: generator.next())
            record.status = number.isMultiple(of: 7) ? .revoked : .active
            record.bundleVersion = number.isMultiple(of: 11) ? "\(number)" : nil
            record.validationCategory = number.isMultiple(of: 13) ? 4_000_000_000 : nil
            if number.isMultiple(of: 17) { record.addReceipt([UInt8(number % 256)]) }
            records.append(record)
        }
        #expect(try load(records) == summary(added: 2500))
        #expect(try export() == ordered(records))
        #expect(try load(records) == summary(unchanged: 2500))
        let other = try TemporaryDirectory()
        let copy = try SQLiteAdministration(path: other.registryPath, createsIfMissing: true)
        let load = copy.beginImport()
        try administration.export(KeyFilter()) { (record) throws(StoreError) in
            try load.add(record)
        }
        #expect(try load.finish() == summary(added: 2500))
        #expect(try copy.counts() == administration.counts())
    }

    private func summary(
        added: Int = 0, unchanged: Int = 0, tightened: Int = 0, conflicts: Int = 0
    ) -> ImportSummary {
        var summary = ImportSummary()
        summary.addedCount = added
        summary.unchangedCount = unchanged
        summary.tightenedCount = tightened
        summary.conflictCount = conflicts
        return summary
    }

    @Test("an import only ever makes a known key stricter")
    func conflicts() throws {
        var record = generator.record()
        record.counterFloor = 10
        _ = try load([record])
        func attempt(_ change: (inout KeyRecord) -> Void) throws -> (ImportSummary, ImportConflict?)
        {
            var changed = record
            change(&changed)
            var conflict: ImportConflict?
            let load = administration.beginImport { _, found in conflict = found }
            try load.add(changed)
            return (try load.finish(), conflict)
        }
        let key = P256PublicKey(x: generator.bytes32(), y: generator.bytes32())
        #expect(try attempt { $0.counterFloor = 3 } == (summary(unchanged: 1), nil))
        #expect(try attempt { $0.publicKey = key } == (summary(conflicts: 1), .otherPublicKey))
        #expect(try attempt { $0.appID = "other" } == (summary(conflicts: 1), .otherApp))
        #expect(
            try attempt { $0.environment = .development }
                == (summary(conflicts: 1), .otherEnvironment))
        #expect(try administration.find(record.keyID) == record)
        #expect(try attempt { $0.counterFloor = 11 } == (summary(tightened: 1), nil))
        #expect(try attempt { $0.status = .revoked } == (summary(tightened: 1), nil))
        #expect(try attempt { _ in } == (summary(conflicts: 1), .notActive(.revoked)))
        let known = try #require(try administration.find(record.keyID))
        #expect(known.status == .revoked)
        #expect(known.counterFloor == 11)
        #expect(try attempt { $0.status = .erased } == (summary(tightened: 1), nil))
        #expect(try attempt { _ in } == (summary(conflicts: 1), .notActive(.erased)))
    }

    @Test("a key twice in one import counts once")
    func duplicates() throws {
        let record = generator.record()
        #expect(try load([record, record]) == summary(added: 1, unchanged: 1))
    }

    @Test("listing filters, pages and orders")
    func list() throws {
        var records = (0..<50).map { number in
            generator.record(appID: number.isMultiple(of: 2) ? "A" : "B")
        }
        for number in 0..<10 { records[number].environment = .development }
        _ = try load(records)
        _ = try administration.revoke(records.prefix(3).map(\.keyID))
        for number in 0..<3 { records[number].status = .revoked }
        let sorted = ordered(records)

        var filter = KeyFilter()
        filter.countMax = 20
        let first = try administration.list(filter, withReceipts: false)
        #expect(first == Array(sorted.prefix(20)))
        filter.after = first.last?.keyID
        #expect(try administration.list(filter, withReceipts: false) == Array(sorted[20..<40]))
        filter = KeyFilter()
        filter.appID = "B"
        filter.environment = .development
        filter.status = .active
        let expected = sorted.filter {
            $0.appID == "B" && $0.environment == .development && $0.status == .active
        }
        #expect(try administration.list(filter, withReceipts: false) == expected)
        #expect(try export(filter) == expected)
        filter.appID = "unknown"
        #expect(try administration.list(filter, withReceipts: false) == [])
        #expect(try administration.counts().reduce(0) { $0 + $1.count } == 50)
    }

    @Test("revoking and erasing say what they did; erasing leaves only a tombstone")
    func erase() throws {
        var record = generator.record()
        record.addReceipt(Array("a receipt to forget".utf8))
        record.counterFloor = 77
        _ = try load([record])
        let unknown = generator.keyID()
        #expect(try administration.find(record.keyID)?.receipt == record.receipt)
        #expect(
            try administration.revoke([record.keyID, unknown, record.keyID])
                == [.done, .unknownKey, .unchanged])
        #expect(
            try administration.erase([record.keyID, unknown, record.keyID])
                == [.done, .unknownKey, .unchanged])
        #expect(try administration.revoke([record.keyID]) == [.unchanged])
        let left = try #require(try administration.find(record.keyID))
        #expect(left.status == .erased)
        #expect(left.counterFloor == 77)
        #expect(left.appID == "" && left.receipt == nil && left.enrolledAt == 0)
        #expect(left.receiptState == nil && left.riskMetric == nil)
        for name in directory.names {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path + "/" + name))
            #expect(bytes.range(of: Data("a receipt to forget".utf8)) == nil)
            #expect(bytes.range(of: Data(record.publicKey.x.array)) == nil)
        }
    }

    @Test("an import and a gateway's enrolments go on side by side")
    func sideBySide() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let enrolled = (0..<40).map { _ in generator.record() }
        let results = Locked<[Bool]>([])
        let done = Reply<Bool>()
        let path = directory.registryPath
        let imported = (0..<30_000).map { _ in generator.record() }
        let thread = try EventLoop::Thread.spawn(name: "import") {
            let count = try? importAll(imported, path: path)
            done.give(count == 30_000)
        }
        for record in enrolled {
            let outcome = try registry.enrol(record, challenge: generator.bytes16())
            results.withLock { $0.append(outcome == .enrolled) }
        }
        #expect(done.wait() == true)
        thread.join()
        #expect(results.withLock { $0.filter { $0 }.count } == 40)
        #expect(try administration.counts().map(\.count) == [30_040])
        registry.close()
    }
}

private func importAll(_ records: [KeyRecord], path: String) throws -> Int {
    let load = try SQLiteAdministration(path: path).beginImport()
    for record in records { try load.add(record) }
    return try load.finish().addedCount
}
