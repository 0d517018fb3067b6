public import Attestation
public import Bytes

/// A user as the stores know them: an HMAC of the operator's name for the user (``Pseudonyms``).
public struct UserPseudonym: Hashable, Sendable {
    public let value: Bytes16

    public init(value: Bytes16) { self.value = value }
}

/// A use of a key for a user.
public struct KeySighting: Hashable, Sendable {
    /// The number of users that are remembered of one key, those seen last: a family shares a
    /// tablet, not more. So a client that invents users cannot fill the registry.
    public static let userCountMax = 8
    /// The number up to which the keys of one user are counted.
    public static let keyCountMax = 1000

    public let keyID: KeyID
    public let user: UserPseudonym
    /// The time of the use, in milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64
    /// The time since which a key must have been used for the user to count; likewise.
    public let countedSince: Int64

    public init(keyID: KeyID, user: UserPseudonym, milliseconds: Int64, countedSince: Int64) {
        self.keyID = keyID
        self.user = user
        self.milliseconds = milliseconds
        self.countedSince = countedSince
    }
}

/// The user for whom a key was used last, and that user's keys.
public struct UserKeys: Hashable, Sendable {
    public let user: UserPseudonym
    /// The time at which this key was first used for the user, in milliseconds since
    /// 1970-01-01T00:00:00Z.
    public let firstSeen: Int64
    /// The number of the user's keys, including this one; ``KeySighting/keyCountMax`` at most.
    public let keyCount: Int
    /// True if the user had another key before this one.
    public let hasEarlierKey: Bool

    public init(user: UserPseudonym, firstSeen: Int64, keyCount: Int, hasEarlierKey: Bool) {
        self.user = user
        self.firstSeen = firstSeen
        self.keyCount = keyCount
        self.hasEarlierKey = hasEarlierKey
    }
}

/// A user and one of the keys used for that user, for the operator.
public struct KeyUser: Hashable, Sendable {
    public let keyID: KeyID
    public let user: UserPseudonym
    /// Milliseconds since 1970-01-01T00:00:00Z, both.
    public let firstSeen: Int64
    public let lastSeen: Int64

    public init(keyID: KeyID, user: UserPseudonym, firstSeen: Int64, lastSeen: Int64) {
        self.keyID = keyID
        self.user = user
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
    }
}
