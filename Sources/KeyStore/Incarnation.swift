/// The name of one unbroken life of a counter store.
///
/// A store that may have lost counters comes back under another incarnation, and every challenge
/// sealed under an earlier one is refused: the client signs again, and nothing is accepted twice.
public struct Incarnation: Hashable, Sendable {
    public let value: UInt64

    public init(_ value: UInt64) { self.value = value }
}
