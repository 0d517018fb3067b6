public import Attestation
import Bytes
public import Crypto

/// The caller's knowledge about an object that is to be explained; see ``Explanation`` for what
/// each kind needs.
public struct Expectations: Sendable {
    /// The moment at which certificates are judged, in seconds since 1970. A receipt's chain is
    /// judged at the receipt's own creation.
    public var seconds: Int64
    /// The challenge (attestation) or client data (assertion), which is hashed here.
    public var clientData: [UInt8]?
    /// The hash that the app passed as client data hash, if that is known instead of the client
    /// data.
    public var clientDataHash: [UInt8]?
    /// The key id that the client names.
    public var keyID: KeyID?
    /// The key that an assertion is verified with, or that a receipt should be for.
    public var publicKey: P256PublicKey?
    /// The app that should have made the object.
    public var appID: String?
    /// The only environment to accept; nil accepts either.
    public var environment: AttestEnvironment?
    /// The roots to trust instead of Apple's; empty trusts Apple's root of the kind at hand.
    public var roots: [Certificate] = []
    /// The seconds by which the clock may be off when the dates of certificates are judged.
    public var clockSkewSeconds: Int64 = 0

    /// Makes expectations without any knowledge but the moment.
    public init(at seconds: Int64) { self.seconds = seconds }

    /// The bytes that follow the authenticator data in the nonce.
    var nonceSuffix: [UInt8]? { clientDataHash ?? clientData.map { SHA256.hash($0).array } }
}

/// Reads the files that a developer has at hand, whichever way they were saved.
public enum ExplainInput {
    /// An object: base64 text, in either alphabet and broken into lines or not, or the bytes
    /// themselves, which are never text (CBOR maps and CMS begin with bytes that base64 lacks).
    public static func object(_ file: [UInt8]) -> [UInt8] {
        base64(file) ?? file
    }

    /// A client data hash: base64 of 21, 24 or 32 bytes, else the bytes themselves.
    ///
    /// 32 bytes are a SHA-256; the other two are the lengths of the challenges that Apple's
    /// published samples pass unhashed. Text that happens to be base64 of another length is taken
    /// as it is, so that `example_server_challenge` stays a challenge.
    public static func clientDataHash(_ file: [UInt8]) -> [UInt8] {
        guard let decoded = base64(file), [21, 24, 32].contains(decoded.count) else {
            return file
        }
        return decoded
    }

    private static func base64(_ file: [UInt8]) -> [UInt8]? {
        let text = file.filter { !isSpace($0) }
        return Base64.decode(text.span)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (byte >= 0x09 && byte <= 0x0D)
    }
}
