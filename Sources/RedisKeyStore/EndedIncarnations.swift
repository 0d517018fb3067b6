import KeyStore

/// The last incarnations that a look has found not to be the store's. Their challenges are refused
/// at once, so each incarnation costs only one look.
struct EndedIncarnations {
    private static let countMax = 64
    private var last: [Incarnation] = []

    func contains(_ incarnation: Incarnation) -> Bool { last.contains(incarnation) }

    mutating func note(_ incarnation: Incarnation) {
        guard !last.contains(incarnation) else { return }
        if last.count == Self.countMax { last.removeFirst() }
        last.append(incarnation)
    }

    /// The store has begun an incarnation that may be among them because it was asked about too
    /// early.
    mutating func remove(_ incarnation: Incarnation) { last.removeAll { $0 == incarnation } }
}
