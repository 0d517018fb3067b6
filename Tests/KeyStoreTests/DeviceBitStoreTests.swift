import Attestation
import Bytes
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// What Apple says of a key's device, in both registries.
@Suite("Bits of devices in a registry", .timeLimit(.minutes(30)))
final class DeviceBitStoreTests {
    private struct Stores {
        /// Two gateways of one registry.
        let registry: any Registry
        let other: any Registry
        let administration: any RegistryAdministration
    }

    private let directory = Result { try TemporaryDirectory() }
    private var generator = SeededGenerator(seed: 53)
}

extension DeviceBitStoreTests {
    private func withStores(_ kind: RegistryKind, _ body: (Stores) throws -> Void) throws {
        let fixture = try RegistryFixture(kind)
        defer { withExtendedLifetime(fixture) {} }
        let stores = Stores(
            registry: try fixture.registry(), other: try fixture.registry(),
            administration: try fixture.administration())
        defer {
            stores.registry.close()
            stores.other.close()
        }
        try body(stores)
    }

    private func keep(
        _ bits: DeviceBits, of keyID: KeyID, _ registry: any Registry
    ) throws -> Bool {
        let reply = Reply<Result<Bool, StoreError>>()
        registry.keep(bits, of: keyID) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    /// One that has only begun to listen forgets everything.
    private func hears(_ keyID: KeyID, _ recorder: ChangeRecorder) -> Bool {
        recorder.wait { changes in
            changes.contains(.keys([keyID])) || changes.contains(.everything)
        }
    }

    @Test("are kept with an enrolment, unknown ones too", arguments: RegistryKind.installed)
    func enrolled(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            for code in [nil, 0, 1, 2, 3] as [Int64?] {
                var record = generator.record()
                record.deviceBits = code.flatMap { DeviceBits(code: $0) }
                let outcome = try stores.registry.enrol(record, challenge: generator.bytes16())
                #expect(outcome == .enrolled)
                let found = try stores.other.find(record.keyID)
                #expect(found == record && found?.deviceBits?.code == code)
                // The same attestation again, with other bits, changes nothing.
                record.deviceBits = DeviceBits(bit0: false, bit1: false)
                let again = try stores.registry.enrol(record, challenge: generator.bytes16())
                #expect(again == .alreadyEnrolled)
                #expect(try stores.registry.find(record.keyID) == found)
            }
        }
    }

    @Test(
        "are changed for a key that is known, and every gateway hears",
        arguments: RegistryKind.installed)
    func changed(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let recorders = [ChangeRecorder(stores.registry), ChangeRecorder(stores.other)]
            let (record, neighbour) = (generator.record(), generator.record())
            for record in [record, neighbour] {
                let outcome = try stores.registry.enrol(record, challenge: generator.bytes16())
                #expect(outcome == .enrolled)
            }
            let bits = DeviceBits(bit0: false, bit1: true)
            #expect(try keep(bits, of: record.keyID, stores.registry))
            for recorder in recorders { #expect(hears(record.keyID, recorder)) }
            for registry in [stores.registry, stores.other] {
                #expect(try registry.find(record.keyID)?.deviceBits == bits)
                #expect(try registry.find(neighbour.keyID)?.deviceBits == nil)
            }
            #expect(try stores.administration.find(record.keyID)?.deviceBits == bits)
            #expect(try keep(bits, of: generator.keyID(), stores.registry) == false)
        }
    }

    @Test(
        "stay with a revoked key, and go with an erased one for good",
        arguments: RegistryKind.installed)
    func erased(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let bits = DeviceBits(bit0: true, bit1: true)
            var record = generator.record()
            record.deviceBits = bits
            #expect(try stores.registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
            _ = try stores.administration.revoke([record.keyID])
            #expect(try stores.administration.find(record.keyID)?.deviceBits == bits)
            let other = DeviceBits(bit0: false, bit1: true)
            #expect(try keep(other, of: record.keyID, stores.registry))
            #expect(try stores.administration.find(record.keyID)?.deviceBits == other)
            _ = try stores.administration.erase([record.keyID])
            #expect(try stores.administration.find(record.keyID)?.deviceBits == nil)
            #expect(try keep(bits, of: record.keyID, stores.registry) == false)
            #expect(try stores.administration.find(record.keyID)?.deviceBits == nil)
        }
    }

    @Test(
        "many at once are all kept, among enrolments and renewals' neighbours",
        arguments: RegistryKind.installed)
    func many(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let records = (0..<40).map { _ in generator.record() }
            for record in records {
                let outcome = try stores.registry.enrol(record, challenge: generator.bytes16())
                #expect(outcome == .enrolled)
            }
            let bits = DeviceBits(bit0: true, bit1: false)
            let replies = records.flatMap { record in
                [stores.registry, stores.other].map { registry in
                    let reply = Reply<Result<Bool, StoreError>>()
                    registry.keep(bits, of: record.keyID) { reply.give($0) }
                    registry.raiseFloors([(record.keyID, 7)]) { _ in }
                    return reply
                }
            }
            let kept = try replies.map { try #require($0.wait()).get() }
            #expect(kept.allSatisfy { $0 })
            for record in records {
                #expect(try stores.other.find(record.keyID)?.deviceBits == bits)
            }
        }
    }
}
