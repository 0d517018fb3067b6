import Attestation
import Bytes

extension Explanation {
    /// The checks of a key description, and what it says.
    mutating func explainKey(
        _ value: [UInt8], isStrongBoxChain: Bool?, _ expected: AndroidExpectations
    ) {
        let description: KeyDescription
        do throws(AndroidAttestationFailure) {
            description = try KeyChecks.description(value)
            pass("key_description", "attestation version \(description.attestationVersion)")
        } catch {
            return fail("key_description", code: error.code, error.description)
        }
        check("challenge", "the key was made for the challenge") {
            () throws(AndroidAttestationFailure) in
            guard let challenge = expected.challenge else {
                return "no challenge was given to compare"
            }
            try KeyChecks.challenge(challenge, in: description)
            return nil
        }
        check("tag_order", "the tags of both authorization lists ascend") {
            () throws(AndroidAttestationFailure) in
            try KeyChecks.tagOrder(description)
            return nil
        }
        check("device_identifiers", "no serial number, IMEI or MEID is attested") {
            () throws(AndroidAttestationFailure) in
            try KeyChecks.deviceIdentifiers(description)
            return nil
        }
        checkApp(description, expected)
        checkAuthorizations(description, isStrongBoxChain: isStrongBoxChain, expected)
        addFields(of: description)
    }

    private mutating func checkApp(
        _ description: KeyDescription, _ expected: AndroidExpectations
    ) {
        check("package", "every package that owns the key is expected") {
            () throws(AndroidAttestationFailure) in
            let id = try AppChecks.applicationID(of: description)
            let names = expected.packageNames
            guard !names.isEmpty else { return "no package was given to compare" }
            guard id.packages.allSatisfy({ names.contains($0.name) }) else {
                throw .package
            }
            return nil
        }
        check("signing_digest", "every certificate that has signed them is expected") {
            () throws(AndroidAttestationFailure) in
            if let id = description.softwareEnforced.applicationID, !expected.apps.isEmpty {
                return try Self.checkDigests(id, expected.apps)
            }
            guard !expected.signingDigests.isEmpty else {
                return "no signing digest was given to compare"
            }
            guard let id = description.softwareEnforced.applicationID else {
                return "the app is not known"
            }
            guard id.signingDigests.allSatisfy(expected.signingDigests.contains) else {
                throw .signingDigest
            }
            return nil
        }
    }

    /// The check that each package has the digests of a configured app of its name.
    private static func checkDigests(
        _ id: AttestationApplicationID, _ apps: [AppIdentity]
    ) throws(AndroidAttestationFailure) -> String? {
        do throws(AndroidAttestationFailure) {
            _ = try AppChecks.apps(of: id, among: apps)
            return nil
        } catch {
            guard error == .package else { throw error }
            return "no digests are known of a package that is not configured"
        }
    }

    /// The checks of what the key may do, and of the phone.
    private mutating func checkAuthorizations(
        _ description: KeyDescription, isStrongBoxChain: Bool?, _ expected: AndroidExpectations
    ) {
        let policy = expected.policy(for: description.softwareEnforced.applicationID)
        func step(
            _ name: String, _ claim: String, _ body: () throws(AndroidAttestationFailure) -> Void
        ) {
            check(name, claim) { () throws(AndroidAttestationFailure) -> String? in
                try body()
                return nil
            }
        }
        step("security_level", "the key is at least at level \(policy.securityLevelMin.name)") {
            () throws(AndroidAttestationFailure) in
            try KeyChecks.securityLevel(description, isStrongBoxChain: isStrongBoxChain, policy)
        }
        step("origin", "the key was generated there") { () throws(AndroidAttestationFailure) in
            try KeyChecks.origin(description)
        }
        step("key_parameters", "an EC key on P-256") { () throws(AndroidAttestationFailure) in
            try KeyChecks.parameters(description)
        }
        step("purpose", "the key signs, and does nothing but verify besides") {
            () throws(AndroidAttestationFailure) in
            try KeyChecks.purpose(description)
        }
        step("digest", "the key signs SHA-256") { () throws(AndroidAttestationFailure) in
            try KeyChecks.digest(description)
        }
        step("all_applications", "the key is bound to the app that made it") {
            () throws(AndroidAttestationFailure) in
            try KeyChecks.allApplications(description)
        }
        checkSystem(description, policy, at: expected.seconds)
    }

    /// The checks of the phone's system.
    private mutating func checkSystem(
        _ description: KeyDescription, _ policy: KeyPolicy, at seconds: Int64
    ) {
        let systems =
            policy.bootKeys.isEmpty ? "its maker's system" : "a system that is allowed"
        check("boot_state", "the phone is locked and booted \(systems)") {
            () throws(AndroidAttestationFailure) in
            if policy.acceptsAnyBootState { return "any boot state is accepted" }
            try KeyChecks.bootState(description, policy)
            return nil
        }
        check("patch_level", "the security patch is no older than demanded") {
            () throws(AndroidAttestationFailure) in
            if policy.patchAgeMaxDays == nil { return "any patch level is accepted" }
            try KeyChecks.patchLevel(description, policy, at: seconds)
            return nil
        }
    }

    private mutating func addFields(of description: KeyDescription) {
        let list = description.hardwareEnforced
        add("attestation_version", description.attestationVersion)
        add("security_level", description.attestationSecurityLevel.name)
        if let root = list.rootOfTrust {
            add("verified_boot", root.bootState.name)
            add("device_locked", root.isDeviceLocked)
            add("verified_boot_key", Hex.encode(root.verifiedBootKey))
        }
        add("os_version", list.osVersion)
        add("os_patch_level", list.osPatchLevel)
        let id = description.softwareEnforced.applicationID
        add("package_names", id?.packages.map(\.name) ?? [])
        add("signing_digests", id?.signingDigests.map { Hex.encode($0.array) } ?? [])
        add("challenge", Base64.encode(description.attestationChallenge))
    }
}
