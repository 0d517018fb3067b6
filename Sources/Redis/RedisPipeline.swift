/// The outcome of one command.
public enum RedisOutcome: Hashable, Sendable {
    case reply(RedisReply)
    /// The command was never sent completely, so it did not run.
    case unavailable
    /// The command was not sent, because too many are in flight.
    case full
    /// The command was sent, but no reply came: it may have run.
    case unknown
}

/// The commands of one connection that wait for their replies, in the order in which they were
/// written.
///
/// Only the owner calls a `Handler`. Deadlines are readings of the owner's clock in nanoseconds,
/// and must not decrease from one command to the next.
public struct RedisPipeline<Handler> {
    private struct Entry {
        let handler: Handler
        let deadline: UInt64
        /// The position in the stream of all written bytes at which the command is complete.
        let end: UInt64
    }

    private var entries: [Entry?] = []
    private var head = 0
    private var queuedByteCount: UInt64 = 0
    private var writtenByteCount: UInt64 = 0

    public init() {}

    public var count: Int { entries.count - head }
    public var isEmpty: Bool { count == 0 }
    /// True if bytes wait to be written.
    public var hasUnwrittenBytes: Bool { writtenByteCount < queuedByteCount }
    /// The time by which the oldest command must be answered.
    public var oldestDeadline: UInt64? { head < entries.count ? entries[head]?.deadline : nil }

    public mutating func queue(byteCount: Int, deadline: UInt64, handler: Handler) {
        queuedByteCount += UInt64(byteCount)
        entries.append(Entry(handler: handler, deadline: deadline, end: queuedByteCount))
    }

    public mutating func wrote(byteCount: Int) {
        writtenByteCount += UInt64(byteCount)
        assert(writtenByteCount <= queuedByteCount)
    }

    /// Takes the handler of the oldest command. Nil if none has been sent completely, so that no
    /// reply can belong to one.
    public mutating func takeAnswered() -> Handler? {
        guard head < entries.count, let entry = entries[head], entry.end <= writtenByteCount else {
            return nil
        }
        entries[head] = nil
        head += 1
        compact()
        return entry.handler
    }

    /// Empties the pipeline. Returns every handler with the outcome after a lost connection.
    public mutating func takeAll() -> [(handler: Handler, outcome: RedisOutcome)] {
        let settled = entries[head...].compactMap { entry in
            entry.map { entry -> (handler: Handler, outcome: RedisOutcome) in
                (entry.handler, entry.end <= writtenByteCount ? .unknown : .unavailable)
            }
        }
        self = RedisPipeline()
        return settled
    }

    /// Removes the places of answered commands: at once if all are answered, else if they are the
    /// greater part, so that each command is moved at most once on average.
    private mutating func compact() {
        if head == entries.count {
            entries.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 64, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }
}
