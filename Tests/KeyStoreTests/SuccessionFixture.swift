import Attestation
import Bytes
import GatewayTesting
import KeyStore
import Testing

/// Registries in which keys take the place of others.
struct SuccessionFixture {
    let registry: any Registry
    let administration: any RegistryAdministration
    private let fixture: RegistryFixture

    init(_ kind: RegistryKind) throws {
        fixture = try RegistryFixture(kind)
        registry = try fixture.registry()
        administration = try fixture.administration()
    }

    /// Another gateway with the same registry.
    func another() throws -> any Registry { try fixture.registry() }

    func enrol(_ record: KeyRecord, after former: KeyRecord?, _ challenge: Bytes16) throws
        -> EnrolmentOutcome
    {
        try registry.enrol(record, challenge: challenge, succeeding: former?.claim)
    }

    func place(of record: KeyRecord) throws -> KeySuccession? {
        let found = try registry.find(record.keyID)?.succession
        #expect(try administration.find(record.keyID)?.succession == found)
        return found
    }

    func retire(_ predecessor: KeyRecord, _ successor: KeyRecord) throws -> Bool {
        try registry.retire(
            KeyRetirement(predecessor: predecessor.keyID, successor: successor.keyID))
    }
}

extension KeyRecord {
    /// The claim of the ticket that a first key gets.
    var claim: SuccessionClaim {
        SuccessionClaim(predecessor: keyID, installation: InstallationID(firstKey: keyID))
    }
}

extension Registry {
    func enrol(
        _ record: KeyRecord, challenge: Bytes16, succeeding claim: SuccessionClaim?
    ) throws -> EnrolmentOutcome {
        let reply = Reply<Result<EnrolmentOutcome, StoreError>>()
        enrol(record, challenge: challenge, succeeding: claim) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    func retire(_ retirement: KeyRetirement) throws -> Bool {
        let reply = Reply<Result<Bool, StoreError>>()
        retire(retirement, by: KeyRetirement.author(requestID: "request-1")) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }
}
