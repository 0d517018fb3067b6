package import Attestation
import Bytes
package import KeyStore
package import Settings

/// The time at which a receipt is to be sent to Apple, in seconds since 1970.
///
/// The key's own bytes spread it, so that keys enrolled in one hour are not due in one hour ever
/// after. Every gateway computes the same time for the same key.
package struct ReceiptSchedule: Hashable, Sendable {
    private static let day: Int64 = 86_400
    /// The last age that is planned for: Apple does not exchange receipts older than 30 days, and
    /// this is a day before.
    private static let ageMax = 29 * day
    /// The shortest time before a receipt is sent again, whatever its times say.
    private static let pauseMin: Int64 = 3600
    /// The longest wait between attempts that bring nothing.
    private static let retryMax = 30 * day

    private let interval: Int64
    private let jitter: Int64
    private let failed: Int64
    private let notFound: Int64

    package init(_ settings: ReceiptSettings) {
        interval = settings.interval.components.seconds
        jitter = settings.jitter.components.seconds
        failed = settings.retry.failed.components.seconds
        notFound = settings.retry.notFound.components.seconds
    }

    /// The due time of a receipt. One that came with an attestation says nothing about the device
    /// until it is exchanged, so it is due at once. One from Apple is due at its *not before*, or
    /// later by `interval`.
    package func dueAt(_ receipt: ReceiptDates, of keyID: KeyID) -> Int64 {
        let createdAt = receipt.createdAt
        guard receipt.kind == .receipt else { return receipt.notBefore ?? createdAt }
        let notBefore = receipt.notBefore ?? createdAt + Self.day
        let earliest = max(notBefore, createdAt + interval)
        let latest = max(earliest, createdAt + Self.ageMax)
        return min(earliest + spread(keyID, createdAt, over: jitter), latest)
    }

    /// The time at which to renew a receipt that Apple has just given.
    package func dueAt(_ receipt: ReceiptDates, of keyID: KeyID, renewedAt now: Int64) -> Int64 {
        max(dueAt(receipt, of: keyID), now + Self.pauseMin)
    }

    /// The due time after Apple said that it has no newer receipt yet.
    package func dueAt(tooEarly state: ReceiptState, of keyID: KeyID, now: Int64) -> Int64 {
        // As Apple said, or a damaged store.
        let known = min(state.notBefore ?? 0, now + Self.ageMax)
        // If its time should have come, Apple's clock and ours differ, or Apple's rules do.
        let next = known > now ? known : now + Self.day
        return next + spread(keyID, now, over: min(jitter, Self.day))
    }

    /// The due time after a failure that may pass: later after each one.
    package func dueAt(failureCount: UInt32, of keyID: KeyID, now: Int64) -> Int64 {
        now + delay(failed, failureCount, keyID, now)
    }

    /// The due time after Apple said that it does not know the receipt.
    package func dueAt(notFound failureCount: UInt32, of keyID: KeyID, now: Int64) -> Int64 {
        now + delay(notFound, failureCount, keyID, now)
    }

    /// Doubles with each failure, and is spread by up to half as much.
    private func delay(
        _ first: Int64, _ failureCount: UInt32, _ keyID: KeyID, _ now: Int64
    ) -> Int64 {
        let doublings = min(max(failureCount, 1) - 1, 20)
        let whole = min(first << Int64(doublings), Self.retryMax)
        return whole + spread(keyID, now, over: whole / 2)
    }

    /// A number in 0..<`range`, from the key's id and a number that differs each time.
    private func spread(_ keyID: KeyID, _ salt: Int64, over range: Int64) -> Int64 {
        guard range > 0 else { return 0 }
        var mixed = keyID.digest.word2 ^ UInt64(bitPattern: salt) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int64((mixed ^ (mixed >> 31)) % UInt64(range))
    }
}
