import Bytes
import Crypto

/// SHA-256(authenticator data || client data hash): what an attestation's certificate carries and
/// an assertion's signature covers.
enum Nonce {
    /// The nonce of a client data hash of any length: normally 32 bytes, the client data itself in
    /// apps that do not hash it.
    static func make(_ authenticatorData: Span<UInt8>, _ clientDataHash: [UInt8]) -> Bytes32 {
        var stream = SHA256Stream()
        stream.update(authenticatorData)
        stream.update(clientDataHash.span)
        return stream.finish()
    }
}
