public import Bytes

/// A point on P-256 as its two coordinates: 64 bytes held inline, not decoded.
///
/// The X9.63 form (SEC 1 section 2.3.3) is `04 || x || y`, 65 bytes. Only a ``P256Verifier`` checks
/// that the point lies on the curve.
public struct P256PublicKey: Hashable, Sendable {
    public let x: Bytes32
    public let y: Bytes32

    public static let x963ByteCount = 65

    public init(x: Bytes32, y: Bytes32) {
        self.x = x
        self.y = y
    }

    /// Parses a point. Nil unless `x963` is the 65 bytes of an uncompressed point.
    public init?(x963: Span<UInt8>) {
        guard x963.count == Self.x963ByteCount, x963[0] == 0x04,
            let x = Bytes32(x963.extracting(1..<33)), let y = Bytes32(x963.extracting(33..<65))
        else { return nil }
        self.init(x: x, y: y)
    }

    public var x963: [UInt8] { [0x04] + x.array + y.array }
}
