import EventLoop

/// The memory of one subject.
protocol Remembered: Sendable {
    /// The worth of the memory. The one that is worth least gives way to a new one. `now` is in
    /// nanoseconds of the monotonic clock.
    func worth(at now: UInt64) -> UInt64
}

/// One value for each of many subjects (addresses, keys), shared by the workers, in a table of
/// fixed size: sets of eight places, of which a subject can be in one only, in shards behind locks
/// that are held briefly.
final class SubjectTable<Subject: Hashable & Sendable, Value: Remembered>: Sendable {
    private struct Place {
        var subject: Subject
        var value: Value
    }

    private static var wayCount: Int { 8 }
    private static var shardCount: Int { 16 }

    private let setCount: Int
    private let shards: [Locked<[Place?]>]

    /// The bytes that each subject takes.
    static var placeByteCount: Int { MemoryLayout<Place?>.stride }

    init(subjectCountMax: Int) {
        setCount = max(1, subjectCountMax / (Self.wayCount * Self.shardCount))
        // Empty until a value is remembered, so that a gateway without signals has no tables.
        shards = (0..<Self.shardCount).map { _ in Locked([]) }
    }

    func find(_ subject: Subject) -> Value? {
        let hash = hash(subject)
        return shard(hash).withLock { places in
            guard !places.isEmpty else { return nil }
            return places[set(hash)].first { $0?.subject == subject }??.value
        }
    }

    /// Changes the value of `subject`, which begins with `fresh`.
    func update<Result: Sendable>(
        _ subject: Subject, now: UInt64, fresh: @autoclosure () -> Value,
        _ body: (inout Value) -> Result
    ) -> Result {
        let hash = hash(subject)
        return shard(hash).withLock { places in
            if places.isEmpty {
                places = Array(repeating: nil, count: setCount * Self.wayCount)
            }
            let index = place(for: subject, in: places, set(hash), now)
            var place = places[index]
            if place?.subject != subject { place = Place(subject: subject, value: fresh()) }
            var value = place?.value ?? fresh()
            let result = body(&value)
            places[index] = Place(subject: subject, value: value)
            return result
        }
    }

    func forget(_ subject: Subject) {
        let hash = hash(subject)
        shard(hash).withLock { places in
            guard !places.isEmpty else { return }
            for index in set(hash) where places[index]?.subject == subject { places[index] = nil }
        }
    }

    func forgetAll() {
        for shard in shards { shard.withLock { $0 = [] } }
    }

    /// The place of `subject`, or else a free place, or else the place that is worth least.
    private func place(
        for subject: Subject, in places: [Place?], _ set: Range<Int>, _ now: UInt64
    ) -> Int {
        var least = set.lowerBound
        var leastWorth = UInt64.max
        for index in set {
            guard let place = places[index] else {
                if leastWorth > 0 { (least, leastWorth) = (index, 0) }
                continue
            }
            if place.subject == subject { return index }
            let worth = place.value.worth(at: now) &+ 1
            if worth < leastWorth { (least, leastWorth) = (index, worth) }
        }
        return least
    }

    /// Keyed by the process, so that a client cannot aim at a set.
    private func hash(_ subject: Subject) -> UInt { UInt(bitPattern: subject.hashValue) }

    private func shard(_ hash: UInt) -> Locked<[Place?]> {
        shards[Int(hash % UInt(Self.shardCount))]
    }

    private func set(_ hash: UInt) -> Range<Int> {
        let first = Int((hash >> 16) % UInt(setCount)) * Self.wayCount
        return first..<first + Self.wayCount
    }
}
