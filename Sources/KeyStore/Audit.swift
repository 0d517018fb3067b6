/// The author of a change by hand: a name, and the place that it came from.
public struct AuditAuthor: Hashable, Sendable {
    /// The way in which a change was asked for.
    public enum Way: String, Hashable, Sendable, CaseIterable {
        case command
        case api
        /// The gateway itself, when it finds that an operator has done something without it, or
        /// that a platform's revocation list names a certificate behind a key.
        case gateway
    }

    public let way: Way
    /// The system user of a command, or the name of the API's token.
    public let name: String
    /// The machine that a command ran on, or the address of the API's client.
    public let origin: String
    /// The request's id. A run of a command has one, too.
    public let requestID: String

    public init(way: Way, name: String, origin: String, requestID: String) {
        self.way = way
        self.name = AuditText.bounded(name)
        self.origin = AuditText.bounded(origin)
        self.requestID = AuditText.bounded(requestID)
    }
}

/// The actions by hand that leave an entry in the audit log.
public enum AuditAction: String, Hashable, Sendable, CaseIterable {
    case importKeys = "keys.import"
    case revokeKey = "keys.revoke"
    case eraseKey = "keys.erase"
    case renewReceipts = "keys.renew"
    /// A key was found by its pseudonym, or the other way round.
    case identifyKey = "keys.pseudonym"
    case backUp = "keys.backup"
    /// A gateway has started with a copy that `keys backup` made.
    case restore = "keys.restore"
    case exportUser = "users.export"
    case eraseUser = "users.erase"
    case setRollout = "rollout.set"
    case holdRollout = "rollout.hold"
    case resumeRollout = "rollout.resume"
    case makeDeveloperToken = "developer_token.make"
    case updateDeviceBits = "device_check.update"
    case resetQuota = "quota.reset"
    case grantQuota = "quota.grant"
}

/// An action, its subject and its outcome.
public struct AuditNote: Hashable, Sendable {
    /// The raw value of an ``AuditAction``; a later version may know others.
    public let action: String
    /// A key id, or the name of a rollout, a quota or a token; empty if it was about many.
    public let subject: String
    public let outcome: String
    /// Further details; empty if there are none.
    public let detail: String

    public init(_ action: AuditAction, _ subject: String, outcome: String, detail: String = "") {
        self.init(action: action.rawValue, subject: subject, outcome: outcome, detail: detail)
    }

    package init(action: String, subject: String, outcome: String, detail: String) {
        self.action = AuditText.bounded(action)
        self.subject = AuditText.bounded(subject)
        self.outcome = AuditText.bounded(outcome)
        self.detail = AuditText.bounded(detail)
    }
}

/// One line of the audit log.
public struct AuditEntry: Hashable, Sendable {
    /// The number of entries that the log keeps; older ones are deleted. They are 300 bytes each,
    /// and last a year in a deployment that revokes ten keys an hour.
    public static let keptCountMax: Int64 = 100_000

    /// Grows by one with each entry of a registry, in the order of their commits.
    public let number: Int64
    /// Milliseconds since 1970 by the store's clock.
    public let milliseconds: Int64
    public let author: AuditAuthor
    public let note: AuditNote

    package init(number: Int64, milliseconds: Int64, author: AuditAuthor, note: AuditNote) {
        self.number = number
        self.milliseconds = milliseconds
        self.author = author
        self.note = note
    }
}

/// The entries of the audit log that an operator asks for, the newest first.
public struct AuditFilter: Hashable, Sendable {
    /// Only entries with a lower number than this, which is the last one of the previous page.
    public var before: Int64?
    /// Only entries with a higher number than this, which is the newest known one.
    public var after: Int64?
    /// Only entries of that time or later, in milliseconds since 1970.
    public var since: Int64?
    public var countMax = 100

    public init() {}
}

enum AuditText {
    /// Longer values are cut, so that a user who chooses a long name cannot fill the table. Names
    /// of users, hosts and routes are shorter.
    static let byteCountMax = 256

    /// The beginning of `text`, without NUL, which PostgreSQL does not take.
    static func bounded(_ text: String) -> String {
        guard text.utf8.count > byteCountMax || text.utf8.contains(0) else { return text }
        var bounded = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in text.unicodeScalars where scalar.value != 0 {
            byteCount += UTF8.width(scalar)
            guard byteCount <= byteCountMax else { break }
            bounded.append(scalar)
        }
        return String(bounded)
    }
}
