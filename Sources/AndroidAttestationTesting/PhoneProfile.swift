public import AndroidAttestation
public import Bytes

/// What a simulated phone is, and in which state.
///
/// The defaults are a phone of 2024 with a TEE that passes the default policy.
public struct PhoneProfile: Sendable, Hashable {
    /// The way by which the phone got the key that vouches for others.
    public enum Provisioning: String, Sendable, Hashable, CaseIterable {
        case factory
        case remote
    }

    /// The apps that share the user id of the one that makes the key.
    public var packages: [String]
    public var packageVersion: Int64 = 1
    /// SHA-256 of each certificate that has signed them.
    public var signingDigests: [Bytes32]
    public var securityLevel = AndroidSecurityLevel.trustedEnvironment
    public var provisioning = Provisioning.factory
    /// The number of certificates issued to the phone in 30 days, as a server states it.
    public var certificatesIssued: UInt64 = 16
    /// The version: 1 to 4 of Keymaster, 100 to 500 of KeyMint.
    public var attestationVersion: Int64 = 300
    public var bootState = RootOfTrust.BootState.verified
    public var isLocked = true
    public var bootKey = Bytes32(word0: 1, word1: 2, word2: 3, word3: 4)
    /// The version of Android as MMmmss.
    public var osVersion: Int64 = 140_000
    /// The security patch level as YYYYMM.
    public var osPatchLevel: Int64 = 202_609
    public var purposes: [Int64] = [2]
    public var digests: [Int64] = [4]
    public var quirks: Set<PhoneQuirk> = []

    public init(package: String, signingDigest: Bytes32) {
        packages = [package]
        signingDigests = [signingDigest]
    }
}

/// What real phones write and no standard allows. Every verifier must accept it.
public enum PhoneQuirk: String, Sendable, Hashable, CaseIterable {
    /// `deviceLocked` TRUE is 0x01.
    case lockedAsOne
    /// The flag of a critical extension is 0x01.
    case criticalAsOne
    /// The elements of a SET OF are not sorted: `4, 0`.
    case unsortedSets
    /// The issuers are no CAs by their basic constraints.
    case issuersAreNoCA
    /// The leaf has a distribution point of one zero byte.
    case unreadableDistributionPoint
    /// The leaf ends before it begins, in 1969.
    case leafEndsIn1969
    /// Times before 2050 have years of four digits.
    case generalizedTimes
    /// The factory's certificates expired years ago.
    case issuersExpired
    /// The versions of the system and its patches are 0.
    case zeroVersions
    /// The key may also verify.
    case signAndVerify
    /// The algorithm of ECDSA has NULL parameters.
    case nullParameters
    /// The attestation certificate, whose key is on P-256, signs with SHA-384.
    case sha384OnP256
    /// Neither the curve nor the size of the key is stated.
    case noCurve
    /// The time of creation stands among what the hardware enforces.
    case creationTimeInHardware
    /// The vendor's patch level has no day.
    case shortVendorPatchLevel
    /// The leaf has Samsung's own extension.
    case knoxExtension
    /// The attestation names the brand, model and maker.
    case deviceProperties
    /// A tag that is not known stands between others.
    case unknownTag
    /// The server wrote no provisioning extension, as until 2023.
    case noProvisioningInfo
}
