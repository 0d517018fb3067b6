import Attestation
import Bytes
import Crypto
import GatewayTokens
import KeyStore
import Testing

extension ChallengeSealer {
    fileprivate func open(_ token: [UInt8]) -> Challenge? { open(token.span) }
    fileprivate func open(raw: [UInt8]) -> Challenge? { open(raw: raw.span) }
}

/// What a token's characters stand for.
private func bytes(of token: [UInt8]) -> [UInt8]? { Base64.decode(token.span) }

@Suite("Sealed challenges")
struct ChallengeSealerTests {}

extension ChallengeSealerTests {
    private static let keyID = KeyID(digest: SHA256.hash(Array("key".utf8)))
    private static let oldKey = [UInt8](repeating: 1, count: 32)
    private static let newKey = [UInt8](repeating: 2, count: 32)

    static let challenges = [ChallengePurpose.attestation, .assertion].flatMap { purpose in
        [nil, keyID].flatMap { keyID in
            [Int64.min, -1, 0, 1_790_000_000_000, .max].map { expiresAt in
                Challenge(
                    purpose: purpose, expiresAt: expiresAt,
                    incarnation: Incarnation(0xFEDC_BA98_7654_3210),
                    id: Bytes16(word0: 0x0102_0304_0506_0708, word1: .max), keyID: keyID)
            }
        }
    }

    private func sealer(_ keys: [[UInt8]] = [oldKey]) throws -> ChallengeSealer {
        try #require(ChallengeSealer(keys: keys))
    }

    @Test("open to what was sealed, from base64 of either alphabet", arguments: challenges)
    func roundTrip(challenge: Challenge) throws {
        let sealer = try sealer()
        let token = sealer.token(of: challenge)
        #expect(sealer.open(token) == challenge)
        #expect(token.count <= ChallengeSealer.tokenByteCountMax)
        #expect(token.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C })
        let raw = try #require(bytes(of: token))
        #expect(sealer.open(raw: raw) == challenge)
        #expect(sealer.open(Array(Base64.encode(raw).utf8).span) == challenge)
    }

    @Test("with any bit changed open to nothing", arguments: [challenges[3], challenges[8]])
    func flipped(challenge: Challenge) throws {
        let sealer = try sealer()
        let raw = try #require(bytes(of: sealer.token(of: challenge)))
        for index in raw.indices {
            for bit in 0..<8 {
                var changed = raw
                changed[index] ^= 1 << UInt8(bit)
                #expect(sealer.open(raw: changed) == nil, "byte \(index), bit \(bit)")
            }
        }
    }

    @Test("cut or grown to any length open to nothing", arguments: [challenges[3], challenges[8]])
    func lengths(challenge: Challenge) throws {
        let sealer = try sealer()
        let raw = try #require(bytes(of: sealer.token(of: challenge)))
        for byteCount in 0..<raw.count {
            #expect(sealer.open(raw: Array(raw[..<byteCount])) == nil)
            let text = Base64.encodeURLBytes(Array(raw[..<byteCount]))
            #expect(sealer.open(text) == nil)
        }
        for extra in 1...64 {
            #expect(sealer.open(raw: raw + [UInt8](repeating: 0, count: extra)) == nil)
        }
        let token = sealer.token(of: challenge)
        for byteCount in 0..<token.count {
            #expect(sealer.open(Array(token[..<byteCount])) == nil)
        }
        let long = [UInt8](repeating: UInt8(ascii: "A"), count: 100_000)
        #expect(sealer.open(long) == nil)
    }

    @Test("a key sealed in cannot be taken out, nor one put in")
    func keyCannotBeMoved() throws {
        let sealer = try sealer()
        let bound = try #require(bytes(of: sealer.token(of: Self.challenges[8])))
        let unbound = try #require(bytes(of: sealer.token(of: Self.challenges[3])))
        #expect(bound.count == unbound.count + 32)
        #expect(sealer.open(raw: Array(bound[..<38]) + Array(bound[70...])) == nil)
        let digest = Self.keyID.digest.array
        #expect(sealer.open(raw: Array(unbound[..<38]) + digest + Array(unbound[38...])) == nil)
    }

    @Test("the first key seals; the others open what they have sealed until they are dropped")
    func rotation() throws {
        let before = try sealer([Self.oldKey])
        let during = try sealer([Self.newKey, Self.oldKey])
        let after = try sealer([Self.newKey])
        let challenge = Self.challenges[3]
        let old = before.token(of: challenge)
        let new = during.token(of: challenge)
        #expect(old != new)
        #expect(during.open(old) == challenge)
        #expect(during.open(new) == challenge)
        #expect(after.open(new) == challenge)
        #expect(after.open(old) == nil)
        #expect(before.open(new) == nil)
    }

    @Test("one of an older version has the form of a challenge, and opens to nothing")
    func olderVersion() throws {
        let key = Self.oldKey
        for challenge in [Self.challenges[3], Self.challenges[8]] {
            var raw = try #require(bytes(of: try sealer().token(of: challenge)))
            raw[0] = 1
            // Sealed as it was then: with the same key.
            let seal = HMACSHA256.authenticate(
                Array("sallyport challenge".utf8), key: HMACKey(key))
            let tag = HMACSHA256.authenticate(
                Array(raw.dropLast(16)), key: HMACKey(seal.array))
            raw.replaceSubrange((raw.count - 16)..., with: tag.array.prefix(16))
            let token = Base64.encodeURLBytes(raw)
            let hasForm = ChallengeSealer.hasTokenForm(token.span)
            #expect(hasForm)
            #expect(try sealer().open(raw: raw) == nil)
        }
    }

    @Test("a token that names another key generation is not its own")
    func otherGeneration() throws {
        let raw = try #require(
            bytes(of: try sealer([Self.oldKey]).token(of: Self.challenges[3])))
        let other = try #require(
            bytes(of: try sealer([Self.newKey]).token(of: Self.challenges[3])))
        var renamed = raw
        renamed.replaceSubrange(1..<5, with: other[1..<5])
        #expect(try sealer([Self.newKey, Self.oldKey]).open(raw: renamed) == nil)
    }

    @Test("keys must have 32 bytes, and one must be there")
    func keys() {
        #expect(ChallengeSealer(keys: []) == nil)
        for byteCount in [0, 16, 31, 33, 64] {
            let key = [UInt8](repeating: 1, count: byteCount)
            #expect(ChallengeSealer(keys: [key]) == nil)
            #expect(ChallengeSealer(keys: [Self.oldKey, key]) == nil)
        }
    }

    @Test(
        "what is no token at all opens to nothing",
        arguments: [
            "", "=", "A", "AAAA", "not base64!", "\u{0}\u{ff}", "eyJhbGciOiJub25lIn0.e30.",
        ])
    func garbage(text: String) throws {
        #expect(try sealer().open(Array(text.utf8)) == nil)
    }
}
