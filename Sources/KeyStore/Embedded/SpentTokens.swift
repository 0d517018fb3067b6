import Bytes

/// The tokens of another issuer (DeviceCheck) that were accepted, for as long as they might be
/// accepted again. A token takes eight to thirteen bytes; ``SpentChallenges`` says how tokens are
/// told apart.
struct SpentTokens: Sendable {
    private var spent = SpentChallenges()
    private var isClosed = false

    /// The most tokens: 290 a second for an hour, far more than Apple is asked.
    static let countMax = 1 << 20
    /// The mark of every entry. A token is one request's alone.
    private static let mark: UInt32 = 1

    /// Accepts the token once; `now` in milliseconds of a clock that does not jump back.
    mutating func spend(
        _ id: Bytes16, now: Int64, forMilliseconds life: Int64
    ) -> CounterVerdict {
        guard !isClosed else { return .unavailable }
        spent.rotate(now: now, lifeMilliseconds: life)
        let fingerprint = SpentChallenges.fingerprint(keyHash: 0, challenge: id)
        guard spent.use(of: fingerprint, mark: Self.mark) == .none else { return .replayed }
        guard spent.count < Self.countMax else { return .full }
        spent.insert(fingerprint, mark: Self.mark, until: now + life)
        return .accepted
    }

    /// True if the token was accepted before.
    mutating func isSpent(_ id: Bytes16, now: Int64, forMilliseconds life: Int64) -> Bool {
        spent.rotate(now: now, lifeMilliseconds: life)
        let fingerprint = SpentChallenges.fingerprint(keyHash: 0, challenge: id)
        return spent.use(of: fingerprint, mark: Self.mark) != .none
    }

    mutating func close() { isClosed = true }

    // MARK: snapshot

    /// The state as bytes: the beginning of the current generation, the time at which each is
    /// forgotten, the number of words of the current one, and the words of both.
    func encoded() -> [UInt8] {
        let kept = spent.generations
        let times = [kept.beganAt, kept.currentForgetAt, kept.previousForgetAt]
        var bytes: [UInt8] = []
        let head = times.map { UInt64(bitPattern: $0) } + [UInt64(kept.current.count)]
        for word in head + kept.current + kept.previous {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    init() {}

    /// Restores the state. `now` is by the clock that went on since. No token is remembered for
    /// longer than the longest time that may be configured.
    init?(encoded bytes: [UInt8], now: Int64) {
        var reader = ByteReader(bytes.span)
        guard bytes.count.isMultiple(of: 8), let began = reader.readInteger(byteCount: 8),
            let currentEnd = reader.readInteger(byteCount: 8),
            let previousEnd = reader.readInteger(byteCount: 8),
            let currentCount = reader.readInteger(byteCount: 8)
        else { return nil }
        var words: [UInt64] = []
        while let word = reader.readInteger(byteCount: 8) {
            guard word & FingerprintSet.fingerprintMask != 0 else { return nil }
            words.append(word)
        }
        guard words.count <= Self.countMax, currentCount <= words.count else { return nil }
        let latest = now + Self.lifeMillisecondsMax
        let beganAt = Int64(bitPattern: began)
        let isPast = beganAt <= now && beganAt >= now - Self.lifeMillisecondsMax
        spent = SpentChallenges(
            current: words.prefix(Int(currentCount)),
            until: min(Int64(bitPattern: currentEnd), latest),
            beganAt: isPast ? beganAt : now, previous: words.dropFirst(Int(currentCount)),
            until: min(Int64(bitPattern: previousEnd), latest))
    }

    private static let lifeMillisecondsMax: Int64 = 24 * 3600 * 1000
}
