import Attestation
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLiteKeyStore
import Testing

private let isAsked = ProcessInfo.processInfo.environment["SALLYPORT_ENROLMENT_RATE"] != nil

/// A measurement, run by hand: `SALLYPORT_ENROLMENT_RATE=1 swift test --filter EnrolmentRate`.
@Suite("Enrolments a second", .enabled(if: isAsked), .serialized)
final class RegistryEnrolmentRate {
    var generator = SeededGenerator(seed: 41)
}

extension RegistryEnrolmentRate {
    /// `inFlight` at a time, as many clients would.
    private func measure(_ name: String, _ registry: any Registry, count: Int, inFlight: Int) {
        let records = (0..<count).map { _ in
            var record = generator.record()
            record.receipt = [UInt8](repeating: 7, count: 5000)
            return record
        }
        let challenges = (0..<count).map { _ in generator.bytes16() }
        let bell = Bell()
        let answered = Locked(0)
        let mark = MonotonicInstant.now()
        for (index, record) in records.enumerated() {
            _ = bell.wait { index - answered.withLock { $0 } < inFlight }
            registry.enrol(record, challenge: challenges[index]) { result in
                if case .failure(let error) = result { print("\(error)") }
                answered.withLock { $0 += 1 }
                bell.ring()
            }
        }
        _ = bell.wait { answered.withLock { $0 } == count }
        let seconds = Double(MonotonicInstant.now().nanoseconds(since: mark)) / 1e9
        print("\(name), \(inFlight) in flight: \(Int(Double(count) / seconds)) enrolments/s")
    }

    @Test("in SQLite and in PostgreSQL, synchronised to the disk", arguments: [1, 16, 256])
    func rate(inFlight: Int) throws {
        let count = inFlight == 1 ? 500 : 5000
        let directory = try TemporaryDirectory()
        let sqlite = try SQLiteRegistry(path: directory.registryPath)
        measure("SQLite", sqlite, count: count, inFlight: inFlight)
        sqlite.close()
        let fixture = try PostgresFixture(try PostgresServer([]))
        let postgres = try fixture.registry { $0.poolCount = 4 }
        try postgres.probe()
        measure("PostgreSQL", postgres, count: count, inFlight: inFlight)
        postgres.close()
    }
}
