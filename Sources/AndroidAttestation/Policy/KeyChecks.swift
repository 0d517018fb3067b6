import Attestation
import Bytes
import Crypto

/// The checks of a key description, one function each, in order.
/// ``AndroidAttestationVerifier`` runs them for the gateway, an explanation to show each outcome.
enum KeyChecks {
    /// The longest challenge that phones take. Of a longer one both sides use the SHA-256.
    static let challengeByteCountMax = 128
    private static let sign: Int64 = 2
    private static let verify: Int64 = 3
    private static let ec: Int64 = 3
    private static let p256: Int64 = 1
    private static let p256BitCount: Int64 = 256
    private static let sha256: Int64 = 4
    private static let generated: Int64 = 0

    static func description(
        _ value: [UInt8]
    ) throws(AndroidAttestationFailure) -> KeyDescription {
        do {
            return try KeyDescription(inAnyOrder: value.span)
        } catch {
            throw .keyDescriptionMalformed(error)
        }
    }

    static func keyID(
        _ keyID: KeyID, of publicKey: P256PublicKey
    ) throws(AndroidAttestationFailure) {
        guard KeyID(of: publicKey) == keyID else { throw .keyIDMismatch }
    }

    /// The key was made for this challenge, or for its other spelling.
    static func challenge(
        _ challenge: [UInt8], or other: [UInt8]? = nil, in description: KeyDescription
    ) throws(AndroidAttestationFailure) {
        func isAttested(_ challenge: [UInt8]) -> Bool {
            let expected =
                challenge.count > challengeByteCountMax ? SHA256.hash(challenge).array : challenge
            return !expected.isEmpty && description.attestationChallenge == expected
        }
        guard isAttested(challenge) || other.map(isAttested) == true else {
            throw .challengeMismatch
        }
    }

    static func tagOrder(_ description: KeyDescription) throws(AndroidAttestationFailure) {
        guard description.hasAscendingTags else { throw .tagOrder }
    }

    /// The app asked for no identifier of the device: an API has no use for one.
    static func deviceIdentifiers(
        _ description: KeyDescription
    ) throws(AndroidAttestationFailure) {
        guard !description.softwareEnforced.hasDeviceIdentifiers,
            !description.hardwareEnforced.hasDeviceIdentifiers
        else { throw .deviceIdentifiers }
    }

    /// The key and what vouches for it are in the same place, which is good enough, and which the
    /// chain confirms.
    static func securityLevel(
        _ description: KeyDescription, isStrongBoxChain: Bool?, _ policy: KeyPolicy
    ) throws(AndroidAttestationFailure) {
        let level = description.attestationSecurityLevel
        guard level == description.keyMintSecurityLevel else { throw .securityLevel(.unequal) }
        guard level >= policy.securityLevelMin else { throw .securityLevel(.tooLow(level)) }
        guard level != .strongBox || isStrongBoxChain != false else {
            throw .securityLevel(.notConfirmed)
        }
    }

    /// The key was generated where it is, and not imported.
    static func origin(_ description: KeyDescription) throws(AndroidAttestationFailure) {
        guard description.enforced.origin == generated else { throw .origin }
    }

    /// The key is an EC key on P-256. The size and the curve may be missing, as the StrongBox of
    /// 2018 leaves both out; the certificate's key is on P-256 in any case.
    static func parameters(_ description: KeyDescription) throws(AndroidAttestationFailure) {
        let list = description.enforced
        guard list.algorithm == ec, (list.keySize ?? p256BitCount) == p256BitCount,
            (list.ecCurve ?? p256) == p256
        else { throw .keyParameters }
    }

    /// The key signs, perhaps verifies, and does nothing else.
    static func purpose(_ description: KeyDescription) throws(AndroidAttestationFailure) {
        let purposes = description.enforced.purposes
        guard purposes.contains(sign), purposes.allSatisfy({ $0 == sign || $0 == verify }) else {
            throw .purpose
        }
    }

    static func digest(_ description: KeyDescription) throws(AndroidAttestationFailure) {
        guard description.enforced.digests.contains(sha256) else { throw .digest }
    }

    /// The key is bound to the app that made it.
    static func allApplications(
        _ description: KeyDescription
    ) throws(AndroidAttestationFailure) {
        guard !description.softwareEnforced.isForAllApplications,
            !description.hardwareEnforced.isForAllApplications
        else { throw .allApplications }
    }

    /// The phone is locked and booted its maker's system, or one whose key is allowed. The secure
    /// hardware must say so; what the system says of itself is worth nothing.
    static func bootState(
        _ description: KeyDescription, _ policy: KeyPolicy
    ) throws(AndroidAttestationFailure) {
        if policy.acceptsAnyBootState { return }
        guard let root = description.hardwareEnforced.rootOfTrust else { throw .rootOfTrustMissing }
        guard root.isDeviceLocked else { throw .deviceUnlocked }
        switch root.bootState {
        case .verified: return
        case .selfSigned:
            let key = Bytes32(root.verifiedBootKey)
            guard let key, policy.bootKeys.contains(key) else { throw .verifiedBoot(.selfSigned) }
        case .unverified, .failed: throw .verifiedBoot(root.bootState)
        }
    }

    /// The patch level's month began no longer ago than allowed.
    static func patchLevel(
        _ description: KeyDescription, _ policy: KeyPolicy, at seconds: Int64
    ) throws(AndroidAttestationFailure) {
        guard let days = policy.patchAgeMaxDays else { return }
        guard let level = description.hardwareEnforced.osPatchLevel, (0...999_912).contains(level),
            let month = CivilTime.secondsSince1970(
                year: Int(level / 100), month: Int(level % 100), day: 1, hour: 0, minute: 0,
                second: 0)
        else { throw .patchLevel }
        let (age, isUnbounded) = seconds.subtractingReportingOverflow(month)
        guard !isUnbounded, age / 86_400 <= Int64(days) else { throw .patchLevel }
    }
}
