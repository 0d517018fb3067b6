import Attestation
import KeyStore
import SQLite

/// Keys that take the place of others. The caller runs the transactions.
extension RegistryTables {
    func verdict(on claim: SuccessionClaim) throws(SQLiteError) -> SuccessionVerdict {
        let predecessor = try find(claim.predecessor, withReceipt: false)
        return try claim.verdict(predecessor: predecessor) { () throws(SQLiteError) in
            guard let newest = try installations.newestKey(of: claim.installation) else {
                return nil
            }
            return try find(newest, withReceipt: false)
        }
    }

    /// The newest key of the installation, if it is active and not the key itself.
    func newerKey(than keyID: KeyID) throws(SQLiteError) -> NewerKey? {
        guard let installation = try installations.succession(of: keyID)?.installation,
            let newest = try installations.newestKey(of: installation), newest != keyID,
            try find(newest, withReceipt: false)?.status == .active
        else { return nil }
        return NewerKey(keyID: newest, installation: installation)
    }

    /// Names `keyID`, which has its row, the successor of its predecessor, and gives it the other
    /// key's users. They are moved and not copied, so that both keys count as one of each user's.
    func handOver(to keyID: KeyID, _ place: KeySuccession) throws(SQLiteError) {
        guard let predecessor = place.predecessor else { return }
        if place.generation == 1 {
            let first = KeySuccession(
                installation: place.installation, generation: 0, beganAt: place.beganAt)
            try installations.insert(first, of: predecessor)
        }
        try installations.setSuccessor(keyID, of: predecessor)
        let moved = try connection.prepare(
            "UPDATE key_users SET key_id = ?2 WHERE key_id = ?1")
        try moved.bind(1, blob: predecessor.digest)
        try moved.bind(2, blob: keyID.digest)
        try moved.run()
    }

    /// Revokes the predecessor. False if this was done before, or if it is not active.
    func retire(_ retirement: KeyRetirement) throws(SQLiteError) -> Bool {
        guard try installations.settle(retirement),
            try find(retirement.predecessor, withReceipt: false)?.status == .active
        else { return false }
        try installations.setRetired(retirement.predecessor)
        return try setStatus(retirement.predecessor, .revoked)
    }
}
