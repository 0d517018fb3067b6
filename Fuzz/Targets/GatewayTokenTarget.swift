import Attestation
import Bytes
import GatewayTokens
import KeyStore

extension FuzzTarget {
    /// Challenges, session tokens and developer tokens of our own: a changed one is none any more,
    /// or is the same one in another spelling of base64. The first byte says which kind the others
    /// are.
    static let gatewayToken = FuzzTarget("gateway-token", seeds: sealedTokens) { input in
        guard let first = input.first else { return }
        let text = Array(input.dropFirst())
        switch first % 3 {
        case 0:
            guard let opened = challenges?.open(text.span) else { return }
            try FuzzFinding.requireEqual(opened, challenge, "a forged challenge")
        case 1:
            guard let opened = try? sessions?.open(text.span) else { return }
            try FuzzFinding.requireEqual(opened, session, "a forged session token")
        default:
            _ = developers?.claims(text.span)
            let opened = try? developers?.open(
                text.span, for: route, at: moment, lifeMax: 86_400)
            guard let opened else { return }
            try FuzzFinding.requireEqual(opened, developer, "a forged developer token")
        }
    }

    private static let keys = [[UInt8](repeating: 0x5A, count: 32)]
    private static let challenges = ChallengeSealer(keys: keys)
    private static let sessions = SessionTokenSealer(keys: keys)
    private static let developers = DeveloperTokenSealer(keys: keys)
    private static let route = "api"
    private static let moment: Int64 = 1_770_000_000
    private static let keyID = KeyID(digest: Bytes32(word0: 1, word1: 2, word2: 3, word3: 4))

    private static let challenge = Challenge(
        purpose: .assertion, expiresAt: moment * 1000, incarnation: Incarnation(7),
        id: Bytes16(word0: 5, word1: 6), keyID: keyID)
    private static let session = SessionToken(
        keyID: keyID, appID: "ABCDE12345.com.example.app", environment: .production,
        issuedAt: moment, expiresAt: moment + 900, audience: [route])
    private static let developer = DeveloperToken(
        name: "ci", id: "0123456789abcdef", issuedAt: moment, expiresAt: moment + 3600,
        audience: [route], worth: .token)

    private static func sealedTokens() -> [[UInt8]] {
        [
            challenges.map { [0] + $0.token(of: challenge) },
            sessions.map { [1] + $0.token(of: session) },
            developers.map { [2] + $0.token(of: developer) },
        ].compactMap(\.self)
    }
}
