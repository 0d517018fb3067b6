import Attestation
import Bytes
import Crypto
import GatewayTokens
import Testing

@Suite("Developer tokens")
struct DeveloperTokenTests {}

extension DeveloperTokenTests {
    private static let keys = [
        [UInt8](repeating: 2, count: 32), [UInt8](repeating: 1, count: 32),
    ]

    private static let developer = DeveloperToken(
        name: "ci", id: DeveloperToken.makeID(), issuedAt: 1000, expiresAt: 1300,
        audience: ["a", "b"], worth: .token)

    private func failure(
        _ token: [UInt8], for audience: String = "a", at seconds: Int64 = 1100,
        lifeMax: Int64 = 300, keys: [[UInt8]] = keys
    ) throws -> SessionTokenFailure? {
        let sealer = try #require(DeveloperTokenSealer(keys: keys))
        do {
            _ = try sealer.open(token.span, for: audience, at: seconds, lifeMax: lifeMax)
            return nil
        } catch {
            return error
        }
    }

    @Test("come back as they were made, for each of their routes, or for any")
    func roundTrip() throws {
        let sealer = try #require(DeveloperTokenSealer(keys: Self.keys))
        var developer = Self.developer
        for worth in DeveloperToken.Worth.allCases {
            developer.worth = worth
            let token = sealer.token(of: developer)
            let isClaimed = sealer.claims(token.span)
            #expect(isClaimed)
            for audience in ["a", "b"] {
                var expected = developer
                expected.audience = [audience]
                let opened = try sealer.open(token.span, for: audience, at: 1000, lifeMax: 300)
                #expect(opened == expected)
            }
        }
        developer.audience = []
        let anywhere = sealer.token(of: developer)
        #expect(try failure(anywhere, for: "whatever") == nil)
        #expect(DeveloperToken.makeID().utf8.count == 16)
        #expect(DeveloperToken.makeID() != DeveloperToken.makeID())
    }

    @Test("have an end, a route and a longest life")
    func bounds() throws {
        let sealer = try #require(DeveloperTokenSealer(keys: Self.keys))
        let token = sealer.token(of: Self.developer)
        #expect(try failure(token, at: 1299) == nil)
        #expect(try failure(token, at: 1300) == .expired)
        #expect(try failure(token, at: 0) == .notYetValid)
        #expect(try failure(token, for: "c") == .audience)
        #expect(try failure(token, for: "*") == .audience)
        #expect(try failure(token, lifeMax: 299) == .lifetime)
    }

    @Test("are of a kind of their own: neither kind passes for the other")
    func kinds() throws {
        let developers = try #require(DeveloperTokenSealer(keys: Self.keys))
        let sessions = try #require(SessionTokenSealer(keys: Self.keys))
        let token = developers.token(of: Self.developer)
        let session = sessions.token(
            of: SessionToken(
                keyID: KeyID(digest: SHA256.hash([1])), appID: "x", environment: .production,
                issuedAt: 1000, expiresAt: 1300, audience: ["a"]))
        let isClaimed = developers.claims(session.span)
        #expect(!isClaimed)
        #expect(try failure(session) == .notOurs)
        #expect(opening(token, sessions) == .notOurs)
        // The claims of one under the header of the other.
        let parts = token.split(separator: UInt8(ascii: "."))
        let others = session.split(separator: UInt8(ascii: "."))
        let mixed = Array([others[0], parts[1], parts[2]].joined(separator: [UInt8(ascii: ".")]))
        #expect(opening(mixed, sessions) == .signature)
    }

    private func opening(
        _ token: [UInt8], _ sealer: SessionTokenSealer
    ) -> SessionTokenFailure? {
        do {
            _ = try sealer.open(token.span)
            return nil
        } catch {
            return error
        }
    }

    @Test("are of one of the keys, and not a bit else")
    func forged() throws {
        let old = try #require(DeveloperTokenSealer(keys: [Self.keys[1]]))
        let token = old.token(of: Self.developer)
        #expect(try failure(token) == nil)
        #expect(try failure(token, keys: [Self.keys[0]]) == .notOurs)
        for index in token.indices {
            var changed = token
            changed[index] =
                changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(try failure(changed) != nil, "\(index)")
        }
        #expect(try failure([]) == .malformed)
        #expect(try failure(token.dropLast()) != nil)
        var named = Self.developer
        named.name = "ci\r\nX-Attest-Result: verified"
        #expect(try failure(old.token(of: named)) == .malformed)
    }
}
