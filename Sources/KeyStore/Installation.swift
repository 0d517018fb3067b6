public import Attestation
public import Bytes

/// The id of one installation of an app, which stays the same when another key takes the place of
/// its first one.
public struct InstallationID: Hashable, Sendable, CustomStringConvertible {
    public let value: Bytes16

    public init(value: Bytes16) { self.value = value }

    /// The id of the installation that began with this key: the first half of the key id, which is
    /// itself a hash. So every key has one, and nothing is kept for it.
    @inlinable
    public init(firstKey keyID: KeyID) {
        value = Bytes16(word0: keyID.digest.word0, word1: keyID.digest.word1)
    }

    /// Parses an id. Nil for anything but 32 hexadecimal digits.
    public init?(_ text: String) {
        guard let bytes = Hex.decode(text), let value = Bytes16(bytes.span) else { return nil }
        self.value = value
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String { Hex.encode(value.array) }

    /// Appends ``description`` as ASCII bytes.
    public func append(to output: inout ByteBuffer) {
        output.append(paddedHexadecimal: value.word0)
        output.append(paddedHexadecimal: value.word1)
    }
}

/// The place of a key among the keys of an installation that has had more than one.
public struct KeySuccession: Hashable, Sendable {
    public var installation: InstallationID
    /// 0 for the installation's first key, and one more for each successor.
    public var generation: UInt32
    /// The enrolment of the first key, in seconds since 1970-01-01T00:00:00Z.
    public var beganAt: Int64
    public var predecessor: KeyID?
    public var successor: KeyID?
    /// True until the predecessor is retired, which the first accepted request of this key brings
    /// about.
    public var retiresPredecessor: Bool
    /// True if this key was revoked because its successor had signed, and not by an operator.
    public var isRetired: Bool

    public init(
        installation: InstallationID, generation: UInt32, beganAt: Int64, predecessor: KeyID? = nil,
        successor: KeyID? = nil, retiresPredecessor: Bool = false, isRetired: Bool = false
    ) {
        self.installation = installation
        self.generation = generation
        self.beganAt = beganAt
        self.predecessor = predecessor
        self.successor = successor
        self.retiresPredecessor = retiresPredecessor
        self.isRetired = isRetired
    }
}

extension KeyRecord {
    /// The installation that the key belongs to.
    public var installation: InstallationID {
        succession?.installation ?? InstallationID(firstKey: keyID)
    }
}

/// The active key of an installation that has come after another of its keys.
public struct NewerKey: Hashable, Sendable {
    public let keyID: KeyID
    public let installation: InstallationID

    public init(keyID: KeyID, installation: InstallationID) {
        self.keyID = keyID
        self.installation = installation
    }
}

/// The part of a ``KeySuccession`` that requests need.
public struct CachedSuccession: Hashable, Sendable {
    public var installation: InstallationID
    /// The predecessor that is still to be retired; nil if there is none.
    public var retires: KeyID?
    /// True if the key was revoked because its successor had signed.
    public var isRetired: Bool

    init(_ succession: KeySuccession) {
        installation = succession.installation
        retires = succession.retiresPredecessor ? succession.predecessor : nil
        isRetired = succession.isRetired
    }
}
