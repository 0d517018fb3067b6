import Bytes

/// The test that the library must pass before it is used: it must tell valid signatures from
/// invalid ones, at any place in a batch.
enum MultiBufferSelfTest {
    /// True if `library` tells good from bad in each lane, among seven of the other kind.
    static func passes(_ library: MultiBufferLibrary) -> Bool {
        valid.allSatisfy { good in
            invalid.allSatisfy { bad in
                finds(library, good, isValid: true, among: bad)
                    && finds(library, bad, isValid: false, among: good)
            }
        }
    }

    private static func finds(
        _ library: MultiBufferLibrary, _ odd: P256SignedDigest, isValid: Bool,
        among others: P256SignedDigest
    ) -> Bool {
        var lanes = MultiBufferLanes(filledWith: others)
        for position in 0..<MultiBufferLanes.count {
            lanes.set(position, odd)
            let verdicts = library.verify(lanes)
            lanes.set(position, others)
            for lane in 0..<MultiBufferLanes.count {
                let expected = (lane == position) == isValid
                guard verdicts[lane] == (expected ? .valid : .invalid) else { return false }
            }
        }
        return true
    }

    /// The content of lanes that are not used yet.
    static let filler = P256SignedDigest(signature: ofSample, digest: sample, key: key)

    static let valid = [
        filler,
        P256SignedDigest(signature: ofTest, digest: test, key: key),
        // (r, n - s), which ECDSA accepts.
        P256SignedDigest(
            signature: P256Signature(r: ofTest.r, s: mirrored), digest: test, key: key),
    ]

    /// Numbers in range, and keys on the curve: only the arithmetic shows that these are bad.
    static let invalid = [
        P256SignedDigest(signature: ofSample, digest: test, key: key),
        P256SignedDigest(signature: ofSample, digest: sample, key: otherKey),
        P256SignedDigest(
            signature: P256Signature(r: ofSample.r, s: ofTest.s), digest: sample, key: key),
        P256SignedDigest(
            signature: P256Signature(r: ofTest.r, s: ofSample.s), digest: sample, key: key),
    ]

    // MARK: RFC 6979 appendix A.2.5, with SHA-256

    private static let sample = SHA256.hash(Array("sample".utf8))
    private static let test = SHA256.hash(Array("test".utf8))
    private static let key = P256PublicKey(
        x: Bytes32(
            word0: 0x60FE_D4BA_255A_9D31, word1: 0xC961_EB74_C635_6D68,
            word2: 0xC049_B892_3B61_FA6C, word3: 0xE669_622E_60F2_9FB6),
        y: Bytes32(
            word0: 0x7903_FE10_08B8_BC99, word1: 0xA41A_E9E9_5628_BC64,
            word2: 0xF2F1_B20C_2D7E_9F51, word3: 0x77A3_C294_D446_2299))
    private static let ofSample = P256Signature(
        r: Bytes32(
            word0: 0xEFD4_8B2A_ACB6_A8FD, word1: 0x1140_DD9C_D45E_81D6,
            word2: 0x9D2C_877B_56AA_F991, word3: 0xC34D_0EA8_4EAF_3716),
        s: Bytes32(
            word0: 0xF7CB_1C94_2D65_7C41, word1: 0xD436_C7A1_B6E2_9F65,
            word2: 0xF3E9_00DB_B9AF_F406, word3: 0x4DC4_AB2F_843A_CDA8))
    private static let ofTest = P256Signature(
        r: Bytes32(
            word0: 0xF1AB_B023_5183_51CD, word1: 0x71D8_8156_7B1E_A663,
            word2: 0xED3E_FCF6_C513_2B35, word3: 0x4F28_D3B0_B7D3_8367),
        s: Bytes32(
            word0: 0x019F_4113_742A_2B14, word1: 0xBD25_926B_49C6_4915,
            word2: 0x5F26_7E60_D381_4B4C, word3: 0x0CC8_4250_E46F_0083))
    private static let mirrored = Bytes32(
        word0: 0xFE60_BEEB_8BD5_D4EC, word1: 0x42DA_6D94_B639_B6EA,
        word2: 0x5DC0_7C4C_D396_5338, word3: 0xE6F1_8872_17F4_24CE)

    /// The base point of the curve (SEC 2 section 2.4.2).
    private static let otherKey = P256PublicKey(
        x: Bytes32(
            word0: 0x6B17_D1F2_E12C_4247, word1: 0xF8BC_E6E5_63A4_40F2,
            word2: 0x7703_7D81_2DEB_33A0, word3: 0xF4A1_3945_D898_C296),
        y: Bytes32(
            word0: 0x4FE3_42E2_FE1A_7F9B, word1: 0x8EE7_EB4A_7C0F_9E16,
            word2: 0x2BCE_3357_6B31_5ECE, word3: 0xCBB6_4068_37BF_51F5))
}
