import Attestation
public import Bytes
import Crypto
import KeyStore

/// Makes challenges that need no storage, and recognises them again.
///
/// A token is base64url without padding of
///
///     version(1) | key generation(4) | purpose(1) | expires at, ms(8) | incarnation(8)
///     | random(16) | key id(32, optional) | HMAC-SHA256 of all that, first 16 bytes
///
/// A MAC is used instead of encryption, because nothing in a challenge is secret, and random GCM
/// nonces would limit a key to 2^32 challenges, a few days at full load.
public struct ChallengeSealer: Sendable {
    private struct Generation: Sendable {
        let id: UInt32
        let key: HMACKey
    }

    private let generations: [Generation]

    static let version: UInt8 = 2
    /// Challenges of this version hold the time of issue in place of the end; their lifetime is not
    /// known.
    private static let supersededVersion: UInt8 = 1
    static let bodyByteCount = 1 + 4 + 1 + 8 + 8 + 16
    static let tagByteCount = 16
    /// The number of characters of the longest token.
    public static let tokenByteCountMax = (bodyByteCount + 32 + tagByteCount) * 4 / 3 + 2

    /// `keys`: 32 bytes each; the first seals, and every one opens. Nil for none or another length.
    public init?(keys: [[UInt8]]) {
        guard !keys.isEmpty, keys.allSatisfy({ $0.count == 32 }) else { return nil }
        generations = keys.map { key in
            let master = HMACKey(key)
            let name = HMACSHA256.authenticate(Array("sallyport generation".utf8), key: master)
            let seal = HMACSHA256.authenticate(Array("sallyport challenge".utf8), key: master)
            return Generation(
                id: UInt32(truncatingIfNeeded: name.word0), key: HMACKey(seal))
        }
    }

    /// The token of `challenge` as ASCII bytes, which the app hashes.
    public func token(of challenge: Challenge) -> [UInt8] {
        var token = ByteBuffer(capacity: Self.tokenByteCountMax)
        seal(challenge, into: &token)
        return token.readable.array
    }

    /// Appends the token of `challenge` to `output`.
    public func seal(_ challenge: Challenge, into output: inout ByteBuffer) {
        let generation = generations[0]
        Base64.appendURL(to: &output) { output in
            output.append(Self.version)
            output.append(bigEndian: UInt64(generation.id), byteCount: 4)
            output.append(challenge.purpose.rawValue)
            output.append(bigEndian: UInt64(bitPattern: challenge.expiresAt))
            output.append(bigEndian: challenge.incarnation.value)
            output.append(bigEndian: challenge.id.word0)
            output.append(bigEndian: challenge.id.word1)
            if let digest = challenge.keyID?.digest {
                output.append(bigEndian: digest.word0)
                output.append(bigEndian: digest.word1)
                output.append(bigEndian: digest.word2)
                output.append(bigEndian: digest.word3)
            }
            let tag = HMACSHA256.authenticate(output.span, key: generation.key)
            output.append(bigEndian: tag.word0)
            output.append(bigEndian: tag.word1)
        }
    }

    /// True if `token` has the form of the gateway's tokens, sealed with any key, also of an older
    /// version.
    public static func hasTokenForm(_ token: Span<UInt8>) -> Bool {
        guard token.count <= tokenByteCountMax else { return false }
        return Base64.withDecoded(token) { hasTokenForm(raw: $0) } ?? false
    }

    private static func hasTokenForm(raw: Span<UInt8>) -> Bool {
        let keyByteCount = raw.count - bodyByteCount - tagByteCount
        return (keyByteCount == 0 || keyByteCount == 32)
            && (raw[0] == version || raw[0] == supersededVersion)
            && ChallengePurpose(rawValue: raw[5]) != nil
    }

    /// Opens the challenge in `token`; nil if none of the keys sealed it.
    public func open(_ token: Span<UInt8>) -> Challenge? {
        guard token.count <= Self.tokenByteCountMax else { return nil }
        return Base64.withDecoded(token) { open(raw: $0) }
    }

    /// Opens a token that was already decoded from base64, as ``open(_:)`` does.
    public func open(raw: Span<UInt8>) -> Challenge? {
        guard Self.hasTokenForm(raw: raw), raw[0] == Self.version else { return nil }
        let keyByteCount = raw.count - Self.bodyByteCount - Self.tagByteCount
        let bytes = raw
        let generationID = UInt32(truncatingIfNeeded: bytes.bigEndianWord(at: 0) >> 24)
        let sealed = bytes.extracting(0..<raw.count - Self.tagByteCount)
        guard let generation = generations.first(where: { $0.id == generationID }),
            let purpose = ChallengePurpose(rawValue: raw[5])
        else { return nil }
        let tag = HMACSHA256.authenticate(sealed, key: generation.key)
        // Xor instead of ==, so that the time of the comparison does not tell how many bytes were
        // right.
        let difference =
            (tag.word0 ^ bytes.bigEndianWord(at: sealed.count))
            | (tag.word1 ^ bytes.bigEndianWord(at: sealed.count + 8))
        guard difference == 0 else { return nil }
        return Challenge(
            purpose: purpose,
            expiresAt: Int64(bitPattern: bytes.bigEndianWord(at: 6)),
            incarnation: Incarnation(bytes.bigEndianWord(at: 14)),
            id: Bytes16(word0: bytes.bigEndianWord(at: 22), word1: bytes.bigEndianWord(at: 30)),
            keyID: keyByteCount == 0
                ? nil : Bytes32(bytes.extracting(38..<70)).map(KeyID.init(digest:)))
    }
}
