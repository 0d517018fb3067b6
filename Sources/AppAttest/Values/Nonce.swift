import Bytes
import Crypto

/// SHA-256(authenticator data || client data hash). An attestation's certificate carries it, and an
/// assertion's signature covers it.
enum Nonce {
    /// The nonce of a client data hash of any length: normally 32 bytes, or the client data itself
    /// in apps that do not hash it.
    static func make(_ authenticatorData: Span<UInt8>, _ clientDataHash: [UInt8]) -> Bytes32 {
        var stream = SHA256Stream()
        stream.update(authenticatorData)
        stream.update(clientDataHash.span)
        return stream.finish()
    }
}
