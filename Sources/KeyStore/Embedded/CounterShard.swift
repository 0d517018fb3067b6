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
    private var index = KeyIndex()
    private var keys: [KeyID] = []
    /// The highest accepted counter, or the floor the entry began with.
    private var highest: [UInt32] = []
    private var floors: [UInt32] = []
    /// The time from which an entry may be forgotten: all challenges that its key was seen with
    /// have ended.
    private var keptUntil: [Int64] = []
    /// The numbers of challenges spent in the generation that `spentEpochs` names.
    private var spentCounts: [UInt32] = []
    private var spentEpochs: [UInt32] = []
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

    func holds(_ keyID: KeyID) -> Bool { index.position(of: keyID, in: keys) != nil }

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
        let position = index.position(of: advance.keyID, in: keys)
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

        let entry = position ?? add(advance.keyID, highest: advance.floor)
        floors[entry] = max(floors[entry], advance.floor)
        if let counter { accept(counter, at: entry) }
        keptUntil[entry] = max(
            keptUntil[entry], clock + bounds.retention, advance.challenge.expiresAt)
        countSpent(at: entry)
        spent.insert(fingerprint, mark: mark, until: advance.challenge.expiresAt)
        return .accepted
    }

    /// The refusal by RFC 4303 section 3.4.3. Nil above the window's right edge, or inside the
    /// window if the counter was not seen.
    private func refusal(
        _ advance: CounterAdvance, _ counter: UInt32, at entry: Int
    ) -> CounterVerdict? {
        guard counter > floors[entry] else { return .counterTooLow }
        guard counter <= highest[entry] else { return nil }
        let distance = Int(highest[entry] - counter)
        guard distance < rings.bitCount else { return .counterTooLow }
        if rings.holds(counter, below: highest[entry], at: entry) { return .counterUsed }
        let windowSize = min(max(1, advance.windowSize), rings.bitCount)
        return distance < windowSize ? nil : .counterTooLow
    }

    private mutating func accept(_ counter: UInt32, at entry: Int) {
        rings.accept(counter, highest: highest[entry], at: entry)
        highest[entry] = max(highest[entry], counter)
    }

    // MARK: bounds

    private func hasRoom(at position: Int?) -> Bool {
        guard spent.count < bounds.spentCountMax else { return false }
        guard let position, spentEpochs[position] == spent.epoch else { return true }
        return Int(spentCounts[position]) < bounds.spentCountPerKeyMax
    }

    private mutating func countSpent(at entry: Int) {
        if spentEpochs[entry] != spent.epoch {
            spentEpochs[entry] = spent.epoch
            spentCounts[entry] = 0
        }
        spentCounts[entry] += 1
    }

    private mutating func add(_ keyID: KeyID, highest top: UInt32) -> Int {
        keys.append(keyID)
        highest.append(top)
        floors.append(top)
        keptUntil.append(.min)
        spentCounts.append(0)
        spentEpochs.append(spent.epoch)
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
            if keptUntil[sweepPosition] <= clock {
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
        floors.removeDensely(at: entry)
        keptUntil.removeDensely(at: entry)
        spentCounts.removeDensely(at: entry)
        spentEpochs.removeDensely(at: entry)
        rings.removeDensely(at: entry)
    }

    // MARK: snapshot

    /// Accepts nothing and forgets nothing from now on.
    mutating func close() { isClosed = true }

    /// The number of ring words that one mask word describes. Most words are 0 and left out; the
    /// mask's bits say which are there, the first one by the lowest bit.
    private static let maskedWordCount = 64

    /// The shard as bytes: the counts, the time at which the last spent challenge ends, the entries
    /// and the spent challenges. It takes 56 to 64 bytes for most keys, and 8 for each challenge.
    func encoded() -> [UInt8] {
        let fingerprints = spent.all
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32 + keys.count * 64 + fingerprints.count * 8)
        bytes.append(bigEndian: UInt64(keys.count))
        bytes.append(bigEndian: UInt64(fingerprints.count))
        bytes.append(bigEndian: UInt64(bitPattern: spent.forgetAt))
        bytes.append(bigEndian: UInt64(bounds.ringWordCount))
        for entry in keys.indices {
            let digest = keys[entry].digest
            for word in [digest.word0, digest.word1, digest.word2, digest.word3] {
                bytes.append(bigEndian: word)
            }
            bytes.append(bigEndian: UInt64(highest[entry]) << 32 | UInt64(floors[entry]))
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
            guard let idBytes = reader.readSpan(byteCount: Bytes32.byteCount),
                let digest = Bytes32(idBytes), let marks = reader.readInteger(byteCount: 8),
                index.position(of: KeyID(digest: digest), in: keys) == nil
            else { return nil }
            let entry = add(KeyID(digest: digest), highest: UInt32(marks >> 32))
            floors[entry] = UInt32(truncatingIfNeeded: marks)
            keptUntil[entry] = max(forgetAt, now + bounds.retention)
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
