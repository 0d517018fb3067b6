public import Attestation
import Bytes

/// The number of the last event that concerned a key, kept for groups of keys: this takes a few
/// bytes in place of a number for each key, but a key may also count as concerned by an event of
/// its group.
public struct KeyGroupNumbers: Sendable {
    private static let groupCount = 256
    private var numbers = [UInt64](repeating: 0, count: groupCount)

    public init() {}

    /// The highest number that a key of the group of `keyID` was raised to.
    public subscript(keyID: KeyID) -> UInt64 { numbers[Self.group(keyID)] }

    public mutating func raise(_ keyID: KeyID, to number: UInt64) {
        numbers[Self.group(keyID)] = max(numbers[Self.group(keyID)], number)
    }

    public mutating func raiseAll(to number: UInt64) {
        for group in numbers.indices { numbers[group] = max(numbers[group], number) }
    }

    private static func group(_ keyID: KeyID) -> Int {
        Int(truncatingIfNeeded: keyID.digest.word1) & (groupCount - 1)
    }
}
