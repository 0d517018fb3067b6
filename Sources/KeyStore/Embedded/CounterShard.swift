import Attestation
import Bytes

/// The counters of a share of the keys; only ever touched under its lock.
///
/// Flat arrays with one entry for each key: a million active keys need a dozen allocations in a
/// shard.
struct CounterShard: Sendable {
    /// The bounds that all shards of a store share.
    struct Bounds: Sendable {
        /// The time that the counters of a key are kept after its use, in milliseconds.
        var retention: Int64
        /// The number of counters that are remembered below the highest one, in 64-bit words.
        var ringWordCount: Int
        var spentCountPerKeyMax: Int
        var spentCountMax: Int
    }

    let bounds: Bounds
    /// True after a snapshot was taken. Nothing is accepted any more.
    private(set) var isClosed = false
    private var index = PositionIndex<ShortKeyID>()
    private var keys: [ShortKeyID] = []
    /// The highest accepted counter, or the highest floor that the key was seen with.
    private var highest: [UInt32] = []
    /// The number of counters from the floor to the highest one, or the largest number that fits:
    /// no ring reaches as far below.
    private var aboveFloor: [UInt16] = []
    /// The time from which an entry may be forgotten: all challenges that its key was seen with
    /// have ended.
    private var keptUntil: [Seconds] = []
    /// The number of challenges that each key has spent in a generation.
    private var spends: [Spends] = []
    private var rings: CounterRings
    private var spent = SpentChallenges()
    private var sweepPosition = 0

    /// The latest time that was passed in. Threads come with times a little apart.
    private var clock = Int64.min

    init(bounds: Bounds) {
        self.bounds = bounds
        rings = CounterRings(wordCount: bounds.ringWordCount)
    }

    var keyCount: Int { keys.count }
    var spentCount: Int { spent.count }

    func holds(_ keyID: KeyID) -> Bool {
        index.position(of: ShortKeyID(keyID), in: keys) != nil
    }

    // MARK: advancing

    /// Advances entirely or not at all; `now` in milliseconds of the store's clock.
    mutating func advance(_ advance: CounterAdvance, keyHash: UInt64, now: Int64) -> CounterVerdict
    {
        guard !isClosed else { return .unavailable }
        clock = max(clock, now)
        spent.rotate(now: clock, lifeMilliseconds: bounds.retention)
        // Last, so that the key in question is not forgotten just before it is looked up.
        defer { sweep(now: clock, stepCount: 4) }
        // By the clock that forgets spent challenges, so that none is accepted in between.
        guard advance.challenge.expiresAt > clock else { return .challengeExpired }
        let fingerprint = SpentChallenges.fingerprint(
            keyHash: keyHash, challenge: advance.challenge.id)
        let key = ShortKeyID(advance.keyID)
        let position = index.position(of: key, in: keys)
        let mark = advance.uniqueness.mark
        switch spent.use(of: fingerprint, mark: mark) {
        case .none: break
        case .sameMark: return .replayed
        case .otherMark: return .challengeSpent
        }
        let counter = advance.uniqueness.counter
        if let counter {
            guard counter > advance.floor else { return .counterTooLow }
            if let position, let refusal = refusal(advance, counter, at: position) {
                return refusal
            }
        }
        guard hasRoom(at: position) else { return .full }

        let entry = position ?? add(key, highest: advance.floor)
        raiseFloor(to: advance.floor, at: entry)
        if let counter { accept(counter, at: entry) }
        keep(entry, until: max(clock + bounds.retention, advance.challenge.expiresAt))
        spends[entry].add(in: spent.epoch)
        spent.insert(fingerprint, mark: mark, until: advance.challenge.expiresAt)
        return .accepted
    }

    /// The refusal by RFC 4303 section 3.4.3. Nil above the window's right edge, or inside the
    /// window if the counter was not seen.
    private func refusal(
        _ advance: CounterAdvance, _ counter: UInt32, at entry: Int
    ) -> CounterVerdict? {
        guard counter <= highest[entry] else { return nil }
        let distance = Int(highest[entry] - counter)
        guard distance < min(Int(aboveFloor[entry]), rings.bitCount) else { return .counterTooLow }
        if rings.holds(counter, below: highest[entry], at: entry) { return .counterUsed }
        let windowSize = min(max(1, advance.windowSize), rings.bitCount)
        return distance < windowSize ? nil : .counterTooLow
    }

    private mutating func accept(_ counter: UInt32, at entry: Int) {
        rings.accept(counter, highest: highest[entry], at: entry)
        guard counter > highest[entry] else { return }
        let (raised, doesOverflow) = UInt32(aboveFloor[entry])
            .addingReportingOverflow(counter - highest[entry])
        aboveFloor[entry] = doesOverflow ? .max : UInt16(clamping: raised)
        highest[entry] = counter
    }

    /// Notes that no counter up to `floor` may be accepted any more.
    private mutating func raiseFloor(to floor: UInt32, at entry: Int) {
        if floor > highest[entry] {
            rings.raise(from: highest[entry], to: floor, at: entry)
            highest[entry] = floor
        }
        aboveFloor[entry] = min(aboveFloor[entry], UInt16(clamping: highest[entry] - floor))
    }

    private func floor(of entry: Int) -> UInt32 {
        highest[entry] - min(highest[entry], UInt32(aboveFloor[entry]))
    }

    private mutating func keep(_ entry: Int, until end: Int64) {
        keptUntil[entry] = max(keptUntil[entry], Seconds(roundingUp: end))
    }

    // MARK: bounds

    private func hasRoom(at position: Int?) -> Bool {
        guard spent.count < bounds.spentCountMax else { return false }
        guard let position else { return true }
        return spends[position].count(in: spent.epoch) < bounds.spentCountPerKeyMax
    }

    private mutating func add(_ key: ShortKeyID, highest top: UInt32) -> Int {
        keys.append(key)
        highest.append(top)
        aboveFloor.append(0)
        keptUntil.append(.zero)
        spends.append(Spends())
        rings.append()
        index.insert(keys.count - 1, in: keys)
        return keys.count - 1
    }

    /// Looks at the next few entries and forgets those that may be.
    mutating func sweep(now: Int64, stepCount: Int) {
        guard !isClosed else { return }
        clock = max(clock, now)
        for _ in 0..<min(stepCount, keys.count) {
            if sweepPosition >= keys.count { sweepPosition = 0 }
            if keptUntil[sweepPosition].isOver(at: clock) {
                forget(sweepPosition)
                if keys.isEmpty { return }
            } else {
                sweepPosition += 1
            }
        }
    }

    /// Forgets an entry. The last entry moves into the gap, so that the arrays stay dense.
    private mutating func forget(_ entry: Int) {
        index.remove(entry, in: keys)
        let last = keys.count - 1
        if entry != last { index.move(last, to: entry, in: keys) }
        keys.removeDensely(at: entry)
        highest.removeDensely(at: entry)
        aboveFloor.removeDensely(at: entry)
        keptUntil.removeDensely(at: entry)
        spends.removeDensely(at: entry)
        rings.removeDensely(at: entry)
    }

    // MARK: snapshot

    /// Accepts nothing and forgets nothing from now on.
    mutating func close() { isClosed = true }

    /// The number of ring words that one mask word describes. Most words are 0 and left out; the
    /// mask's bits say which are there, the first one by the lowest bit.
    private static let maskedWordCount = 64

    /// The shard as bytes: the counts, the time at which the last spent challenge ends, the entries
    /// and the spent challenges. It takes 36 to 44 bytes for most keys, and 8 for each challenge.
    func encoded() -> [UInt8] {
        let fingerprints = spent.all
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32 + keys.count * 44 + fingerprints.count * 8)
        bytes.append(bigEndian: UInt64(keys.count))
        bytes.append(bigEndian: UInt64(fingerprints.count))
        bytes.append(bigEndian: UInt64(bitPattern: spent.forgetAt))
        bytes.append(bigEndian: UInt64(bounds.ringWordCount))
        for entry in keys.indices {
            keys[entry].append(to: &bytes)
            bytes.append(bigEndian: UInt64(highest[entry]) << 32 | UInt64(floor(of: entry)))
            let ring = rings.words(of: entry, highest: highest[entry])
            for start in stride(from: 0, to: ring.count, by: Self.maskedWordCount) {
                let end = min(start + Self.maskedWordCount, ring.count)
                Self.append(ring[start..<end], to: &bytes)
            }
        }
        for fingerprint in fingerprints { bytes.append(bigEndian: fingerprint) }
        return bytes
    }

    private static func append(_ words: ArraySlice<UInt64>, to bytes: inout [UInt8]) {
        var mask: UInt64 = 0
        for (index, word) in words.enumerated() where word != 0 { mask |= 1 << UInt64(index) }
        bytes.append(bigEndian: mask)
        for word in words where word != 0 { bytes.append(bigEndian: word) }
    }

    /// Restores a shard. Nil unless `bytes` is what ``encoded()`` makes with the same bounds.
    /// Everything counts as used at `now`.
    init?(bounds: Bounds, encoded bytes: [UInt8], now: Int64) {
        self.init(bounds: bounds)
        var reader = ByteReader(bytes.span)
        guard let keyCount = reader.readInteger(byteCount: 8),
            let spentCount = reader.readInteger(byteCount: 8),
            let forgetAt = reader.readInteger(byteCount: 8).map(Int64.init(bitPattern:)),
            reader.readInteger(byteCount: 8) == UInt64(bounds.ringWordCount),
            keyCount <= UInt64(bytes.count), spentCount <= UInt64(bytes.count)
        else { return nil }
        clock = now
        for _ in 0..<Int(keyCount) {
            guard let id = ShortKeyID(from: &reader), let marks = reader.readInteger(byteCount: 8),
                index.position(of: id, in: keys) == nil
            else { return nil }
            let floor = UInt32(truncatingIfNeeded: marks)
            let top = max(UInt32(marks >> 32), floor)
            let entry = add(id, highest: top)
            aboveFloor[entry] = UInt16(clamping: top - floor)
            keep(entry, until: max(forgetAt, now + bounds.retention))
            guard let ring = readRing(&reader) else { return nil }
            rings.restore(ring, highest: highest[entry], at: entry)
        }
        for _ in 0..<Int(spentCount) {
            guard let word = reader.readInteger(byteCount: 8),
                word & FingerprintSet.fingerprintMask != 0
            else { return nil }
            spent.insert(word: word, until: forgetAt)
        }
        guard reader.isAtEnd else { return nil }
    }

    /// Reads a ring. Nil if the bytes are not what ``encoded()`` writes.
    private func readRing(_ reader: inout ByteReader) -> [UInt64]? {
        var words = [UInt64](repeating: 0, count: bounds.ringWordCount)
        for start in stride(from: 0, to: words.count, by: Self.maskedWordCount) {
            let wordCount = min(Self.maskedWordCount, words.count - start)
            guard var mask = reader.readInteger(byteCount: 8),
                wordCount == Self.maskedWordCount || mask >> UInt64(wordCount) == 0
            else { return nil }
            while mask != 0 {
                guard let bits = reader.readInteger(byteCount: 8), bits != 0 else { return nil }
                words[start + mask.trailingZeroBitCount] = bits
                mask &= mask - 1
            }
        }
        return words
    }
}

/// A time in seconds of a clock that began in 1970.
private struct Seconds: Comparable {
    private let count: UInt32

    static let zero = Seconds(roundingUp: 0)

    /// - Parameter milliseconds: a time that is too late to be held counts as never.
    init(roundingUp milliseconds: Int64) {
        count = UInt32(clamping: milliseconds / 1000 + (milliseconds % 1000 > 0 ? 1 : 0))
    }

    func isOver(at milliseconds: Int64) -> Bool {
        count < .max && Int64(count) * 1000 <= milliseconds
    }

    static func < (first: Seconds, second: Seconds) -> Bool { first.count < second.count }
}

/// The number of challenges that a key has spent in one generation.
private struct Spends {
    private var epoch: UInt16 = 0
    private var number: UInt16 = 0

    /// After 65,536 generations, months, an old count may be taken for a new one.
    func count(in epoch: UInt32) -> Int {
        self.epoch == UInt16(truncatingIfNeeded: epoch) ? Int(number) : 0
    }

    mutating func add(in epoch: UInt32) {
        number = UInt16(clamping: count(in: epoch) + 1)
        self.epoch = UInt16(truncatingIfNeeded: epoch)
    }
}
