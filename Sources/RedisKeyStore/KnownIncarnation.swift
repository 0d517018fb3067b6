import EventLoop
import KeyStore

/// One worker's knowledge of the incarnation of a master's counters: the result of its last look,
/// the incarnations that have ended, and what the other workers have learned.
///
/// It is a class because each request asks it five times: as a part of another class, a structure
/// would be copied each time, with its texts.
final class KnownIncarnation {
    let news: IncarnationNews
    /// The finding of the last look.
    private(set) var look: ServerLook? {
        didSet {
            moment = look.map {
                StoreMoment(incarnation: $0.incarnation, milliseconds: $0.milliseconds)
            }
            notedMilliseconds = look?.notedMilliseconds ?? 0
        }
    }
    /// The incarnation and the time that the last look found, apart from its texts.
    private var moment: StoreMoment?
    /// The time in the record; 0 before the first look.
    private(set) var notedMilliseconds: Int64 = 0
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

    /// The incarnation that the last look found.
    var incarnation: Incarnation? { moment?.incarnation }

    /// The incarnation, and the server's clock extrapolated since the last look.
    func moment(at now: MonotonicInstant) -> StoreMoment? {
        guard let moment else { return nil }
        return StoreMoment(
            incarnation: moment.incarnation,
            milliseconds: moment.milliseconds
                + Int64(now.nanoseconds(since: lookedAt) / 1_000_000))
    }

    /// The moment that another worker has learned for the master of `record` since this one looked.
    func newsMoment(of record: [UInt8], at now: MonotonicInstant) -> StoreMoment? {
        news.item(of: record, after: newsNumber)?.moment(at: now)
    }

    /// True if the master may be under `incarnation` by now, which the last look did not find.
    func mayHaveBegun(_ incarnation: Incarnation) -> Bool {
        incarnation != self.incarnation && !ended.contains(incarnation)
    }

    /// The master was looked at because of a challenge of `incarnation`.
    func asked(for incarnation: Incarnation) {
        if incarnation != self.incarnation { ended.note(incarnation) }
    }

    /// Takes the result of a look that began when ``news`` had come to `number`, and tells the
    /// other workers if it is new.
    func adopt(
        _ found: ServerLook, of record: [UInt8], after number: UInt64, at now: MonotonicInstant
    ) {
        let isChanged = found.incarnation != incarnation
        if isChanged, let incarnation { ended.note(incarnation) }
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
    func forget() { look = nil }
}
