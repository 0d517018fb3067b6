public import Attestation

/// The claim of an enrolment, by a ticket of the gateway, that its key takes the place of another.
public struct SuccessionClaim: Hashable, Sendable {
    /// The key that the ticket was given to.
    public let predecessor: KeyID
    public let installation: InstallationID

    public init(predecessor: KeyID, installation: InstallationID) {
        self.predecessor = predecessor
        self.installation = installation
    }
}

/// A registry's verdict on a ``SuccessionClaim``.
public enum SuccessionVerdict: Hashable, Sendable {
    /// The key takes this place.
    case inherits(KeySuccession)
    /// The ticket is not the newest one of its installation, or its key is erased or not known. The
    /// key begins an installation of its own.
    case begins
    /// The newest key of the installation is revoked, and not by its successor.
    case revoked
}

extension SuccessionClaim {
    /// The verdict by the record of the predecessor, and by that of the installation's newest key,
    /// which is needed only if the predecessor has a successor. Nil for a key that is not known.
    ///
    /// An erased key counts as unknown, as it does in requests: nothing may lead back to what was
    /// erased, and its owner is not locked out.
    public func verdict<Failure: Error>(
        predecessor: KeyRecord?, newest: () throws(Failure) -> KeyRecord?
    ) throws(Failure) -> SuccessionVerdict {
        guard let predecessor, predecessor.status != .erased else { return .begins }
        guard predecessor.succession?.successor == nil else {
            guard let newest = try newest(), newest.status == .revoked else { return .begins }
            return newest.succession?.isRetired == true ? .begins : .revoked
        }
        guard predecessor.status == .active else { return .revoked }
        return .inherits(
            KeySuccession(
                installation: installation,
                generation: (predecessor.succession?.generation ?? 0) + 1,
                beganAt: predecessor.succession?.beganAt ?? predecessor.enrolledAt,
                predecessor: predecessor.keyID, retiresPredecessor: true))
    }
}

/// The order to revoke a key because its successor has signed.
public struct KeyRetirement: Hashable, Sendable {
    public let predecessor: KeyID
    public let successor: KeyID

    public init(predecessor: KeyID, successor: KeyID) {
        self.predecessor = predecessor
        self.successor = successor
    }

    /// The author of the entry in the audit log. `requestID`: that of the request that the
    /// successor has signed.
    public static func author(requestID: String) -> AuditAuthor {
        AuditAuthor(way: .gateway, name: "succession", origin: "", requestID: requestID)
    }

    package var auditNote: AuditNote {
        AuditNote(
            .revokeKey, predecessor.base64, outcome: AdministrationOutcome.done.word,
            detail: "succeeded by \(successor.base64)")
    }
}
