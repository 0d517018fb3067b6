import Attestation
import Bytes
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// The certificates that vouch for keys, in both registries.
@Suite("Certificates of keys in a registry", .timeLimit(.minutes(30)))
final class KeyCertificateTests {
    private struct Stores {
        let fixture: RegistryFixture
        let registry: any Registry
        let administration: any RegistryAdministration
    }

    private var generator = SeededGenerator(seed: 71)
}

extension KeyCertificateTests {
    private func withStores(_ kind: RegistryKind, _ body: (Stores) throws -> Void) throws {
        let fixture = try RegistryFixture(kind)
        let stores = Stores(
            fixture: fixture, registry: try fixture.registry(),
            administration: try fixture.administration())
        defer { stores.registry.close() }
        try body(stores)
    }

    private func record(_ certificates: String...) -> KeyRecord {
        var record = generator.record()
        record.platform = .init("android")
        record.certificates = certificates
        return record
    }

    private func enrol(_ record: KeyRecord, _ stores: Stores) throws {
        let outcome = try stores.registry.enrol(record, challenge: generator.bytes16())
        #expect(outcome == .enrolled)
    }

    @Test(
        "are kept with the key, each once, and read with whole records only",
        arguments: RegistryKind.installed)
    func kept(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let key = record("c35747a084470c3135aeefe2b8d40cd6", "1", "abc", "1")
            try enrol(key, stores)
            let none = record()
            try enrol(none, stores)
            let sorted = ["1", "abc", "c35747a084470c3135aeefe2b8d40cd6"]
            #expect(try stores.administration.find(key.keyID)?.certificates == sorted)
            #expect(try stores.administration.find(none.keyID)?.certificates == [])
            #expect(try stores.registry.find(key.keyID)?.certificates == [])
            for withReceipts in [false, true] {
                let page = try stores.administration.list(KeyFilter(), withReceipts: withReceipts)
                #expect(page.first { $0.keyID == key.keyID }?.certificates == sorted)
                #expect(page.first { $0.keyID == none.keyID }?.certificates == [])
            }
        }
    }

    @Test("lead to the active keys under them, page by page", arguments: RegistryKind.installed)
    func query(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let keys = (0..<5).map { _ in record("aa", "bb") }
                .sorted { $0.keyID.digest < $1.keyID.digest }
            for key in keys { try enrol(key, stores) }
            try enrol(record("cc"), stores)
            let ids = keys.map(\.keyID)
            func found(
                _ serials: [String], after: KeyID? = nil, _ countMax: Int = 100
            ) throws -> [KeyID] {
                try stores.administration.activeKeys(
                    under: serials, after: after, countMax: countMax)
            }
            #expect(try found(["aa", "bb", "dd"]) == ids)
            #expect(try found(["aa"], 2) == Array(ids[0..<2]))
            #expect(try found(["bb", "aa"], after: ids[1], 2) == Array(ids[2..<4]))
            #expect(try found(["aa"], after: ids[4]) == [])
            #expect(try found(["cc"]).count == 1)
            #expect(try found([]) == [] && found(["a"]) == [] && found(["0aa"]) == [])
            // Revoked and erased keys are not found, and only those of an erased key are gone.
            #expect(try stores.administration.revoke([ids[0]]) == [.done])
            #expect(try stores.administration.erase([ids[1]]) == [.done])
            #expect(try found(["aa"]) == Array(ids[2...]))
            #expect(try stores.administration.find(ids[0])?.certificates == ["aa", "bb"])
            #expect(try stores.administration.find(ids[1])?.certificates == [])
        }
    }

    @Test("are exported and imported with the key", arguments: RegistryKind.installed)
    func moved(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let key = record("aa", "bb")
            let keyImport = stores.administration.beginImport()
            try keyImport.add(key)
            #expect(try keyImport.finish().addedCount == 1)
            var exported: [KeyRecord] = []
            try stores.administration.export(KeyFilter()) { (record) throws(StoreError) in
                exported.append(record)
            }
            #expect(exported == [key])
            let found = try stores.administration.activeKeys(
                under: ["bb"], after: nil, countMax: 9)
            #expect(found == [key.keyID])
        }
    }
}
