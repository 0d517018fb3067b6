import Bytes
import Crypto
import JSON

/// Makes and opens JWTs with HMAC-SHA256 (RFC 7519, RFC 7515 section 3.1, RFC 7518 section 3.2) of
/// one kind, for gateways that share keys.
///
/// The header is never interpreted: a token must begin with one of the headers that the keys write.
/// So no token can name its own algorithm (RFC 8725 section 3.1), and none of one kind passes for
/// another.
struct TokenMAC: Sendable {
    private struct Generation: Sendable {
        let key: HMACKey
        /// The encoded header and the period behind it.
        let prefix: [UInt8]
    }

    private let generations: [Generation]

    private static let signatureByteCount = 43

    /// `keys`: 32 bytes each; the first signs, and every one is recognised. The keys that sign are
    /// derived from them by `label`. Nil for none or another length.
    init?(keys: [[UInt8]], label: String) {
        guard !keys.isEmpty, keys.allSatisfy({ $0.count == 32 }) else { return nil }
        generations = keys.map { key in
            let master = HMACKey(key)
            let name = HMACSHA256.authenticate(Array("\(label) name".utf8), key: master)
            let seal = HMACSHA256.authenticate(Array(label.utf8), key: master)
            let header = #"{"alg":"HS256","kid":""# + Self.digits(name.word0) + #"","typ":"JWT"}"#
            return Generation(
                key: HMACKey(seal),
                prefix: Base64.encodeURLBytes(Array(header.utf8)) + [UInt8(ascii: ".")])
        }
    }

    private static func digits(_ word: UInt64) -> String {
        let text = String(word, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }

    /// The token with `claims`, as ASCII bytes.
    func token(of claims: Span<UInt8>) -> [UInt8] {
        let generation = generations[0]
        let signed = generation.prefix + Base64.encodeURLBytes(claims.array)
        let signature = HMACSHA256.authenticate(signed.span, key: generation.key)
        return signed + [UInt8(ascii: ".")] + Base64.encodeURLBytes(signature.array)
    }

    /// True if `token` says that it is of this kind.
    func claims(_ token: Span<UInt8>) -> Bool {
        generations.contains { Self.begins(token, with: $0.prefix) }
    }

    /// The claims of `token` if it is authentic. Claims that cannot be read were signed by another
    /// version of the gateway.
    func open(
        _ token: Span<UInt8>, byteCountMax: Int
    ) throws(SessionTokenFailure) -> JSONObjectReader {
        let signedByteCount = token.count - Self.signatureByteCount - 1
        guard token.count <= byteCountMax, signedByteCount > 0,
            token[signedByteCount] == UInt8(ascii: ".")
        else { throw .malformed }
        let signed = token.extracting(0..<signedByteCount)
        guard let generation = generations.first(where: { Self.begins(signed, with: $0.prefix) })
        else { throw .notOurs }
        let encoded = token.extracting((signedByteCount + 1)..<token.count)
        guard let raw = Base64.decode(encoded), let signature = Bytes32(raw) else {
            throw .malformed
        }
        guard HMACSHA256.isValid(signature, for: signed, key: generation.key) else {
            throw .signature
        }
        let claims = signed.extracting(generation.prefix.count..<signedByteCount)
        guard let json = Base64.decode(claims) else { throw .malformed }
        do {
            return try JSONObjectReader(parsing: json.span, byteCountMax: byteCountMax, depthMax: 4)
        } catch {
            throw .malformed
        }
    }

    private static func begins(_ text: Span<UInt8>, with prefix: [UInt8]) -> Bool {
        text.count > prefix.count
            && ASCII.equals(text.extracting(first: prefix.count), prefix)
    }
}
