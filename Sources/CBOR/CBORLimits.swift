/// The bounds of the CBOR that a reader accepts.
public struct CBORLimits: Hashable, Sendable {
    /// The longest encoding, in bytes.
    public let byteCountMax: Int
    /// The deepest nesting of arrays and maps; a lone integer has depth 0, a flat map depth 1.
    public let depthMax: Int

    /// The most entries of one map. Real App Attest maps have at most five; duplicates are found by
    /// comparing keys pairwise, so this also bounds the work.
    public static let mapEntryCountMax = 32

    public init(byteCountMax: Int, depthMax: Int) {
        self.byteCountMax = byteCountMax
        self.depthMax = depthMax
    }
}
