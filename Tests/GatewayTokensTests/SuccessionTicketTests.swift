import Attestation
import Bytes
import Crypto
import GatewayTokens
import KeyStore
import Testing

@Suite("Tickets of installations")
struct SuccessionTicketTests {
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let later = [UInt8](repeating: 8, count: 32)

    private let keyID = KeyID(digest: Bytes32(word0: 1, word1: 2, word2: 3, word3: 4))
    private let installation = InstallationID(value: Bytes16(word0: 5, word1: 6))
}

extension SuccessionTicketTests {
    private func sealer(_ keys: [UInt8]...) throws -> SuccessionTicketSealer {
        try #require(SuccessionTicketSealer(keys: keys))
    }

    private func holder(
        _ appID: String = "ABCDE12345.com.example.app", _ platform: PlatformName = .apple,
        _ environment: AttestEnvironment = .production
    ) -> TicketHolder {
        TicketHolder(
            of: KeyRecord(
                keyID: keyID, publicKey: P256PublicKey(x: .zero, y: .zero), appID: appID,
                environment: environment, enrolledAt: 0, platform: platform))
    }

    private func text(_ keys: [UInt8]...) throws -> [UInt8] {
        let ticket = SuccessionTicket(keyID: keyID, installation: installation)
        let sealer = try #require(SuccessionTicketSealer(keys: keys))
        return Array(sealer.text(of: ticket, for: holder()).utf8)
    }

    private func opened(
        _ text: [UInt8], by sealer: SuccessionTicketSealer, for other: TicketHolder? = nil
    ) -> SuccessionTicket? {
        sealer.open(text.span, for: other ?? holder())
    }

    @Test("open as they were sealed, also with a key that seals no more")
    func opens() throws {
        let text = try text(Self.key)
        #expect(text.count == SuccessionTicketSealer.tokenByteCount)
        for sealer in [try sealer(Self.key), try sealer(Self.later, Self.key)] {
            let ticket = opened(text, by: sealer)
            #expect(ticket == SuccessionTicket(keyID: keyID, installation: installation))
        }
        #expect(opened(text, by: try sealer(Self.later)) == nil)
    }

    @Test("are worth nothing with any byte changed, cut or added")
    func damaged() throws {
        let text = try text(Self.key)
        let sealer = try sealer(Self.key)
        let letter = UInt8(ascii: "A")
        for index in text.indices {
            var damaged = text
            damaged[index] = damaged[index] == letter ? letter + 1 : letter
            #expect(opened(damaged, by: sealer) == nil, "\(index)")
        }
        for other in [[], Array(text.dropLast()), text + [letter]] {
            #expect(opened(other, by: sealer) == nil)
        }
    }

    @Test("are of one app, one platform and one environment")
    func otherHolder() throws {
        let text = try text(Self.key)
        let sealer = try sealer(Self.key)
        for other in [
            holder("ABCDE12345.com.example.other"),
            holder("ABCDE12345.com.example.app", PlatformName("android")),
            holder("ABCDE12345.com.example.app", .apple, .development),
        ] { #expect(opened(text, by: sealer, for: other) == nil) }
    }

    @Test("are neither challenges nor tokens of another kind")
    func otherKinds() throws {
        let challenges = try #require(ChallengeSealer(keys: [Self.key]))
        let challenge = challenges.token(
            of: Challenge(
                purpose: .attestation, expiresAt: 1, incarnation: .init(1),
                id: Bytes16(word0: 1, word1: 2), keyID: keyID))
        #expect(opened(challenge, by: try sealer(Self.key)) == nil)
        let text = try text(Self.key)
        let challengeOfTicket = challenges.open(text.span)
        #expect(challengeOfTicket == nil)
        #expect(SuccessionTicketSealer(keys: []) == nil)
        #expect(SuccessionTicketSealer(keys: [[1]]) == nil)
    }
}
