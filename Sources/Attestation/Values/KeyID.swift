public import Bytes
public import Crypto

/// The identifier of a key: SHA-256 of its uncompressed public point, as App Attest defines it.
///
/// Apps send it as base64, in either alphabet; compare the bytes.
public struct KeyID: Hashable, Sendable {
    public let digest: Bytes32

    public init(digest: Bytes32) { self.digest = digest }

    /// The id of `publicKey`.
    public init(of publicKey: P256PublicKey) { digest = SHA256.hash(publicKey.x963) }

    /// Decodes a key id. Nil unless `text` is the base64 of exactly 32 bytes.
    public init?(base64 text: Span<UInt8>) {
        guard let digest = Base64.decode32(text) else { return nil }
        self.init(digest: digest)
    }

    public init?(base64 text: String) { self.init(base64: Array(text.utf8).span) }

    /// Standard base64 with padding, as iOS writes it.
    public var base64: String { Base64.encode(digest.array) }

    /// Appends ``base64`` as ASCII bytes.
    public func appendBase64(to output: inout ByteBuffer) { Base64.append(digest, to: &output) }
}
