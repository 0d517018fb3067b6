public import Attestation
public import KeyStore

/// Keys by the rules of a registry, for registries that tests keep in memory.
extension [KeyID: KeyRecord] {
    /// Adds a key that is not there yet.
    public mutating func enrol(
        _ record: KeyRecord, succeeding claim: SuccessionClaim?
    ) -> EnrolmentOutcome {
        let newest = values.filter {
            $0.succession != nil && $0.installation == claim?.installation
        }
        .max { ($0.succession?.generation ?? 0) < ($1.succession?.generation ?? 0) }
        let verdict = claim?.verdict(predecessor: self[claim?.predecessor ?? record.keyID]) {
            newest
        }
        switch verdict {
        case .revoked: return .installationRevoked
        case .begins, nil:
            self[record.keyID] = record
            return .enrolled
        case .inherits(let place):
            self[record.keyID] = record
            self[record.keyID]?.succession = place
            guard let predecessor = place.predecessor else { return .enrolled }
            var former =
                self[predecessor]?.succession
                ?? KeySuccession(
                    installation: place.installation, generation: 0, beganAt: place.beganAt)
            former.successor = record.keyID
            self[predecessor]?.succession = former
            return .succeeded(place.installation)
        }
    }

    /// The outcome for an active key that is there already.
    public func again(_ keyID: KeyID) -> EnrolmentOutcome {
        (self[keyID]?.succession?.installation).map(EnrolmentOutcome.alreadySucceeded)
            ?? .alreadyEnrolled
    }

    /// Revokes the predecessor. False if that was done before, or if it is not active.
    public mutating func retire(_ retirement: KeyRetirement) -> Bool {
        guard self[retirement.successor]?.succession?.retiresPredecessor == true else {
            return false
        }
        self[retirement.successor]?.succession?.retiresPredecessor = false
        guard self[retirement.predecessor]?.status == .active else { return false }
        self[retirement.predecessor]?.status = .revoked
        self[retirement.predecessor]?.succession?.isRetired = true
        return true
    }
}
