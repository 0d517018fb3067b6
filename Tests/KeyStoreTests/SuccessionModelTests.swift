import Attestation
import Bytes
import GatewayTesting
import KeyStore
import Testing

/// Random enrolments, retirements, revocations and erasures in a registry, beside a model in memory
/// that follows ``SuccessionClaim/verdict(predecessor:newest:)``.
@Suite("Successions as their model has them", .timeLimit(.minutes(30)))
final class SuccessionModelTests {
    private var generator = SeededGenerator(seed: 97)
    private var model: [KeyID: KeyRecord] = [:]
    private var keys: [KeyID] = []

    /// The ticket that a key got.
    private func claim(of keyID: KeyID) -> SuccessionClaim {
        SuccessionClaim(
            predecessor: keyID,
            installation: tickets[keyID] ?? InstallationID(firstKey: keyID))
    }

    /// The installations of the keys, which tickets keep, also those of erased keys.
    private var tickets: [KeyID: InstallationID] = [:]
}

extension SuccessionModelTests {
    @Test("each outcome and each record is the model's", arguments: RegistryKind.installed)
    func follows(kind: RegistryKind) throws {
        let stores = try SuccessionFixture(kind)
        defer { stores.registry.close() }
        for _ in 0..<400 {
            let chosen = keys.randomElement(using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5: try enrol(after: chosen, stores)
            case 5..<8:
                guard let chosen, let former = model[chosen]?.succession?.predecessor else {
                    continue
                }
                let order = KeyRetirement(predecessor: former, successor: chosen)
                #expect(try stores.registry.retire(order) == model.retire(order))
            case 8:
                guard let chosen, model[chosen]?.status == .active else { continue }
                _ = try stores.administration.revoke([chosen])
                model[chosen]?.status = .revoked
            default:
                guard let chosen else { continue }
                _ = try stores.administration.erase([chosen])
                model[chosen]?.status = .erased
                model[chosen]?.succession = nil
            }
        }
        for keyID in keys {
            let found = try #require(try stores.registry.find(keyID))
            #expect(found.status == model[keyID]?.status)
            #expect(found.succession == model[keyID]?.succession)
        }
        // Otherwise the run has shown nothing.
        #expect(model.values.contains { ($0.succession?.generation ?? 0) > 2 })
        #expect(model.values.contains { $0.succession?.isRetired == true })
    }

    private func enrol(after chosen: KeyID?, _ stores: SuccessionFixture) throws {
        let record = generator.record()
        let claim = chosen.map(claim(of:))
        let outcome = try stores.registry.enrol(
            record, challenge: generator.bytes16(), succeeding: claim)
        #expect(outcome == model.enrol(record, succeeding: claim))
        guard model[record.keyID] != nil else { return }
        keys.append(record.keyID)
        tickets[record.keyID] = model[record.keyID]?.installation
    }
}
