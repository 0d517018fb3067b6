/// Values of the open streams of one connection, by stream id.
///
/// A request looks its stream up some fifteen times, at a fifth of the time of `Dictionary`. Ids of
/// one side follow each other, so that each usually has a place of its own, and free ones around
/// it. A peer may choose ids that share one; a look-up then goes through the open streams, whose
/// number is bounded.
public struct StreamTable<Stream> {
    /// The ids; zero for a free place. At least half of the places are free.
    private var ids: [Int32] = []
    private var values: [Stream?] = []
    public private(set) var count = 0

    public init() {}

    public var isEmpty: Bool { count == 0 }

    /// All values in the table, in no order.
    public var streams: [Stream] { values.compactMap(\.self) }

    /// - Parameter id: positive, as the ids of streams are.
    public subscript(id: Int32) -> Stream? {
        get { place(of: id).flatMap { values[$0] } }
        set {
            guard let newValue else {
                remove(id)
                return
            }
            if let place = place(of: id) {
                values[place] = newValue
            } else {
                insert(newValue, id)
            }
        }
    }

    /// Removes a stream, and returns its value.
    @discardableResult
    public mutating func remove(_ id: Int32) -> Stream? {
        guard var free = place(of: id) else { return nil }
        let removed = values[free]
        // An entry behind it that did not find its own place free moves up.
        var next = follower(of: free)
        while ids[next] != 0 {
            let isBehind = (next &- home(ids[next])) & mask >= (next &- free) & mask
            if isBehind {
                ids[free] = ids[next]
                values[free] = values[next]
                free = next
            }
            next = follower(of: next)
        }
        ids[free] = 0
        values[free] = nil
        count -= 1
        return removed
    }

    /// Adds a stream that is not in the table.
    public mutating func add(_ stream: Stream, _ id: Int32) {
        assert(place(of: id) == nil)
        insert(stream, id)
    }

    /// Calls `use` with every value, in no order.
    public func forEach(_ use: (Stream) -> Void) {
        for case let stream? in values { use(stream) }
    }

    public mutating func removeAll() { self = StreamTable() }

    // MARK: places

    private var mask: Int { ids.count &- 1 }

    /// The place of an id. The ids of one side are two apart; their places are nearly half of the
    /// table apart, so that a removal has no neighbours to move up.
    private func home(_ id: Int32) -> Int { Int(id &>> 1) &* (mask &>> 1) & mask }

    private func follower(of place: Int) -> Int { (place &+ 1) & mask }

    private func place(of id: Int32) -> Int? {
        guard count > 0, id > 0 else { return nil }
        var place = home(id)
        while ids[place] != id {
            if ids[place] == 0 { return nil }
            place = follower(of: place)
        }
        return place
    }

    private mutating func insert(_ stream: Stream, _ id: Int32) {
        precondition(id > 0)
        if (count + 1) * 2 > ids.count { grow() }
        var place = home(id)
        while ids[place] != 0 { place = follower(of: place) }
        ids[place] = id
        values[place] = stream
        count += 1
    }

    private mutating func grow() {
        let known = zip(ids, values).filter { $0.0 != 0 }
        let placeCount = max(Self.placeCountMin, ids.count * 2)
        ids = Array(repeating: 0, count: placeCount)
        values = Array(repeating: nil, count: placeCount)
        count = 0
        for case (let id, let stream?) in known { insert(stream, id) }
    }

    private static var placeCountMin: Int { 8 }
}
