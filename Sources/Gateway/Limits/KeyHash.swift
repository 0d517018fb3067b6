/// Hashes that every gateway computes alike: a key keeps its server across workers, restarts and
/// machines. They are no secret.
enum KeyHash {
    /// The FNV-1a hash of `bytes`, mixed.
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return mixed(hash)
    }

    /// The finalizer of splitmix64: each bit of the input changes half of the output's.
    static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// The hash as a fraction above 0 and below 1.
    static func fraction(_ hash: UInt64) -> Double {
        (Double(hash >> 12) + 0.5) / Double(1 << 52)
    }

    /// The natural logarithm, by the series of artanh, because the standard library has none
    /// without C. It is more precise than 1e-9, far finer than a choice of servers needs.
    static func naturalLogarithm(_ value: Double) -> Double {
        let ratio = (value.significand - 1) / (value.significand + 1)
        let square = ratio * ratio
        var power = ratio
        var sum = 0.0
        for divisor in stride(from: 1.0, through: 19.0, by: 2.0) {
            sum += power / divisor
            power *= square
        }
        return 2 * sum + Double(value.exponent) * 0.693_147_180_559_945_3
    }
}
