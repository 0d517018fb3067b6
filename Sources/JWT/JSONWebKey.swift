import Bytes
public import Crypto
public import JSON

/// The public half of a key that signs JWTs, in the form for verifiers (RFC 7517, RFC 7518 section
/// 6.2).
public struct JSONWebKey: Sendable {
    private let x: String
    private let y: String
    /// The key's thumbprint (RFC 7638), which is the same in every place where the key is
    /// published.
    public let keyID: String

    public init(_ key: P256PublicKey) {
        x = Base64.encodeURL(key.x.array)
        y = Base64.encodeURL(key.y.array)
        let canonical = #"{"crv":"P-256","kty":"EC","x":""# + x + #"","y":""# + y + #""}"#
        keyID = Base64.encodeURL(SHA256.hash(Array(canonical.utf8)).array)
    }

    /// Writes the key as one element of a set's `keys`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kty", constant: "EC")
        writer.member("crv", constant: "P-256")
        writer.member("x", string: x)
        writer.member("y", string: y)
        writer.member("kid", string: keyID)
        writer.member("alg", constant: "ES256")
        writer.member("use", constant: "sig")
        writer.endObject()
    }
}
