public import Bytes

/// The share of keys or clients that a gradual `enforce` reaches.
///
/// The cohort of a key never changes, so that raising the share only adds keys.
public enum Rollout {
    /// The cohort of a key id, 0..<100.
    public static func cohort(of keyID: Bytes32) -> Int {
        var mixed = mix(keyID.word0)
        mixed = mix(mixed ^ keyID.word1)
        mixed = mix(mixed ^ keyID.word2)
        return Int(mix(mixed ^ keyID.word3) % 100)
    }

    /// The cohort of a client's address, 0..<100, for requests that name no key.
    public static func cohort(ofAddress address: Span<UInt8>) -> Int {
        var mixed = mix(UInt64(address.count))
        for index in address.indices { mixed = mix(mixed ^ UInt64(address[index])) }
        return Int(mixed % 100)
    }

    /// The cohort of a name that a client gives itself, 0..<100.
    public static func cohort(ofName name: Span<UInt8>) -> Int { cohort(ofAddress: name) }

    /// True if the policy refuses faulty requests of this cohort.
    public static func includes(cohort: Int, percent: Int) -> Bool { cohort < percent }

    /// The finaliser of SplitMix64: every bit of the input changes half of the output's bits.
    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }
}
