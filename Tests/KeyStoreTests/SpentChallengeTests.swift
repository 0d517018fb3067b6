import Bytes
import GatewayTesting
import KeyStore
import Testing

@Suite("Spent challenges of enrolments, in both registries")
final class SpentChallengeTests {
    private var generator = SeededGenerator(seed: 83)
}

extension SpentChallengeTests {
    private func isSpent(_ challenge: Bytes16, in registry: any Registry) throws -> Bool {
        try registry.enrol(generator.record(), challenge: challenge) == .challengeSpent
    }

    @Test(
        "are forgotten once they are too old to be sent again", arguments: RegistryKind.installed)
    func forgotten(kind: RegistryKind) throws {
        let fixture = try RegistryFixture(kind)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        defer { registry.close() }
        let (young, old) = (generator.bytes16(), generator.bytes16())
        let (record, earlier) = (generator.record(), generator.record())
        #expect(try registry.enrol(record, challenge: young) == .enrolled)
        #expect(try registry.enrol(earlier, challenge: old) == .enrolled)
        let challenge = Hex.encode(old.array)
        try fixture.execute(
            sqlite: """
                UPDATE challenges SET spent_at = spent_at - 7 * 86400
                WHERE challenge = x'\(challenge)'
                """,
            postgres: """
                UPDATE sallyport.challenges SET spent_at = spent_at - interval '7 days'
                WHERE challenge = '\\x\(challenge)'
                """)
        registry.forget(RegistryExpiry(usersBefore: nil))
        try repeatWhile(isSpent(old, in: registry)) {}
        #expect(try isSpent(young, in: registry))
        // The keys are known as before.
        #expect(try registry.enrol(earlier, challenge: young) == .alreadyEnrolled)
        #expect(try registry.enrol(record, challenge: young) == .alreadyEnrolled)
    }
}
