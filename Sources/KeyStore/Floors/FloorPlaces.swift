import EventLoop

/// The places of keys in the files of a ``FloorTable``: a key has the same place in each.
final class FloorPlaces: Sendable {
    private struct Contents: Sendable {
        var free: [Int32] = []
        /// The number of places so far. The first is the heading's.
        var count = 1
    }

    private let contents = Locked(Contents())
    private let countMax: Int

    init(countMax: Int) { self.countMax = countMax }

    /// Takes a free place; -1 if all are taken.
    func take() -> Int32 {
        contents.withLock { contents in
            if let place = contents.free.popLast() { return place }
            guard contents.count < countMax else { return -1 }
            contents.count += 1
            return Int32(contents.count - 1)
        }
    }

    /// Gives back places whose keys no file names any more.
    func giveBack(_ places: [Int32]) { contents.withLock { $0.free += places } }

    /// All places up to the last one that was ever taken.
    var count: Int { contents.withLock { $0.count } }

    /// True if no key can get a place.
    var isFull: Bool { contents.withLock { $0.free.isEmpty && $0.count >= countMax } }
}
