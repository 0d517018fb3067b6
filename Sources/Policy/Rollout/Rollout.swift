public import Bytes

/// Which share of keys or clients a gradual `enforce` reaches.
///
/// The cohort of a key never changes, so that raising the share only adds keys.
public enum Rollout {
    /// 0..<100, from a key id.
    public static func cohort(of keyID: Bytes32) -> Int {
        var mixed = mix(keyID.word0)
        mixed = mix(mixed ^ keyID.word1)
        mixed = mix(mixed ^ keyID.word2)
        return Int(mix(mixed ^ keyID.word3) % 100)
    }

    /// 0..<100, from the bytes of a client's address, for requests that name no key.
    public static func cohort(ofAddress address: Span<UInt8>) -> Int {
        var mixed = mix(UInt64(address.count))
        for index in address.indices { mixed = mix(mixed ^ UInt64(address[index])) }
        return Int(mixed % 100)
    }

    /// 0..<100, from a name that a client gives itself.
    public static func cohort(ofName name: Span<UInt8>) -> Int { cohort(ofAddress: name) }

    /// Whether the policy refuses for this cohort what it finds wrong.
    public static func includes(cohort: Int, percent: Int) -> Bool { cohort < percent }

    /// The finaliser of SplitMix64: every bit of the input moves half of the output's.
    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }
}
