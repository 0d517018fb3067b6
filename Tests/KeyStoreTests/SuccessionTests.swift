import Attestation
import Bytes
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// Keys that take the place of others, in both registries.
@Suite("Keys that take the place of others", .timeLimit(.minutes(30)))
final class SuccessionTests {
    private var generator = SeededGenerator(seed: 83)
}

extension SuccessionTests {
    private func with(_ kind: RegistryKind, _ body: (SuccessionFixture) throws -> Void) throws {
        let fixture = try SuccessionFixture(kind)
        defer { fixture.registry.close() }
        try body(fixture)
    }

    /// A key that is enrolled, with the ticket of `former` if there is one.
    private func enrolled(
        _ stores: SuccessionFixture, after former: KeyRecord? = nil, at seconds: Int64 = 1000
    ) throws -> KeyRecord {
        var record = generator.record()
        record.enrolledAt = seconds
        let outcome = try stores.enrol(record, after: former, generator.bytes16())
        #expect(
            outcome == (former.map { .succeeded(InstallationID(firstKey: $0.keyID)) } ?? .enrolled))
        return record
    }

    @Test(
        "a successor inherits the installation and its age, and both keys name each other",
        arguments: RegistryKind.installed)
    func inherits(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores, at: 500)
            #expect(try stores.place(of: first) == nil)
            let second = try enrolled(stores, after: first, at: 900)
            let installation = InstallationID(firstKey: first.keyID)
            #expect(
                try stores.place(of: second)
                    == KeySuccession(
                        installation: installation, generation: 1, beganAt: 500,
                        predecessor: first.keyID, retiresPredecessor: true))
            #expect(
                try stores.place(of: first)
                    == KeySuccession(
                        installation: installation, generation: 0, beganAt: 500,
                        successor: second.keyID))
            // Both work until the new key has signed.
            #expect(try stores.registry.find(first.keyID)?.status == .active)
            var third = generator.record()
            third.enrolledAt = 2000
            let claim = SuccessionClaim(predecessor: second.keyID, installation: installation)
            #expect(
                try stores.registry.enrol(third, challenge: generator.bytes16(), succeeding: claim)
                    == .succeeded(installation))
            let place = try #require(try stores.place(of: third))
            #expect(place.generation == 2 && place.beganAt == 500)
            #expect(try stores.place(of: second)?.successor == third.keyID)
            let page = try stores.administration.list(KeyFilter(), withReceipts: false)
            #expect(page.first { $0.keyID == third.keyID }?.succession == place)
        }
    }

    @Test(
        "a ticket is used once, also after its key was retired", arguments: RegistryKind.installed)
    func usedOnce(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores)
            let second = try enrolled(stores, after: first)
            let thief = generator.record()
            #expect(try stores.enrol(thief, after: first, generator.bytes16()) == .enrolled)
            #expect(try stores.place(of: thief) == nil)
            #expect(try stores.retire(first, second))
            let other = generator.record()
            #expect(try stores.enrol(other, after: first, generator.bytes16()) == .enrolled)
            #expect(try stores.place(of: second)?.successor == nil)
            let unknown = generator.record()
            let stranger = generator.record()
            #expect(try stores.enrol(stranger, after: unknown, generator.bytes16()) == .enrolled)
        }
    }

    @Test(
        "of many keys that want one place at once, one gets it, on whichever gateway",
        arguments: RegistryKind.installed)
    func race(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores)
            let gateways = [stores.registry, try stores.another()]
            defer { gateways[1].close() }
            let replies = (0..<16).map { index in
                let reply = Reply<Result<EnrolmentOutcome, StoreError>>()
                gateways[index % 2].enrol(
                    generator.record(), challenge: generator.bytes16(), succeeding: first.claim
                ) { reply.give($0) }
                return reply
            }
            let outcomes = try replies.map { reply in
                guard let answer = reply.wait() else { throw NoReply() }
                return try answer.get()
            }
            let installation = InstallationID(firstKey: first.keyID)
            #expect(outcomes.count { $0 == .succeeded(installation) } == 1)
            #expect(outcomes.count { $0 == .enrolled } == 15)
        }
    }

    @Test("the successor of a revoked key is refused", arguments: RegistryKind.installed)
    func revoked(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores)
            #expect(try stores.administration.revoke([first.keyID]) == [.done])
            let second = generator.record()
            let challenge = generator.bytes16()
            #expect(try stores.enrol(second, after: first, challenge) == .installationRevoked)
            #expect(try stores.registry.find(second.keyID) == nil)
            // An older ticket of the installation leads past its newest key no more than that
            // key's own.
            let (older, newer) = (try enrolled(stores), generator.record())
            _ = try stores.enrol(newer, after: older, generator.bytes16())
            #expect(try stores.retire(older, newer))
            #expect(try stores.administration.revoke([newer.keyID]) == [.done])
            let escape = generator.record()
            let outcome = try stores.enrol(escape, after: older, generator.bytes16())
            #expect(outcome == .installationRevoked)
            #expect(try stores.registry.find(escape.keyID) == nil)
        }
    }

    @Test(
        "an older key leads to the newest of its installation while that is active",
        arguments: RegistryKind.installed)
    func newer(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores)
            let alone = try enrolled(stores)
            let second = try enrolled(stores, after: first)
            let installation = InstallationID(firstKey: first.keyID)
            let third = generator.record()
            let claim = SuccessionClaim(predecessor: second.keyID, installation: installation)
            _ = try stores.registry.enrol(third, challenge: generator.bytes16(), succeeding: claim)
            let all = [first, alone, second, third, generator.record()].map(\.keyID)
            let newest = NewerKey(keyID: third.keyID, installation: installation)
            #expect(
                try stores.administration.newerKeys(than: all)
                    == [first.keyID: newest, second.keyID: newest])
            #expect(try stores.administration.newerKeys(than: []).isEmpty)
            #expect(try stores.administration.revoke([third.keyID]) == [.done])
            #expect(try stores.administration.newerKeys(than: all).isEmpty)
            #expect(try stores.administration.erase([third.keyID]) == [.done])
            // The second key is the newest one now.
            #expect(
                try stores.administration.newerKeys(than: all)
                    == [first.keyID: NewerKey(keyID: second.keyID, installation: installation)])
        }
    }

    @Test("an erased key has no successor, and locks no one out", arguments: RegistryKind.installed)
    func erased(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores)
            let second = try enrolled(stores, after: first)
            #expect(try stores.administration.erase([first.keyID]) == [.done])
            #expect(try stores.place(of: first) == nil)
            let other = generator.record()
            #expect(try stores.enrol(other, after: first, generator.bytes16()) == .enrolled)
            // It cannot be retired, and that is not tried again.
            #expect(try !stores.retire(first, second))
            #expect(try stores.place(of: second)?.retiresPredecessor == false)
            #expect(try stores.registry.find(first.keyID)?.status == .erased)
            // The newest key of this installation is erased, and an older one was retired.
            let (older, newer) = (try enrolled(stores), generator.record())
            _ = try stores.enrol(newer, after: older, generator.bytes16())
            #expect(try stores.retire(older, newer))
            #expect(try stores.administration.erase([newer.keyID]) == [.done])
            let last = generator.record()
            #expect(try stores.enrol(last, after: older, generator.bytes16()) == .enrolled)
        }
    }

    @Test(
        "a key is retired once, with an entry in the audit log",
        arguments: RegistryKind.installed)
    func retired(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores)
            let second = try enrolled(stores, after: first)
            let changes = ChangeRecorder(stores.registry)
            // Who begins to listen forgets everything: that is over when this is heard.
            let earlier = try enrolled(stores)
            #expect(try stores.administration.revoke([earlier.keyID]) == [.done])
            #expect(changes.wait { !$0.isEmpty })
            #expect(try !stores.retire(second, first))
            #expect(try stores.registry.find(first.keyID)?.status == .active)
            #expect(try stores.retire(first, second))
            #expect(try !stores.retire(first, second))
            #expect(changes.waitForKey(first.keyID))
            let found = try #require(try stores.registry.find(first.keyID))
            #expect(found.status == .revoked && found.succession?.isRetired == true)
            #expect(try stores.place(of: second)?.retiresPredecessor == false)
            let entries = try stores.administration.audit(AuditFilter())
            #expect(
                entries.map(\.note) == [
                    AuditNote(
                        .revokeKey, first.keyID.base64, outcome: "done",
                        detail: "succeeded by \(second.keyID.base64)")
                ])
            #expect(entries.first?.author.way == .gateway)
            #expect(entries.first?.author.requestID == "request-1")
        }
    }

    @Test(
        "a key that an operator has revoked before is not retired",
        arguments: RegistryKind.installed)
    func revokedBefore(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores)
            let second = try enrolled(stores, after: first)
            #expect(try stores.administration.revoke([first.keyID]) == [.done])
            #expect(try !stores.retire(first, second))
            #expect(try stores.place(of: first)?.isRetired == false)
            #expect(try stores.place(of: second)?.retiresPredecessor == false)
            #expect(try stores.administration.audit(AuditFilter()).isEmpty)
        }
    }

    @Test(
        "an enrolment may be repeated, and a spent challenge gives no place",
        arguments: RegistryKind.installed)
    func repeated(kind: RegistryKind) throws {
        try with(kind) { stores in
            let spent = generator.bytes16()
            let first = generator.record()
            #expect(try stores.enrol(first, after: nil, spent) == .enrolled)
            let second = generator.record()
            #expect(try stores.enrol(second, after: first, spent) == .challengeSpent)
            #expect(try stores.place(of: first) == nil)
            let installation = InstallationID(firstKey: first.keyID)
            let challenge = generator.bytes16()
            #expect(try stores.enrol(second, after: first, challenge) == .succeeded(installation))
            for claimed in [first, nil] {
                #expect(
                    try stores.enrol(second, after: claimed, challenge)
                        == .alreadySucceeded(installation))
            }
            let place = try stores.place(of: second)
            #expect(place?.retiresPredecessor == true && place?.generation == 1)
        }
    }

    @Test(
        "the users of a key go over to its successor, and count once",
        arguments: RegistryKind.installed)
    func users(kind: RegistryKind) throws {
        try with(kind) { stores in
            let first = try enrolled(stores)
            let user = UserPseudonym(value: generator.bytes16())
            let noted = Reply<Result<UserKeys?, StoreError>>()
            stores.registry.note(
                KeySighting(keyID: first.keyID, user: user, milliseconds: 5, countedSince: 0)
            ) { noted.give($0) }
            #expect(noted.wait() != nil)
            let second = try enrolled(stores, after: first)
            let reply = Reply<Result<UserKeys?, StoreError>>()
            stores.registry.findUser(of: second.keyID, countedSince: 0) { reply.give($0) }
            let keys = try #require(try reply.wait()?.get())
            #expect(keys.user == user && keys.firstSeen == 5)
            #expect(keys.keyCount == 1 && !keys.hasEarlierKey)
            #expect(try stores.administration.users(of: first.keyID).isEmpty)
        }
    }
}
