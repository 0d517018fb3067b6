import Foundation

/// SHA-256 (FIPS 180-4), with the interface of Apple's CryptoKit.
public struct SHA256 {
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
        0x5be0_cd19,
    ]
    private var buffer: [UInt8] = []
    private var byteCount: UInt64 = 0

    public init() {}

    public static func hash(data: Data) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: data)
        return hash.finalize()
    }

    public mutating func update(data: Data) {
        byteCount += UInt64(data.count)
        buffer.append(contentsOf: data)
        var start = 0
        while buffer.count - start >= 64 {
            absorb(buffer[start..<start + 64])
            start += 64
        }
        buffer.removeFirst(start)
    }

    public func finalize() -> [UInt8] {
        var copy = self
        var tail: [UInt8] = [0x80]
        while (copy.buffer.count + tail.count) % 64 != 56 { tail.append(0) }
        let bitCount = byteCount * 8
        tail += (0..<8).map { UInt8(truncatingIfNeeded: bitCount >> (56 - 8 * UInt64($0))) }
        copy.update(data: Data(tail))
        return copy.state.flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) }
        }
    }

    private mutating func absorb(_ block: ArraySlice<UInt8>) {
        var words = [UInt32](repeating: 0, count: 64)
        for (index, byte) in block.enumerated() {
            words[index / 4] |= UInt32(byte) << UInt32(24 - 8 * (index % 4))
        }
        for index in 16..<64 {
            let a = words[index - 15]
            let b = words[index - 2]
            let s0 = Self.rotate(a, 7) ^ Self.rotate(a, 18) ^ (a >> 3)
            let s1 = Self.rotate(b, 17) ^ Self.rotate(b, 19) ^ (b >> 10)
            words[index] = words[index - 16] &+ s0 &+ words[index - 7] &+ s1
        }
        var s = state
        for index in 0..<64 {
            let sum1 = Self.rotate(s[4], 6) ^ Self.rotate(s[4], 11) ^ Self.rotate(s[4], 25)
            let choice = (s[4] & s[5]) ^ (~s[4] & s[6])
            let one = s[7] &+ sum1 &+ choice &+ Self.constants[index] &+ words[index]
            let sum0 = Self.rotate(s[0], 2) ^ Self.rotate(s[0], 13) ^ Self.rotate(s[0], 22)
            let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2])
            s = [one &+ sum0 &+ majority, s[0], s[1], s[2], s[3] &+ one, s[4], s[5], s[6]]
        }
        for index in 0..<8 { state[index] = state[index] &+ s[index] }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1,
        0x923f_82a4, 0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
        0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786,
        0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147,
        0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
        0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
        0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a,
        0x5b9c_ca4f, 0x682e_6ff3, 0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
        0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
