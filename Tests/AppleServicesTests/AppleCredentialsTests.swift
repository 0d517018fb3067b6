import AppleServices
import Bytes
import Crypto
import JSON
import Testing

@Suite("Keys that sign in at Apple")
struct AppleCredentialsTests {
    private static let minute: UInt64 = 60 * 1_000_000_000
    private let keys: [P256PrivateKey]

    init() throws { keys = try (0..<3).map { _ in try P256PrivateKey.generate() } }
}

extension AppleCredentialsTests {
    private func credentials() -> AppleCredentials {
        AppleCredentials([
            AppleKey(teamID: "TEAMA", keyID: "A1", key: keys[0]),
            AppleKey(teamID: "TEAMB", keyID: "B1", key: keys[1]),
            AppleKey(teamID: "TEAMA", keyID: "A2", key: keys[2]),
        ])
    }

    private func ids(
        _ credentials: inout AppleCredentials, _ team: String, minutes: UInt64 = 0
    ) throws -> [String] {
        try credentials.candidates(team: team, now: minutes * Self.minute, seconds: 1000)
            .map(\.keyID)
    }

    @Test("are those of the team, in the order of the configuration")
    func order() throws {
        var credentials = credentials()
        #expect(try ids(&credentials, "TEAMA") == ["A1", "A2"])
        #expect(try ids(&credentials, "TEAMB") == ["B1"])
        #expect(try ids(&credentials, "TEAMC") == [])
        #expect(credentials.has(team: "TEAMB") && !credentials.has(team: "TEAMC"))
    }

    @Test("sign a token with the team and the time, which the public key verifies")
    func token() throws {
        var credentials = credentials()
        let made = try credentials.candidates(team: "TEAMB", now: 0, seconds: 1_800_000_000)
        let token = Array(try #require(made.first).token.utf8)
        let parts = try token.split(separator: 0x2E).map { part in
            try #require(Base64.decode(String(decoding: part, as: UTF8.self)))
        }
        try #require(parts.count == 3)
        #expect(parts[0] == Array(#"{"alg":"ES256","kid":"B1"}"#.utf8))
        #expect(parts[1] == Array(#"{"iss":"TEAMB","iat":1800000000}"#.utf8))
        let raw = parts[2]
        let signature = P256Signature(raw: raw.span)
        let der = try #require(signature).der()
        let signed = Array(token.prefix(upTo: try #require(token.lastIndex(of: 0x2E))))
        var verifier = try P256Verifier()
        let isValid = verifier.isValid(
            signature: der.span, message: signed.span, key: keys[1].publicKey)
        #expect(isValid)
    }

    @Test("keep a token for ten minutes, and not where the clock was set back")
    func caching() throws {
        var credentials = credentials()
        func token(_ seconds: Int64) throws -> String {
            try #require(
                try credentials.candidates(team: "TEAMB", now: 0, seconds: seconds).first?.token)
        }
        let first = try token(10_000)
        #expect(try token(10_000) == first)
        #expect(try token(10_599) == first)
        let second = try token(10_600)
        #expect(second != first)
        #expect(try token(10_601) == second)
        let third = try token(9000)
        #expect(third != second)
        #expect(try token(9001) == third)
    }

    @Test("are passed over for ten minutes once Apple refused them, and then come first again")
    func refusal() throws {
        var credentials = credentials()
        let first = try #require(
            try credentials.candidates(team: "TEAMA", now: 0, seconds: 1000).first)
        let isNews = credentials.refuse(first, now: 0)
        #expect(isNews)
        #expect(try ids(&credentials, "TEAMA") == ["A2", "A1"])
        #expect(try ids(&credentials, "TEAMB") == ["B1"])
        #expect(try ids(&credentials, "TEAMA", minutes: 9) == ["A2", "A1"])
        #expect(try ids(&credentials, "TEAMA", minutes: 10) == ["A1", "A2"])
        let again = try #require(
            try credentials.candidates(team: "TEAMA", now: 0, seconds: 1000).first {
                $0.keyID == "A1"
            })
        #expect(again.token != first.token, "a refused token is not used again")
    }

    @Test("that are all refused are tried all the same, and told of every ten minutes")
    func allRefused() throws {
        var credentials = credentials()
        let all = try credentials.candidates(team: "TEAMA", now: 0, seconds: 1000)
        let news = all.map { credentials.refuse($0, now: 0) }
        #expect(news == [true, true])
        #expect(try ids(&credentials, "TEAMA", minutes: 1) == ["A1", "A2"])
        let known = all.map { credentials.refuse($0, now: 5 * Self.minute) }
        #expect(known == [false, false])
        let newsAgain = all.map { credentials.refuse($0, now: 10 * Self.minute) }
        #expect(newsAgain == [true, true])
        credentials.accept(all[1])
        #expect(try ids(&credentials, "TEAMA", minutes: 11) == ["A2", "A1"])
    }
}
