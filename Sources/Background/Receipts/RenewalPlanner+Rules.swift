package import EventLoop
package import KeyStore

extension RenewalPlanner {
    /// Why no receipt is sent.
    package enum Pause: String, CaseIterable, Sendable {
        /// Another gateway has the lease, or the registry does not answer.
        case notHolder = "not_holder"
        /// Apple throttles, fails or cannot be reached.
        case backingOff = "backing_off"
        /// Apple does not take the key of any team.
        case unauthorized
        /// `renew: off`, or no app has a key.
        case off
    }

    /// The rules of renewals. A reload brings others.
    package struct Rules {
        package var schedule: ReceiptSchedule
        /// Nanoseconds from one request to the next.
        package var spacing: UInt64
        /// Requests under way at once.
        package var inFlightCountMax: Int
        package var backOff: BackOff
        package var unauthorizedPause: Duration
        /// How often an empty queue is looked at again: as long as a new key waits at most.
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
