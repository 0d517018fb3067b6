import KeyStore

/// The last incarnations that a look has found not to be the store's. Challenges of theirs are
/// refused at once: each incarnation costs one look.
struct EndedIncarnations {
    private static let countMax = 64
    private var last: [Incarnation] = []

    func contains(_ incarnation: Incarnation) -> Bool { last.contains(incarnation) }

    mutating func note(_ incarnation: Incarnation) {
        guard !last.contains(incarnation) else { return }
        if last.count == Self.countMax { last.removeFirst() }
        last.append(incarnation)
    }

    /// The store has begun one that may be among them: it was asked about too early.
    mutating func remove(_ incarnation: Incarnation) { last.removeAll { $0 == incarnation } }
}
