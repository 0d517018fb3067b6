import Attestation
import Bytes
import Crypto
import GatewayTokens
import KeyStore
import Testing

@Suite("Authentic session tokens")
struct AuthenticTokensTests {}

extension AuthenticTokensTests {
    private static let key = [UInt8](repeating: 1, count: 32)
    private static let otherKey = [UInt8](repeating: 2, count: 32)

    private static func session(_ number: Int) -> SessionToken {
        SessionToken(
            keyID: KeyID(digest: SHA256.hash(Array(String(number).utf8))),
            appID: "ABCDE12345.com.example.app", environment: .production, issuedAt: 1000,
            expiresAt: 1300, audience: ["a"])
    }

    private func sealer(_ keys: [[UInt8]] = [key]) throws -> SessionTokenSealer {
        try #require(SessionTokenSealer(keys: keys))
    }

    @Test("are authenticated once, and again after all was forgotten")
    func remembered() throws {
        var tokens = AuthenticTokens()
        let token = try sealer().token(of: Self.session(1))
        let first = try tokens.open(token.span, by: sealer())
        #expect(first.token == Self.session(1))
        // Who does not know the key cannot have authenticated it.
        let second = try tokens.open(token.span, by: sealer([Self.otherKey]))
        #expect(second.token == Self.session(1))
        tokens.removeAll()
        #expect(throws: SessionTokenFailure.notOurs) {
            _ = try tokens.open(token.span, by: sealer([Self.otherKey]))
        }
    }

    @Test("are known by all their bytes")
    func changed() throws {
        var tokens = AuthenticTokens()
        let sealer = try sealer()
        let token = sealer.token(of: Self.session(1))
        _ = try tokens.open(token.span, by: sealer)
        for index in token.indices {
            var changed = token
            changed[index] ^= 1
            #expect(throws: SessionTokenFailure.self, "byte \(index)") {
                _ = try tokens.open(changed.span, by: sealer)
            }
        }
        for byteCount in token.indices {
            #expect(throws: SessionTokenFailure.self) {
                _ = try tokens.open(token.span.extracting(0..<byteCount), by: sealer)
            }
        }
        let long = token + [UInt8](repeating: 0x41, count: SessionTokenSealer.tokenByteCountMax)
        #expect(throws: SessionTokenFailure.malformed) {
            _ = try tokens.open(long.span, by: sealer)
        }
    }

    @Test("push nobody out while there is room")
    func room() throws {
        let sealer = try sealer()
        let all = (0..<24).map { sealer.token(of: Self.session($0)) }
        let known = all[0]
        for token in all.dropFirst() {
            var tokens = AuthenticTokens(countMax: 2)
            let first = try tokens.open(known.span, by: sealer)
            _ = try tokens.open(token.span, by: sealer)
            let again = try tokens.open(known.span, by: sealer)
            #expect(again === first)
        }
    }

    @Test("do not get in each other's way, however many there are")
    func many() throws {
        var tokens = AuthenticTokens(countMax: 16)
        let sealer = try sealer()
        let all = (0..<24).map { sealer.token(of: Self.session($0)) }
        for round in 0..<2 {
            for (number, token) in all.enumerated() {
                let opened = try tokens.open(token.span, by: sealer)
                #expect(opened.token == Self.session(number), "round \(round)")
            }
        }
        let other = try self.sealer([Self.otherKey])
        let isKept = all.map { (try? tokens.open($0.span, by: other)) != nil }
        #expect(isKept.contains(false))
        #expect(isKept.suffix(2) == [true, true])
    }
}
