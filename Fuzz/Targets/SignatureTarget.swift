import Bytes
import Crypto

extension FuzzTarget {
    /// A signature's DER has one spelling and one meaning. Where Intel's library can be used, it
    /// and OpenSSL agree on numbers near the bounds of their ranges, in every lane.
    static let signature = FuzzTarget("signature", byteCountMax: 256) { bytes in
        let read = P256Signature(strictDER: bytes.span)
        if let read {
            try FuzzFinding.requireEqual(try read.der(), bytes, "a second spelling was read")
            try FuzzFinding.requireEqual(
                P256Signature(der: bytes), read, "OpenSSL reads other numbers")
        } else if let other = P256Signature(der: bytes) {
            try FuzzFinding.require(try other.der() != bytes, "the one spelling was not read")
        }
        guard let library = SignatureNumbers.library else { return }
        var checks: [P256Check] = []
        var numbers = SignatureNumbers(bytes)
        for _ in 0..<P256BatchVerifier.laneCount {
            let der = try P256Signature(r: numbers.next(), s: numbers.next()).der()
            checks.append(
                P256Check(
                    bytes: der, signature: 0..<der.count, digest: numbers.next(),
                    key: P256PublicKey(x: numbers.next(), y: numbers.next())))
        }
        var batch = try P256BatchVerifier(library: library, auditPercent: 0)
        var single = try P256Verifier()
        let verdicts = batch.verify(checks)
        for (lane, check) in checks.enumerated() {
            let expected = single.isValid(
                signature: check.bytes.span, digest: check.digest, key: check.key)
            try FuzzFinding.requireEqual(
                verdicts[lane], expected, "lane \(lane): the library differs from OpenSSL")
        }
    }
}

/// Numbers that an input chooses: 0, n, p, parts of a valid signature and key, or one of these with
/// its last byte changed.
private struct SignatureNumbers {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    static let library = try? MultiBufferLibrary(at: nil)

    mutating func next() -> Bytes32 {
        guard !bytes.isEmpty else { return .zero }
        let choice = bytes[offset % bytes.count]
        let delta = bytes[(offset + 1) % bytes.count]
        offset += 2
        let base = Self.bases[Int(choice & 0x7F) % Self.bases.count]
        guard choice & 0x80 != 0 else { return base }
        return Bytes32(
            word0: base.word0, word1: base.word1, word2: base.word2,
            word3: base.word3 ^ UInt64(delta))
    }

    /// 0, n, p, and r, s, digest, x and y of RFC 6979 appendix A.2.5.
    private static let bases: [Bytes32] = [
        .zero,
        number("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"),
        number("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"),
        number("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"),
        number("f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"),
        SHA256.hash(Array("sample".utf8)),
        number("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"),
        number("7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"),
    ]

    private static func number(_ hex: String) -> Bytes32 {
        Hex.decode(hex).flatMap { Bytes32($0) } ?? .zero
    }
}
