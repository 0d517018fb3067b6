import Bytes
public import Crypto
import JSON

/// Signs JWTs with one key by ES256 (RFC 7519; RFC 7515 section 3.1; RFC 7518 section 3.4): the
/// form that Apple's services ask for, and that any JWT library verifies.
///
/// A signature takes some 30 us, so keep a token for as long as it is good.
public struct ES256Signer: Sendable {
    /// The header's `kid`.
    public let keyID: String
    public let key: P256PrivateKey
    /// The encoded header and the period behind it.
    private let prefix: [UInt8]

    /// `type`: the header's `typ`; nil for none.
    public init(key: P256PrivateKey, keyID: String, type: String? = nil) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("alg", constant: "ES256")
        writer.member("kid", string: keyID)
        if let type { writer.member("typ", string: type) }
        writer.endObject()
        let header = writer.finish()
        self.key = key
        self.keyID = keyID
        prefix = Base64.encodeURLBytes(header.readable.array) + [UInt8(ascii: ".")]
    }

    /// Returns the token as ASCII bytes. `claims`: one JSON object.
    public func token(claims: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        let signed = prefix + Base64.encodeURLBytes(claims.array)
        let signature = try key.signature(of: signed)
        return signed + [UInt8(ascii: ".")] + Base64.encodeURLBytes(signature.raw)
    }
}
