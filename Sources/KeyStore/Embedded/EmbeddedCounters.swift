public import Attestation
public import Bytes
import Crypto
import EventLoop

/// The counter store of one process: counters, replay windows and spent challenges in memory,
/// shared by all workers, answered at once.
///
/// One process at a time may use it with a registry. Its content is lost with the process unless
/// ``snapshot()`` is stored and given to the next start; after any other end the store comes back
/// under another incarnation, and every challenge sealed before is refused.
public final class EmbeddedCounters: Sendable {
    /// The bounds of the store, each for all shards together unless it says otherwise.
    public struct Options: Hashable, Sendable {
        /// The usual life of a challenge. One that lives longer is remembered for its own life.
        public var challengeLifeMilliseconds = 120_000
        /// The time for which counters are kept beyond that, for requests that come late.
        public var graceMilliseconds = 60_000
        /// The widest `window(N)` of any route; 16 bytes for each 128, for keys that use more than
        /// 64 counters.
        public var windowSizeMax = 1024
        /// The number of spent challenges that are remembered, 13 to 26 bytes each: 8 million are
        /// 23,000 a second for six minutes. Beyond it, the store answers `full`.
        public var spentCountMax = 8_388_608
        /// The share of one key, so that a single device cannot fill the store.
        public var spentCountPerKeyMax = 32_768

        public init() {}
    }

    static let shardCount = 32

    /// The incarnation under which a challenge must be sealed to be accepted.
    public let incarnation: Incarnation
    /// True if the state of the last clean stop was taken up again.
    public let isResumed: Bool
    /// The reason why an existing state was not taken up, in words for the operator. Nil if it was,
    /// or if there was none.
    public let resumeFailure: String?
    /// The clock that turns monotonic milliseconds into the store's own.
    private let clock: EmbeddedClock
    /// The counts of quotas. They belong to no incarnation.
    public let quotas: EmbeddedQuotas
    private let shards: [Locked<CounterShard>]
    private let tokens: Locked<SpentTokens>

    /// - Parameters:
    ///   - snapshot: the one of the last clean stop; nil after any other end. A snapshot that does
    ///     not fit (other bounds, another boot, damage) is ignored: ``resumeFailure`` says why.
    ///   - clock: the clock as it stands now; every later call goes on with its monotonic part.
    public init(
        options: Options = Options(), resuming snapshot: EmbeddedSnapshot? = nil,
        clock: EmbeddedClock, quotas: EmbeddedQuotas = EmbeddedQuotas()
    ) {
        self.quotas = quotas
        var kept = snapshot
        var failure: String?
        if let snapshot, !clock.continues(snapshot.clock) {
            kept = nil
            failure = "they are of another boot of the machine, or of a later time of this one"
        }
        let base = kept?.clock.base ?? clock.base
        let bounds = CounterShard.Bounds(
            retention: Int64(min(max(0, options.challengeLifeMilliseconds), 1 << 40))
                + Int64(min(max(0, options.graceMilliseconds), 1 << 40)),
            ringWordCount: (min(max(1, options.windowSizeMax), 1 << 15) + 63) / 64,
            spentCountPerKeyMax: min(max(1, options.spentCountPerKeyMax), 1 << 15),
            spentCountMax: max(1, options.spentCountMax / Self.shardCount))
        var resumed: State?
        if let kept {
            do throws(StoreError) {
                resumed = try Self.state(
                    kept, bounds: bounds, now: clock.nowMilliseconds, base: base)
            } catch {
                failure = error.description
            }
        }
        if let kept, let resumed {
            incarnation = kept.incarnation
            shards = resumed.shards
            tokens = resumed.tokens
            isResumed = true
        } else {
            isResumed = false
            tokens = Locked(SpentTokens())
            incarnation = Incarnation(RandomBytes.word())
            shards = (0..<Self.shardCount).map { _ in Locked(CounterShard(bounds: bounds)) }
        }
        resumeFailure = failure
        self.clock = EmbeddedClock(
            base: base, boot: clock.boot, nowMilliseconds: clock.nowMilliseconds)
    }

    private struct State {
        var shards: [Locked<CounterShard>] = []
        let tokens: Locked<SpentTokens>
    }

    /// Reads the state a part at a time. `now` is monotonic.
    private static func state(
        _ snapshot: EmbeddedSnapshot, bounds: CounterShard.Bounds, now: Int64, base: Int64
    ) throws(StoreError) -> State {
        let isOther = StoreError("they are damaged, or of another version of the program")
        guard snapshot.partCount == shardCount + 1 else { throw isOther }
        var shards: [Locked<CounterShard>] = []
        for index in 0..<shardCount {
            let part = try snapshot.part(index)
            guard let shard = CounterShard(bounds: bounds, encoded: part, now: now + base) else {
                throw isOther
            }
            shards.append(Locked(shard))
        }
        guard let tokens = SpentTokens(encoded: try snapshot.part(shardCount), now: now) else {
            throw isOther
        }
        return State(shards: shards, tokens: Locked(tokens))
    }

    /// Accepts a token of another issuer once: `.accepted` or `.replayed`, or `.unavailable` or
    /// `.full`. The token is remembered for `life`, at most a day. Any thread.
    public func spendToken(
        _ id: Bytes16, forMilliseconds life: Int, nowMilliseconds: Int64
    ) -> CounterVerdict {
        tokens.withLock {
            $0.spend(id, now: nowMilliseconds, forMilliseconds: Int64(max(1, life)))
        }
    }

    /// The present moment, for challenges. Every `nowMilliseconds` is of the monotonic clock.
    public func moment(nowMilliseconds: Int64) -> StoreMoment {
        StoreMoment(incarnation: incarnation, milliseconds: nowMilliseconds + clock.base)
    }

    /// True if the token was accepted before. A token that is being accepted does not count.
    public func isTokenSpent(
        _ id: Bytes16, forMilliseconds life: Int, nowMilliseconds: Int64
    ) -> Bool {
        tokens.withLock {
            $0.isSpent(id, now: nowMilliseconds, forMilliseconds: Int64(max(1, life)))
        }
    }

    /// Accepts the counter and spends the challenge, or changes nothing. Any thread.
    public func advance(_ advance: CounterAdvance, nowMilliseconds: Int64) -> CounterVerdict {
        let hash = Self.hash(advance.keyID)
        let isCurrent = advance.challenge.incarnation == incarnation
        guard isCurrent else { return .incarnationChanged }
        return shard(hash).withLock { shard in
            shard.advance(advance, keyHash: hash, now: nowMilliseconds + clock.base)
        }
    }

    /// True if these counters know by themselves which counters of the key were used.
    public func holds(_ keyID: KeyID) -> Bool {
        shard(Self.hash(keyID)).withLock { $0.holds(keyID) }
    }

    /// Forgets what has expired among `stepCount` entries of each shard: for a slow timer, so that
    /// an idle store shrinks too. ``FloorTable`` knows the counters that it forgets.
    public func sweep(nowMilliseconds: Int64, stepCount: Int = 4096) {
        for shard in shards {
            shard.withLock { $0.sweep(now: nowMilliseconds + clock.base, stepCount: stepCount) }
        }
    }

    /// The number of keys with counters in memory.
    public var keyCount: Int { shards.reduce(0) { $0 + $1.withLock { $0.keyCount } } }

    /// The number of challenges remembered as spent.
    public var spentCount: Int { shards.reduce(0) { $0 + $1.withLock { $0.spentCount } } }

    /// Ends the store: everything is `unavailable` from now on. The content is encoded part by
    /// part, as the snapshot is read.
    public func snapshot(nowMilliseconds: Int64) -> EmbeddedSnapshot {
        for shard in shards { shard.withLock { $0.close() } }
        tokens.withLock { $0.close() }
        let stopped = EmbeddedClock(
            base: clock.base, boot: clock.boot, nowMilliseconds: nowMilliseconds)
        return EmbeddedSnapshot(
            incarnation: incarnation, clock: stopped, partCount: shards.count + 1
        ) { [shards, tokens] index in
            index < shards.count
                ? shards[index].withLock { $0.encoded() } : tokens.withLock { $0.encoded() }
        }
    }

    private func shard(_ hash: UInt64) -> Locked<CounterShard> {
        shards[Int(hash >> 59)]
    }

    private static func hash(_ keyID: KeyID) -> UInt64 {
        let digest = keyID.digest
        var mixed = digest.word0 &* 0x9E37_79B9_7F4A_7C15
        mixed ^= digest.word1 &* 0xC2B2_AE3D_27D4_EB4F
        mixed ^= digest.word2 &* 0x1656_67B1_9E37_79F9
        mixed ^= digest.word3 &* 0x85EB_CA77_C2B2_AE63
        mixed ^= mixed >> 33
        mixed &*= 0xFF51_AFD7_ED55_8CCD
        mixed ^= mixed >> 29
        return mixed
    }
}
