public import Attestation
public import Bytes
package import Crypto

/// The failure of a store to do what was asked. Nothing is known to have changed.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The failure in words for the operator and, if known, what to do about it. It never holds key
    /// material.
    public let description: String

    public enum Kind: Hashable, Sendable {
        /// The store failed.
        case failure
        /// The store was not asked, because too many requests wait for it. Strangers can bring that
        /// about.
        case queueFull
        /// A counter was not written, because the registry's log is as long as it may be.
        case logFull
    }

    public let kind: Kind

    public init(_ description: String, kind: Kind = .failure) {
        self.description = description
        self.kind = kind
    }

    package static let queueFull = StoreError(
        "registry: too many requests wait for it", kind: .queueFull)
}

/// The outcome of an enrolment. It is given only once it is durable.
public enum EnrolmentOutcome: Hashable, Sendable {
    /// The key begins an installation of its own, also if a claim was refused.
    case enrolled
    /// The key belongs to this installation, which had another key before.
    case succeeded(InstallationID)
    /// The key was already enrolled and active. The caller answers as if it had just enrolled.
    case alreadyEnrolled
    /// The key was already enrolled and active, and belongs to this installation, which has had
    /// several keys.
    case alreadySucceeded(InstallationID)
    /// The key takes the place of none, because the installation's newest key is revoked.
    case installationRevoked
    case revoked
    case erased
    /// The challenge has already enrolled another key.
    case challengeSpent
}

extension EnrolmentOutcome {
    /// The outcome of enrolling a key again that the registry already knows in this state.
    package static func again(
        _ record: KeyRecord, status: KeyStatus, publicKey: P256PublicKey?,
        installation: InstallationID?
    ) -> Result<EnrolmentOutcome, StoreError> {
        switch status {
        case .revoked: return .success(.revoked)
        case .erased: return .success(.erased)
        case .active:
            guard publicKey == record.publicKey else {
                return .failure(
                    StoreError("registry: the key id is known with another public key"))
            }
            return .success(installation.map(Self.alreadySucceeded) ?? .alreadyEnrolled)
        }
    }
}

/// The outcome of comparing and setting a counter in the registry.
public enum DurableOutcome: Hashable, Sendable {
    case advanced
    case replayed
    case revoked
    case unknownKey
}

/// The knowledge of a registry about a key without waiting.
public enum KeyAtHand: Hashable, Sendable {
    /// The result that ``Registry/find(_:)`` would have, too: the record, or nil for an unknown
    /// key.
    case read(KeyRecord?)
    /// The caller has to ask, and to wait.
    case notAtHand
}

/// A question for one key, with the callback for the reply.
public struct RegistryLookUp: Sendable {
    public var keyID: KeyID
    public var reply: @Sendable (Result<KeyRecord?, StoreError>) -> Void

    public init(
        _ keyID: KeyID, reply: @escaping @Sendable (Result<KeyRecord?, StoreError>) -> Void
    ) {
        self.keyID = keyID
        self.reply = reply
    }
}

/// Keys changed by another process, such as a gateway or a command: caches must forget them.
public enum RegistryChange: Hashable, Sendable {
    case keys([KeyID])
    /// Too many keys to name.
    case everything
    /// All keys: the store itself was replaced.
    case replaced
}

/// The durable store of enrolled keys: few writes, many reads.
///
/// Every call returns at once; `reply` runs later, once, on a thread of the registry's own, and
/// must only hand the result over (to a worker's mailbox).
public protocol Registry: RenewalStore, SharedState {
    /// Looks up the parts of records that requests need: all but receipts and their state. Nil for
    /// an unknown key. Erased keys are returned with that status. A registry with a thread of its
    /// own wakes it once for all look-ups.
    func find(_ lookUps: [RegistryLookUp])

    /// True if ``readAtHand(_:)`` is worth a try.
    var hasKeysAtHand: Bool { get }

    /// Looks up keys as ``find(_:)`` does, now and on the caller's thread, as far as that needs no
    /// disk, no lock and no other machine. One result for each, in their order.
    func readAtHand(_ keyIDs: [KeyID]) -> [KeyAtHand]

    /// Stores a new key. `challenge` is the id of the attestation challenge that it answers: one
    /// challenge enrols one key. `claim`: the key is to take the place of another, as
    /// ``SuccessionClaim/verdict(predecessor:newest:)`` allows; then it gets the other key's users,
    /// too. Replies after the commit.
    func enrol(
        _ record: KeyRecord, challenge: Bytes16, succeeding claim: SuccessionClaim?,
        reply: @escaping @Sendable (Result<EnrolmentOutcome, StoreError>) -> Void)

    /// Revokes a key because its successor has signed, tells every cache, and notes it in the audit
    /// log. False, and nothing changes, if that was done before, or if the key is not active.
    /// Replies after the commit.
    func retire(
        _ retirement: KeyRetirement, by author: AuditAuthor,
        reply: @escaping @Sendable (Result<Bool, StoreError>) -> Void)

    /// Accepts `counter` if it is above every counter accepted so far. Replies after the commit.
    func advanceDurably(
        _ keyID: KeyID, counter: UInt32,
        reply: @escaping @Sendable (Result<DurableOutcome, StoreError>) -> Void)

    /// The user for whom the key was used last; nil if it was used for none. The user's keys count
    /// if they were used since `countedSince`, in milliseconds since 1970.
    func findUser(
        of keyID: KeyID, countedSince: Int64,
        reply: @escaping @Sendable (Result<UserKeys?, StoreError>) -> Void)

    /// Notes the user for whom a key was used. Nil if the key is not active (any more): then
    /// nothing is noted.
    func note(
        _ sighting: KeySighting,
        reply: @escaping @Sendable (Result<UserKeys?, StoreError>) -> Void)

    /// Keeps Apple's bits of the device of a key, and tells every cache. False, and nothing is
    /// kept, if the key is not known, or erased. Replies after the commit.
    func keep(
        _ bits: DeviceBits, of keyID: KeyID,
        reply: @escaping @Sendable (Result<Bool, StoreError>) -> Void)

    /// Forgets, lazily, what is too old to be of use.
    func forget(_ expiry: RegistryExpiry)

    /// Raises the counter floors of the keys that the registry knows. Replies after the commit.
    func raiseFloors(
        _ floors: [(keyID: KeyID, counter: UInt32)],
        reply: @escaping @Sendable (Result<Void, StoreError>) -> Void)

    /// Asks whether the store answers, for readiness.
    func probe(reply: @escaping @Sendable (Result<Void, StoreError>) -> Void)

    /// The age of the knowledge of changes by others. Nil for a registry that no other process can
    /// change.
    var hearing: ChangeHearing? { get }

    /// The write-ahead log. Nil for a registry that is no file.
    var writeAheadLog: RegistryLog? { get }

    /// Called on a thread of the registry whenever keys were changed by another process.
    func onChange(_ handler: @escaping @Sendable (RegistryChange) -> Void)

    /// Ends the registry's thread after everything asked before is done.
    func close()
}

extension Registry {
    /// Looks up one key.
    public func find(
        _ keyID: KeyID, reply: @escaping @Sendable (Result<KeyRecord?, StoreError>) -> Void
    ) { find([RegistryLookUp(keyID, reply: reply)]) }

    /// Stores a new key that begins an installation.
    public func enrol(
        _ record: KeyRecord, challenge: Bytes16,
        reply: @escaping @Sendable (Result<EnrolmentOutcome, StoreError>) -> Void
    ) { enrol(record, challenge: challenge, succeeding: nil, reply: reply) }

    public var hearing: ChangeHearing? { nil }

    public var writeAheadLog: RegistryLog? { nil }

    public var hasKeysAtHand: Bool { false }

    public func readAtHand(_ keyIDs: [KeyID]) -> [KeyAtHand] {
        Array(repeating: .notAtHand, count: keyIDs.count)
    }
}
