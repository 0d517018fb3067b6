/// A small value under a name that all gateways of one registry share.
public struct SharedEntry: Hashable, Sendable {
    public let name: String
    public let value: [UInt8]
    /// 1 for the first value, one more with each write.
    public let version: Int64
    /// 1 at first, one more with each write that replaced a value whose life had ended. A gateway
    /// that writes over what it read itself stays in its term. For a lease this is the number to
    /// fence with: a later holder has a greater one.
    public let term: Int64
    /// The end of the entry's life, in milliseconds since 1970 by the store's clock, or nil for
    /// none.
    public let expiresAt: Int64?

    public init(name: String, value: [UInt8], version: Int64, term: Int64, expiresAt: Int64?) {
        self.name = name
        self.value = value
        self.version = version
        self.term = term
        self.expiresAt = expiresAt
    }

    /// True if its life has ended; `now` by the store's clock. It can still be read.
    public func isExpired(at now: Int64) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

/// The entry under a name, and the time at which it was read.
public struct SharedReading: Hashable, Sendable {
    /// The entry, or nil if nothing was written yet.
    public let entry: SharedEntry?
    /// Milliseconds since 1970 by the store's clock, which is the same for every gateway.
    public let now: Int64

    public init(entry: SharedEntry?, now: Int64) {
        self.entry = entry
        self.now = now
    }
}

/// A value to put in place of another one.
public struct SharedWrite: Hashable, Sendable {
    public var name: String
    public var value: [UInt8]
    /// The entry that the write replaces, as it was read, or nil if there was none. If the entry
    /// was changed since, the write is refused. Version and value must both be the same, so that a
    /// store that lost its last writes in a failover does not mistake one value for another.
    public var expected: SharedEntry?
    /// The lifetime of the entry from the moment of the write, by the store's clock. Nil means
    /// forever; zero means that the entry is free at once.
    public var lifetime: Duration?
    /// True if the write may also replace any value whose life has ended, or cannot be as long as
    /// it says.
    public var takesExpired = false

    public static let nameByteCountMax = 200
    /// The most bytes of a value. It is for a decision and its reasons, not for data: every gateway
    /// reads it every few seconds.
    public static let valueByteCountMax = 16_384
    /// The longest lifetime of values that others may replace. A value that says more was written
    /// while the store's clock was ahead, and would be in the way until then.
    public static let takenLifetimeMax = Duration.seconds(3600)

    public init(name: String, value: [UInt8], expected: SharedEntry?, lifetime: Duration? = nil) {
        self.name = name
        self.value = value
        self.expected = expected
        self.lifetime = lifetime
    }

    /// The entry after the write, or nil if `current` does not allow it. These rules hold for every
    /// store.
    public func entry(over current: SharedEntry?, at now: Int64) -> SharedEntry? {
        let expiresAt = lifetimeMilliseconds.map { now + $0 }
        guard let current else {
            guard expected == nil else { return nil }
            return SharedEntry(name: name, value: value, version: 1, term: 1, expiresAt: expiresAt)
        }
        let isExpected =
            expected.map { $0.version == current.version && $0.value == current.value } ?? false
        guard isExpected || takesExpired && Self.isFree(current, at: now) else { return nil }
        let (version, isDamaged) = current.version.addingReportingOverflow(1)
        let (term, hasDamagedTerm) = current.term.addingReportingOverflow(isExpected ? 0 : 1)
        guard !isDamaged, !hasDamagedTerm else { return nil }
        return SharedEntry(
            name: name, value: value, version: version, term: term, expiresAt: expiresAt)
    }

    private static func isFree(_ entry: SharedEntry, at now: Int64) -> Bool {
        guard let expiresAt = entry.expiresAt else { return false }
        return expiresAt <= now || expiresAt > now + takenMillisecondsMax
    }

    package var lifetimeMilliseconds: Int64? { lifetime.map(\.wholeMilliseconds) }
    package static var takenMillisecondsMax: Int64 { takenLifetimeMax.wholeMilliseconds }

    /// The reason why no store takes the write.
    package var problem: StoreError? {
        if name.isEmpty || name.utf8.count > Self.nameByteCountMax {
            return StoreError("registry: a shared value with a name of \(name.utf8.count) bytes")
        }
        if takesExpired, let lifetime, lifetime > Self.takenLifetimeMax {
            return StoreError("registry: the shared value \(name) has too long a lifetime")
        }
        if value.count > Self.valueByteCountMax {
            return StoreError("registry: the shared value \(name) has \(value.count) bytes")
        }
        return nil
    }
}

/// The outcome of a write.
public struct SharedOutcome: Hashable, Sendable {
    /// True if the value is there and durable.
    public let isWritten: Bool
    /// The entry that is there now: the value written, or the one that was in the way.
    public let reading: SharedReading

    public init(isWritten: Bool, reading: SharedReading) {
        self.isWritten = isWritten
        self.reading = reading
    }
}

/// Small values under names in the registry, for decisions that gateways make together.
///
/// A write compares and sets, so of gateways that write on the same reading one succeeds and the
/// others learn what it wrote. Values are as durable as enrolments. Times are those of the store's
/// clock (the database server's; in SQLite the machine's), so clocks of gateways need not agree; a
/// step of that clock lengthens or shortens lives by as much. Nothing is ever deleted, so versions
/// and terms do not start over.
///
/// A failure says nothing about a write: it may have been done. Read again before the next one.
/// There is no news of changes: readers ask every few seconds.
public protocol SharedState: AnyObject, Sendable {
    /// `reply` runs as those of ``Registry`` do.
    func readShared(
        _ name: String, reply: @escaping @Sendable (Result<SharedReading, StoreError>) -> Void)

    /// Replies after the commit.
    func writeShared(
        _ write: SharedWrite,
        reply: @escaping @Sendable (Result<SharedOutcome, StoreError>) -> Void)
}

extension Duration {
    /// Rounded up; zero for a negative duration.
    fileprivate var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
