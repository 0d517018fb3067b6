import EventLoop
import KeyStore
import Synchronization

/// The incarnations that the workers of one process have learned of last, by the names of their
/// records, so that no worker seals challenges under an incarnation that another worker knows to
/// have ended.
///
/// A challenge is accepted only by the store of its incarnation, which has every counter that was
/// accepted under it. So a worker may seal one under an incarnation that its own connection has not
/// seen.
public final class IncarnationNews: Sendable {
    /// The news of one record.
    struct Item {
        /// The item's number, from 1.
        let number: UInt64
        let learnedAt: MonotonicInstant
        private let moment: StoreMoment

        init(number: UInt64, _ moment: StoreMoment, at instant: MonotonicInstant) {
            self.number = number
            self.moment = moment
            learnedAt = instant
        }

        /// That moment, extrapolated to `now`.
        func moment(at now: MonotonicInstant) -> StoreMoment {
            StoreMoment(
                incarnation: moment.incarnation,
                milliseconds: moment.milliseconds
                    + Int64(now.nanoseconds(since: learnedAt) / 1_000_000))
        }
    }

    private let lastNumber = Atomic<UInt64>(0)
    private let items = Locked<[[UInt8]: Item]>([:])

    public init() {}

    /// The number of the last item.
    var number: UInt64 { lastNumber.load(ordering: .acquiring) }

    /// Notes that the store of `record` continues under another incarnation. Returns the item's
    /// number.
    func tell(_ record: [UInt8], _ moment: StoreMoment, at now: MonotonicInstant) -> UInt64 {
        items.withLock { items in
            let next = lastNumber.load(ordering: .relaxed) + 1
            items[record] = Item(number: next, moment, at: now)
            lastNumber.store(next, ordering: .releasing)
            return next
        }
    }

    /// The item of `record`, if it is newer than the one with `number`.
    func item(of record: [UInt8], after number: UInt64) -> Item? {
        guard self.number > number else { return nil }
        return items.withLock { $0[record].flatMap { $0.number > number ? $0 : nil } }
    }
}
