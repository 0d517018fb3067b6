import Foundation

/// The state of an enrolment that is kept between launches.
public struct EnrolmentState: Codable, Sendable, Equatable {
    /// The progress of a key.
    enum Stage: Codable, Sendable, Equatable {
        case none
        /// The key is made.
        case made(keyID: String)
        /// The key has its challenge. Apple wants the same key and the same hash until it answers.
        case challenged(keyID: String, challenge: String)
        /// Apple has attested the key, which it does once; the gateway has not confirmed it yet.
        case attested(keyID: String, challenge: String, attestation: Data)
        case enrolled(keyID: String)
    }

    var stage = Stage.none
    /// A time in which nothing is tried. Its length reveals if the clock was set back since.
    struct Wait: Codable, Sendable, Equatable {
        var until: Date
        let length: TimeInterval

        init(from now: Date, length: TimeInterval) {
            until = now.addingTimeInterval(length)
            self.length = length
        }
    }

    /// The number of failures in a row, of the enrolment or later of the key's signatures, and the
    /// wait after them.
    var failureCount = 0
    /// The number of keys in a row that turned out to be useless before they were enrolled, and of
    /// unknown failures of the device with the key that is being enrolled. Nil for none: states of
    /// earlier versions have no such members.
    var uselessKeyCount: Int?
    var unknownFailureCount: Int?
    var wait: Wait?
    /// True if the device cannot attest keys, although it says that it can. It is asked again after
    /// the wait. Nil counts as false.
    var isUnsupported: Bool?
    /// The time at which a key was last given up because the gateway said so.
    var renewedAt: Date?
    /// The gateway's advice for trying again after failures of the device.
    var advice: RetryAdvice?

    /// The state of an installation that has no key yet.
    public init() {}

    /// The key ID, if there is a key.
    public var keyID: String? {
        switch stage {
        case .none: nil
        case .made(let keyID), .challenged(let keyID, _), .attested(let keyID, _, _),
            .enrolled(let keyID):
            keyID
        }
    }

    /// Forgets a key that turned out to be useless before it was enrolled.
    mutating func dropUselessKey() {
        stage = .none
        uselessKeyCount = (uselessKeyCount ?? 0) + 1
        unknownFailureCount = nil
    }

    /// True if the gateway has confirmed the key.
    public var isEnrolled: Bool { if case .enrolled = stage { true } else { false } }
}

/// A store for the state of an enrolment. The state belongs to one installation on one device:
/// neither a backup nor another device can use the key.
public protocol EnrolmentStore: Sendable {
    /// Returns the state that was saved last; nil if there is none.
    func load() throws -> EnrolmentState?
    func save(_ state: EnrolmentState) throws
}

/// Keeps the state for as long as the process runs: for tests, and for command-line tools.
public final class MemoryStore: EnrolmentStore, @unchecked Sendable {
    private let lock = NSLock()
    private var state: EnrolmentState?

    public init(_ state: EnrolmentState? = nil) { self.state = state }

    public func load() -> EnrolmentState? { lock.withLock { state } }

    public func save(_ state: EnrolmentState) { lock.withLock { self.state = state } }
}
