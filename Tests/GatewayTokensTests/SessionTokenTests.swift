import Attestation
import Bytes
import Crypto
import GatewayTokens
import JSON
import KeyStore
import Testing

@Suite("Session tokens")
struct SessionTokenTests {}

extension SessionTokenTests {
    private static let oldKey = [UInt8](repeating: 1, count: 32)
    private static let newKey = [UInt8](repeating: 2, count: 32)

    private static var session: SessionToken {
        var session = SessionToken(
            keyID: KeyID(digest: SHA256.hash([1])), appID: "ABCDE12345.com.example.app",
            environment: .production, issuedAt: 1000, expiresAt: 1300, audience: ["a", "b"])
        session.bundleVersion = "7"
        session.validationCategory = 4
        session.binding = SHA256.hash([2])
        return session
    }

    private func sealer(_ keys: [[UInt8]] = [newKey, oldKey]) throws -> SessionTokenSealer {
        try #require(SessionTokenSealer(keys: keys))
    }

    private func failure(
        _ token: [UInt8], for audience: String = "a", at seconds: Int64 = 1100,
        keys: [[UInt8]] = [newKey, oldKey]
    ) throws -> SessionTokenFailure? {
        let sealer = try sealer(keys)
        do {
            try sealer.open(token.span).check(for: audience, at: seconds)
            return nil
        } catch {
            return error
        }
    }

    @Test("come back as they were issued, for each of their routes")
    func roundTrip() throws {
        let sealer = try sealer()
        let token = sealer.token(of: Self.session)
        let opened = try sealer.open(token.span)
        #expect(opened == Self.session)
        for audience in ["a", "b"] { try opened.check(for: audience, at: 1000) }
        var plain = Self.session
        plain.bundleVersion = nil
        plain.validationCategory = nil
        plain.binding = nil
        plain.audience = ["b"]
        let openedPlain = try sealer.open(sealer.token(of: plain).span)
        #expect(openedPlain == plain)
        try openedPlain.check(for: "b", at: 1299)
    }

    @Test("are JWTs that any library reads")
    func isJWT() throws {
        let token = try sealer().token(of: Self.session)
        let parts = token.split(separator: UInt8(ascii: "."))
        try #require(parts.count == 3)
        let json = try parts.prefix(2).map { part in
            let decoded = Base64.decode(String(decoding: part, as: UTF8.self))
            let text = try #require(decoded)
            return try JSONValue.parse(text.span, byteCountMax: 4096)
        }
        #expect(json[0]["alg"] == .string("HS256"))
        #expect(json[0]["typ"] == .string("JWT"))
        #expect(json[1]["iss"] == .string("sallyport"))
        #expect(json[1]["aud"] == .array([.string("a"), .string("b")]))
        #expect(json[1]["exp"] == .integer(1300))
        let key = Base64.encodeURL(Self.session.keyID.digest.array)
        #expect(json[1]["cnf"]?["kid"] == .string(key))
    }

    @Test("end, begin and are meant for routes")
    func limits() throws {
        let token = try sealer().token(of: Self.session)
        #expect(try failure(token, at: 1299) == nil)
        #expect(try failure(token, at: 1300) == .expired)
        #expect(try failure(token, at: 995) == nil)
        #expect(try failure(token, at: 994) == .notYetValid)
        #expect(try failure(token, for: "c") == .audience)
        #expect(try failure(token, for: "") == .audience)
    }

    @Test("of a key that was rotated away are refused, those of the last one are not")
    func rotation() throws {
        let old = try sealer([Self.oldKey]).token(of: Self.session)
        #expect(try failure(old) == nil)
        #expect(try failure(old, keys: [Self.newKey]) == .notOurs)
        #expect(SessionTokenSealer(keys: []) == nil)
        #expect(SessionTokenSealer(keys: [[1, 2, 3]]) == nil)
    }

    @Test("that were changed in any place are refused")
    func everyByte() throws {
        let token = try sealer().token(of: Self.session)
        for index in token.indices.dropLast() {
            var changed = token
            changed[index] = changed[index] == 0x41 ? 0x42 : 0x41
            #expect(try failure(changed) != nil, "at \(index)")
        }
        for count in [0, 1, 43, 44, token.count - 1] {
            #expect(try failure(Array(token.prefix(count))) != nil)
        }
        #expect(try failure(token + token) != nil)
    }

    @Test("cannot choose their own algorithm")
    func algorithm() throws {
        let token = try sealer().token(of: Self.session)
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for header in [#"{"alg":"none"}"#, #"{"alg":"HS256","typ":"JWT"}"#, "{}"] {
            let forged =
                Base64.encodeURLBytes(Array(header.utf8)) + [0x2E] + parts[1] + [0x2E] + parts[2]
            #expect(try failure(forged) == .notOurs)
            #expect(
                try failure(Base64.encodeURLBytes(Array(header.utf8)) + [0x2E] + parts[1] + [0x2E])
                    != nil)
        }
    }

    @Test("are no challenges, and challenges no tokens, though the keys are the same")
    func separation() throws {
        let sealer = try #require(ChallengeSealer(keys: [Self.newKey]))
        let challenge = Challenge(
            purpose: .assertion, expiresAt: 1_000_000, incarnation: Incarnation(1),
            id: Bytes16(word0: 1, word1: 2), keyID: nil)
        let token = try self.sealer().token(of: Self.session)
        #expect(sealer.open(token.span) == nil)
        #expect(try failure(sealer.token(of: challenge)) != nil)
    }
}
