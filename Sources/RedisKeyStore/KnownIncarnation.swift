import EventLoop
import KeyStore

/// One worker's knowledge of the incarnation of a master's counters: the result of its last look,
/// the incarnations that have ended, and what the other workers have learned.
struct KnownIncarnation {
    let news: IncarnationNews
    /// The finding of the last look.
    private(set) var look: ServerLook?
    /// True once there was one, here or at a master whose place this one took.
    private(set) var hadOne: Bool
    private var lookedAt = MonotonicInstant(nanoseconds: 0)
    private var ended = EndedIncarnations()
    /// The number of the last item of ``news`` before the last look.
    private var newsNumber: UInt64 = 0

    init(news: IncarnationNews, succeedsAnother: Bool) {
        self.news = news
        hadOne = succeedsAnother
    }

    /// The incarnation, and the server's clock extrapolated since the last look.
    func moment(at now: MonotonicInstant) -> StoreMoment? {
        // Each request asks three times, and a copy of the look would copy its texts.
        guard let incarnation = look?.incarnation, let milliseconds = look?.milliseconds else {
            return nil
        }
        return StoreMoment(
            incarnation: incarnation,
            milliseconds: milliseconds + Int64(now.nanoseconds(since: lookedAt) / 1_000_000))
    }

    /// The moment that another worker has learned for the master of `record` since this one looked.
    func newsMoment(of record: [UInt8], at now: MonotonicInstant) -> StoreMoment? {
        news.item(of: record, after: newsNumber)?.moment(at: now)
    }

    /// True if the master may be under `incarnation` by now, which the last look did not find.
    func mayHaveBegun(_ incarnation: Incarnation) -> Bool {
        incarnation != look?.incarnation && !ended.contains(incarnation)
    }

    /// The master was looked at because of a challenge of `incarnation`.
    mutating func asked(for incarnation: Incarnation) {
        if incarnation != look?.incarnation { ended.note(incarnation) }
    }

    /// Takes the result of a look that began when ``news`` had come to `number`, and tells the
    /// other workers if it is new.
    mutating func adopt(
        _ found: ServerLook, of record: [UInt8], after number: UInt64, at now: MonotonicInstant
    ) {
        let isChanged = found.incarnation != look?.incarnation
        if isChanged, let look { ended.note(look.incarnation) }
        ended.remove(found.incarnation)
        newsNumber = max(newsNumber, number)
        look = found
        lookedAt = now
        if isChanged, hadOne, let moment = moment(at: now) {
            newsNumber = news.tell(record, moment, at: now)
        }
        hadOne = true
    }

    /// Forgets the incarnation, because another record has taken its place.
    mutating func forget() { look = nil }
}
