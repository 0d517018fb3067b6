import Bytes
public import Crypto

/// Signatures with random faults, the same for the same seed: numbers next to the bounds of their
/// ranges, flipped bits, and parts of other signatures.
public struct SignatureFaults {
    private var generator: SplitMix64

    public init(seed: UInt64) { generator = SplitMix64(state: seed) }

    /// Valid signatures of random messages, by `keyCount` keys in turn.
    public static func pool(_ count: Int, keyCount: Int) throws -> [P256Check] {
        let keys = try (0..<keyCount).map { _ in try P256PrivateKey.generate() }
        return try (0..<count).map { index in
            let message = RandomBytes.bytes(48)
            let key = keys[index % keyCount]
            let signature = try key.sign(message)
            return P256Check(
                bytes: signature, signature: 0..<signature.count, digest: SHA256.hash(message),
                key: key.publicKey)
        }
    }

    /// Returns one of `pool`, half of the time unchanged.
    public mutating func next(_ pool: [P256Check]) -> P256Check {
        let check = pool[Int.random(in: pool.indices, using: &generator)]
        let other = pool[Int.random(in: pool.indices, using: &generator)]
        guard let signature = P256Signature(der: Array(check.bytes[check.signature])),
            let foreign = P256Signature(der: Array(other.bytes[other.signature]))
        else { return check }
        switch Int.random(in: 0..<16, using: &generator) {
        case 0: return make(signature, check.digest, other.key)
        case 1: return make(signature, other.digest, check.key)
        case 2: return make(foreign, check.digest, check.key)
        case 3: return make(P256Signature(r: signature.r, s: edge()), check.digest, check.key)
        case 4: return make(P256Signature(r: edge(), s: signature.s), check.digest, check.key)
        case 5: return make(signature, edge(), check.key)
        case 6: return make(signature, check.digest, P256PublicKey(x: edge(), y: check.key.y))
        case 7: return make(P256Signature(r: edge(), s: edge()), edge(), check.key)
        case 8: return turned(check)
        default: return check
        }
    }

    private func make(
        _ signature: P256Signature, _ digest: Bytes32, _ key: P256PublicKey
    ) -> P256Check {
        let der = (try? signature.der()) ?? []
        return P256Check(bytes: der, signature: 0..<der.count, digest: digest, key: key)
    }

    private mutating func turned(_ check: P256Check) -> P256Check {
        var bytes = Array(check.bytes[check.signature])
        let bit = Int.random(in: 0..<bytes.count * 8, using: &generator)
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        return P256Check(
            bytes: bytes, signature: 0..<bytes.count, digest: check.digest, key: check.key)
    }

    /// Returns a number near 0, n, p or 2^256.
    private mutating func edge() -> Bytes32 {
        let bases: [Bytes32] = [.zero, Self.order, Self.prime]
        let base = bases[Int.random(in: 0..<3, using: &generator)]
        let delta = Int64.random(in: -4...4, using: &generator)
        // In two's complement, so that a number below zero becomes one next to 2^256.
        let rest: UInt64 = delta < 0 ? .max : 0
        var carry: UInt64 = 0
        func add(_ word: UInt64, _ addend: UInt64) -> UInt64 {
            let (sum, first) = word.addingReportingOverflow(addend)
            let (total, second) = sum.addingReportingOverflow(carry)
            carry = first || second ? 1 : 0
            return total
        }
        let word3 = add(base.word3, UInt64(bitPattern: delta))
        let word2 = add(base.word2, rest)
        let word1 = add(base.word1, rest)
        return Bytes32(
            word0: add(base.word0, rest), word1: word1, word2: word2, word3: word3)
    }

    private static let order = Bytes32(
        word0: 0xFFFF_FFFF_0000_0000, word1: 0xFFFF_FFFF_FFFF_FFFF,
        word2: 0xBCE6_FAAD_A717_9E84, word3: 0xF3B9_CAC2_FC63_2551)
    private static let prime = Bytes32(
        word0: 0xFFFF_FFFF_0000_0001, word1: 0, word2: 0x0000_0000_FFFF_FFFF,
        word3: 0xFFFF_FFFF_FFFF_FFFF)
}
