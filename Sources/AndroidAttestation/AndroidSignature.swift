public import Bytes
public import Crypto

/// The signature of a request by an Android key: ECDSA with SHA-256 over the client data's bytes,
/// in DER.
///
/// There is no authenticator data, no nonce and no counter: a challenge that is spent once is what
/// stops a replay.
public enum AndroidSignature {
    /// The longest signature: two numbers of 33 bytes, with a tag and a length each, in a sequence.
    public static let byteCountMax = 72

    /// The check of `signature` over the client data whose SHA-256 is `clientDataHash`, for
    /// `P256BatchVerifier`. Nil if there are no bytes, or too many.
    public static func check(
        _ signature: [UInt8], clientDataHash: Bytes32, key: P256PublicKey
    ) -> P256Check? {
        guard (1...byteCountMax).contains(signature.count) else { return nil }
        return P256Check(
            bytes: signature, signature: 0..<signature.count, digest: clientDataHash, key: key)
    }
}
