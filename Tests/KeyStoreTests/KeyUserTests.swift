import Attestation
import Bytes
import Crypto
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// For whom keys were used, in both registries.
@Suite("Users of keys", .timeLimit(.minutes(30)))
final class KeyUserTests {
    private let directory = Result { try TemporaryDirectory() }
    private var generator = SeededGenerator(seed: 29)
}

extension KeyUserTests {
    private struct Stores {
        let registry: any Registry
        let administration: any RegistryAdministration
    }

    private func withStores(_ kind: RegistryKind, _ body: (Stores) throws -> Void) throws {
        let fixture = try RegistryFixture(kind)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        defer { registry.close() }
        try body(Stores(registry: registry, administration: try fixture.administration()))
    }

    private func user(_ name: String) throws -> UserPseudonym {
        let secret = [UInt8](repeating: 1, count: 32)
        let bytes = Array(name.utf8)
        return try #require(Pseudonyms(secrets: [secret])).pseudonym(ofUser: bytes.span)
    }

    private func enrol(_ registry: any Registry) throws -> KeyID {
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        return record.keyID
    }

    @Test(
        "keys of a user are counted within the window, and the first one is no new one",
        arguments: RegistryKind.installed)
    func counts(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let registry = stores.registry
            let (first, second) = (try enrol(registry), try enrol(registry))
            let ann = try user("ann")
            #expect(try registry.findUser(of: first) == nil)
            let alone = try #require(try registry.note(first, ann, at: 1000))
            #expect(alone.user == ann && alone.keyCount == 1 && !alone.hasEarlierKey)
            #expect(alone.firstSeen == 1000)
            let both = try #require(try registry.note(second, ann, at: 2000))
            #expect(both.keyCount == 2 && both.hasEarlierKey && both.firstSeen == 2000)
            // The first is older than the window.
            let later = try #require(try registry.note(second, ann, at: 5000, countedSince: 1500))
            #expect(later.keyCount == 1 && later.firstSeen == 2000)
            #expect(try registry.findUser(of: first)?.keyCount == 2)
            #expect(try registry.findUser(of: first, countedSince: 1500)?.keyCount == 1)
            #expect(try registry.findUser(of: first)?.hasEarlierKey == false)
        }
    }

    @Test(
        "the last user of a key is told, and no more than eight are remembered",
        arguments: RegistryKind.installed)
    func manyUsers(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let key = try enrol(stores.registry)
            for number in 0..<20 as Range<Int64> {
                let user = try user("user \(number)")
                #expect(try stores.registry.note(key, user, at: 1000 + number)?.user == user)
            }
            #expect(try stores.registry.findUser(of: key)?.user == user("user 19"))
            let kept = try stores.administration.users(of: key)
            #expect(kept.count == KeySighting.userCountMax)
            #expect(try kept.map(\.user) == (12...19).reversed().map { try user("user \($0)") })
            #expect(try stores.administration.keys(of: user("user 3")).isEmpty)
        }
    }

    @Test(
        "nothing is noted of keys that are unknown, revoked or erased; erasing takes it along",
        arguments: RegistryKind.installed)
    func erased(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let (registry, ann) = (stores.registry, try user("ann"))
            #expect(try registry.note(generator.keyID(), ann, at: 1) == nil)
            let (key, other) = (try enrol(registry), try enrol(registry))
            #expect(try registry.note(key, ann, at: 1) != nil)
            #expect(try registry.note(other, ann, at: 2) != nil)
            _ = try stores.administration.erase([key])
            #expect(try stores.administration.keys(of: ann).map(\.keyID) == [other])
            #expect(try registry.note(key, ann, at: 3) == nil)
            _ = try stores.administration.revoke([other])
            #expect(try registry.note(other, ann, at: 4) == nil)
            #expect(try stores.administration.keys(of: ann).first?.lastSeen == 2)
            try stores.administration.forget(ann)
            #expect(try stores.administration.keys(of: ann).isEmpty)
            #expect(try stores.administration.find(other)?.status == .revoked)
        }
    }

    @Test("what is older than the retention is forgotten", arguments: RegistryKind.installed)
    func retention(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let (registry, ann) = (stores.registry, try user("ann"))
            let (old, young) = (try enrol(registry), try enrol(registry))
            #expect(try registry.note(old, ann, at: 1000) != nil)
            #expect(try registry.note(young, ann, at: 2000) != nil)
            registry.forget(RegistryExpiry(usersBefore: 1500))
            // Asked later, answered later; of PostgreSQL, on another connection.
            try repeatWhile(try registry.findUser(of: old) != nil) {}
            #expect(try registry.findUser(of: young)?.keyCount == 1)
            #expect(try registry.findUser(of: young)?.hasEarlierKey == false)
        }
    }

    @Test(
        "many notes at once are all answered, and those of unknown keys harm nobody",
        arguments: RegistryKind.installed)
    func many(kind: RegistryKind) throws {
        try withStores(kind) { stores in
            let keys = try (0..<20).map { _ in try enrol(stores.registry) }
            let ann = try user("ann")
            let replies = keys.flatMap { [$0, generator.keyID()] }.map { key in
                let reply = Reply<Result<UserKeys?, StoreError>>()
                stores.registry.note(
                    KeySighting(keyID: key, user: ann, milliseconds: 5, countedSince: 0)
                ) { reply.give($0) }
                return reply
            }
            let noted = try replies.map { try #require($0.wait()).get() }
            #expect(noted.count { $0 != nil } == 20)
            #expect(try stores.administration.keys(of: ann).count == 20)
        }
    }
}

extension Registry {
    fileprivate func findUser(of keyID: KeyID, countedSince: Int64 = 0) throws -> UserKeys? {
        let reply = Reply<Result<UserKeys?, StoreError>>()
        findUser(of: keyID, countedSince: countedSince) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    fileprivate func note(
        _ keyID: KeyID, _ user: UserPseudonym, at milliseconds: Int64, countedSince: Int64 = 0
    ) throws -> UserKeys? {
        let sighting = KeySighting(
            keyID: keyID, user: user, milliseconds: milliseconds, countedSince: countedSince)
        let reply = Reply<Result<UserKeys?, StoreError>>()
        note(sighting) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }
}
