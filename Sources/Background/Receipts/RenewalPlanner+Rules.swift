package import EventLoop
package import KeyStore

extension RenewalPlanner {
    /// The reason why no receipt is sent.
    package enum Pause: String, CaseIterable, Sendable {
        /// Another gateway has the lease, or the registry does not answer.
        case notHolder = "not_holder"
        /// Apple throttles, fails, or cannot be reached.
        case backingOff = "backing_off"
        /// Apple accepts the key of no team.
        case unauthorized
        /// `renew` is `off`, or no app has a key.
        case off
    }

    /// The rules of renewals. A reload replaces them.
    package struct Rules {
        package var schedule: ReceiptSchedule
        /// The nanoseconds from one request to the next.
        package var spacing: UInt64
        /// The most requests under way at once.
        package var inFlightCountMax: Int
        package var backOff: BackOff
        package var unauthorizedPause: Duration
        /// The interval at which an empty queue is read again, which is the longest wait of a new
        /// key.
        package var pollInterval: Duration
        package var leaseLifetime: Duration
        /// The apps whose teams have a key.
        package var groups: [ReceiptGroup]

        package init(
            schedule: ReceiptSchedule, spacing: UInt64, inFlightCountMax: Int, backOff: BackOff,
            unauthorizedPause: Duration, pollInterval: Duration = .seconds(2),
            leaseLifetime: Duration = .seconds(30),
            groups: [ReceiptGroup]
        ) {
            self.schedule = schedule
            self.spacing = spacing
            self.inFlightCountMax = inFlightCountMax
            self.backOff = backOff
            self.unauthorizedPause = unauthorizedPause
            self.pollInterval = pollInterval
            self.leaseLifetime = leaseLifetime
            self.groups = groups
        }
    }
}
