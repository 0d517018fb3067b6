import Attestation

/// The checks of the apps that own a key.
enum AppChecks {
    static func applicationID(
        of description: KeyDescription
    ) throws(AndroidAttestationFailure) -> AttestationApplicationID {
        guard let id = description.softwareEnforced.applicationID else { throw .packageMissing }
        return id
    }

    /// The configured apps that own the key: every package is one of `apps`, and every certificate
    /// that has signed it is one of that app's.
    ///
    /// Packages that share a user id share their keys, so one that is not configured could use the
    /// key. The apps are returned in the order of `apps`, at least one.
    static func apps(
        of id: AttestationApplicationID, among apps: [AppIdentity]
    ) throws(AndroidAttestationFailure) -> [AppIdentity] {
        let known = apps.filter { $0.platform == .android }
        var owners: Set<Int> = []
        for package in id.packages {
            let candidates = known.indices.filter { known[$0].id == package.name }
            guard !candidates.isEmpty else { throw .package }
            let owner = candidates.first { index in
                known[index].androidDemands.map { demands in
                    id.signingDigests.allSatisfy(demands.signingDigests.contains)
                } ?? false
            }
            guard let owner else { throw .signingDigest }
            owners.insert(owner)
        }
        return owners.sorted().map { known[$0] }
    }
}
