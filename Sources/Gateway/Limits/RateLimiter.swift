import Bytes
import EventLoop
import Policy

/// The buckets of every rate limit, shared by the workers: connections of one address are spread
/// over all of them, and a bucket on each would multiply the limit by their number.
///
/// A table of fixed size in shards, each behind a lock that is held for a few loads and one store.
/// If a place is needed, the fullest bucket gives way: losing a refilled bucket changes nothing,
/// and a flood from many addresses does not evict the buckets of its own clients.
final class RateLimiter: Sendable {
    private let shards: [Locked<RateShard>]

    init(shardCount: Int = 64, setsPerShard: Int = 128) {
        precondition(shardCount.nonzeroBitCount == 1)
        shards = (0..<shardCount).map { _ in Locked(RateShard(setCount: setsPerShard)) }
    }

    /// Takes one token for `subject` and returns nil. If there is none, takes nothing and returns
    /// the nanoseconds until there is one. A trial takes nothing in any case. Any thread.
    func take(
        _ limit: RateLimit, _ subject: Bytes16, now: MonotonicInstant, isTrial: Bool = false
    ) -> UInt64? {
        // Keyed by the process, so that a client cannot aim at a shard or a set.
        var hasher = Hasher()
        hasher.combine(limit.identity)
        hasher.combine(subject.word0)
        hasher.combine(subject.word1)
        let hash = UInt(bitPattern: hasher.finalize())
        let key = RateShard.Key(limit: limit.identity, subject: subject)
        let (interval, depth) = (limit.interval, limit.depth)
        return shards[Int(hash & UInt(shards.count - 1))].withLock { shard in
            shard.take(
                key, hash: hash >> 16, interval: interval, depth: depth, now: now.nanoseconds,
                isTrial: isTrial)
        }
    }
}

/// One part of the table: sets of eight buckets, of which a key can be in one only.
struct RateShard {
    struct Key: Equatable {
        let limit: UInt64
        let subject: Bytes16
    }

    private struct Place {
        var key: Key
        /// The bucket; full in an empty place.
        var bucket = TokenBucket()
    }

    private static let wayCount = 8
    private let setCount: Int
    /// The places. None are allocated until the first token is taken, so that a gateway without
    /// limits has no table.
    private var places: [Place] = []

    init(setCount: Int) { self.setCount = setCount }

    mutating func take(
        _ key: Key, hash: UInt, interval: UInt64, depth: UInt64, now: UInt64, isTrial: Bool
    ) -> UInt64? {
        if places.isEmpty {
            let nobody = Key(limit: 0, subject: Bytes16(word0: 0, word1: 0))
            places = Array(repeating: Place(key: nobody), count: setCount * Self.wayCount)
        }
        let first = Int(hash % UInt(setCount)) * Self.wayCount
        var place = first
        var isFound = false
        for index in first..<first + Self.wayCount {
            if places[index].key == key {
                place = index
                isFound = true
                break
            }
            if places[index].bucket.fullAt < places[place].bucket.fullAt { place = index }
        }
        var bucket = isFound ? places[place].bucket : TokenBucket()
        if let wait = bucket.take(interval: interval, depth: depth, now: now) { return wait }
        if !isTrial { places[place] = Place(key: key, bucket: bucket) }
        return nil
    }
}
