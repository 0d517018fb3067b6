import Bytes

/// Which tokens of others (DeviceCheck) were accepted, for as long as somebody might take them
/// again. Eight to thirteen bytes a token; ``SpentChallenges`` says how they are told apart.
struct SpentTokens: Sendable {
    private var spent = SpentChallenges()
    private var isClosed = false

    /// An hour of 290 a second: far more than Apple is asked.
    static let countMax = 1 << 20
    /// Tokens have no counters.
    private static let counter: UInt32 = 1

    /// Accepts the token once; `now` in milliseconds of a clock that does not jump back.
    mutating func spend(
        _ id: Bytes16, now: Int64, forMilliseconds life: Int64
    ) -> CounterVerdict {
        guard !isClosed else { return .unavailable }
        spent.rotate(now: now, lifeMilliseconds: life)
        let fingerprint = SpentChallenges.fingerprint(keyHash: 0, challenge: id)
        guard spent.use(of: fingerprint, counter: Self.counter) == .none else { return .replayed }
        guard spent.count < Self.countMax else { return .full }
        spent.insert(fingerprint, counter: Self.counter, until: now + life)
        return .accepted
    }

    /// Whether it was accepted before.
    mutating func isSpent(_ id: Bytes16, now: Int64, forMilliseconds life: Int64) -> Bool {
        spent.rotate(now: now, lifeMilliseconds: life)
        let fingerprint = SpentChallenges.fingerprint(keyHash: 0, challenge: id)
        return spent.use(of: fingerprint, counter: Self.counter) != .none
    }

    mutating func close() { isClosed = true }

    // MARK: snapshot

    /// The words; when each is forgotten is left out, since the clock may begin anew.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        for word in spent.all {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    init() {}

    /// All of them count as accepted just now, for the longest time that may be configured.
    init?(encoded bytes: [UInt8], now: Int64) {
        guard bytes.count.isMultiple(of: 8), bytes.count / 8 <= Self.countMax else { return nil }
        var reader = ByteReader(bytes.span)
        while let word = reader.readInteger(byteCount: 8) {
            guard word & FingerprintSet.fingerprintMask != 0 else { return nil }
            spent.insert(word: word, until: now + Self.lifeMillisecondsMax)
        }
    }

    private static let lifeMillisecondsMax: Int64 = 24 * 3600 * 1000
}
