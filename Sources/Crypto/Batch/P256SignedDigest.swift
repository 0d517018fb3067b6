import Bytes

/// A signature with its key and digest, decoded into numbers.
struct P256SignedDigest {
    let signature: P256Signature
    let digest: Bytes32
    let key: P256PublicKey

    /// The order of the group, n (SEC 2 section 2.4.2).
    static let order = Bytes32(
        word0: 0xFFFF_FFFF_0000_0000, word1: 0xFFFF_FFFF_FFFF_FFFF,
        word2: 0xBCE6_FAAD_A717_9E84, word3: 0xF3B9_CAC2_FC63_2551)

    /// True if r and s lie between 1 and n - 1, and the digest below n: the library accepts no
    /// other digest, though ECDSA does.
    var isInRange: Bool {
        let (r, s) = (signature.r, signature.s)
        return r != .zero && r < Self.order && s != .zero && s < Self.order && digest < Self.order
    }
}
