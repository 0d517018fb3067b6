public import Attestation
public import Bytes
public import Crypto

/// Verifies Android key attestations: once per key, when a phone enrols.
///
/// Pure: the time is an argument. Remotely provisioned certificates live for days, so an enrolment
/// is decided at the moment at which it came.
public struct AndroidAttestationVerifier: Sendable {
    private let roots: [AndroidRoot]
    private let apps: [AppIdentity]
    private let clockSkewSeconds: Int64

    /// The numbers of certificates of a chain. Phones send 3 to 5, the first being of software; the
    /// sixth is to spare.
    public static let certificateCounts = 3...6
    /// The most bytes of a certificate. The longest ones seen have 2,600.
    public static let certificateByteCountMax = 4096

    /// - `roots`: ``AndroidRoots/published``, and those that the operator adds. The holder of the
    ///   private key of any of them can enrol anything.
    /// - `apps`: the apps whose keys are accepted, those of other platforms among them or not.
    /// - `clockSkewSeconds`: how far the clock here may be off when certificate dates are judged.
    public init(roots: [AndroidRoot], apps: [AppIdentity], clockSkewSeconds: Int64) {
        self.roots = roots
        self.apps = apps
        self.clockSkewSeconds = clockSkewSeconds
    }

    /// Verifies a chain of certificates in DER, leaf first.
    ///
    /// - `challenge`: the challenge as the app got it. If it has more than 128 bytes, the phone
    ///   must
    ///   attest its SHA-256.
    /// - `otherChallenge`: the other bytes that the app may have used, if the challenge has two
    ///   spellings. All else is checked once.
    /// - `keyID`: the key id that the client names.
    /// - `revocations`: the list in force; nil looks up nothing.
    /// - `seconds`: the moment of receipt, since 1970.
    public func verify(
        chain: [[UInt8]], challenge: [UInt8], otherChallenge: [UInt8]? = nil, keyID: KeyID,
        revocations: RevocationList?, at seconds: Int64
    ) throws(AndroidAttestationFailure) -> VerifiedAndroidAttestation {
        var count = 0
        return try verify(
            chain: chain, challenge: challenge, otherChallenge: otherChallenge, keyID: keyID,
            revocations: revocations, at: seconds, signatureCheckCount: &count)
    }

    /// Counts the signatures that it checks, which bound the cost of a hostile chain.
    package func verify(
        chain: [[UInt8]], challenge: [UInt8], otherChallenge: [UInt8]? = nil, keyID: KeyID,
        revocations: RevocationList?, at seconds: Int64, signatureCheckCount: inout Int
    ) throws(AndroidAttestationFailure) -> VerifiedAndroidAttestation {
        let chain = try AndroidChain(chain)
        // Everything that needs no signature.
        let publicKey = try ChainChecks.leafKey(of: chain)
        let root = try ChainChecks.root(of: chain, among: roots)
        try ChainChecks.names(of: chain)
        let extensionValue = try ChainChecks.extensions(of: chain)
        try ChainChecks.issuerKeys(of: chain)
        let provisioning = try AndroidProvisioning(of: chain)
        try KeyChecks.keyID(keyID, of: publicKey)

        try ChainChecks.signatures(of: chain, root: root, count: &signatureCheckCount)
        guard ChainChecks.isOnCurve(publicKey) else { throw .leafKey }
        try ChainChecks.validity(
            of: chain, provisioning, at: seconds, skewSeconds: clockSkewSeconds)
        if let revocations { try ChainChecks.revocation(of: chain, revocations) }

        // The chain is genuine: what its leaf says is what the phone has written.
        let description = try KeyChecks.description(extensionValue)
        try KeyChecks.challenge(challenge, or: otherChallenge, in: description)
        try KeyChecks.tagOrder(description)
        try KeyChecks.deviceIdentifiers(description)
        let owners = try AppChecks.apps(
            of: AppChecks.applicationID(of: description), among: apps)
        guard let app = owners.first else { throw .package }
        for owner in owners {
            guard let demands = owner.androidDemands else { throw .package }
            try Self.check(
                description, KeyPolicy(demands), at: seconds,
                isStrongBoxChain: provisioning.isStrongBox(chain))
        }
        return VerifiedAndroidAttestation(
            keyID: keyID, publicKey: publicKey, app: app, description: description,
            chain: chain, provisioning: provisioning)
    }

    private static func check(
        _ description: KeyDescription, _ policy: KeyPolicy, at seconds: Int64,
        isStrongBoxChain: Bool
    ) throws(AndroidAttestationFailure) {
        try KeyChecks.securityLevel(description, isStrongBoxChain: isStrongBoxChain, policy)
        try KeyChecks.origin(description)
        try KeyChecks.parameters(description)
        try KeyChecks.purpose(description)
        try KeyChecks.digest(description)
        try KeyChecks.allApplications(description)
        try KeyChecks.bootState(description, policy)
        try KeyChecks.patchLevel(description, policy, at: seconds)
    }
}

/// A key that a phone's hardware vouches for. Only ``AndroidAttestationVerifier`` makes one.
public struct VerifiedAndroidAttestation: Hashable, Sendable {
    /// SHA-256 of ``publicKey``, the name of the key from now on.
    public let keyID: KeyID
    /// The key that verifies the phone's signatures.
    public let publicKey: P256PublicKey
    /// The configured app that made the key. If several share a user id, the first of them in the
    /// configuration.
    public let app: AppIdentity
    /// Development if that is the app's only environment. Nothing in an attestation tells a debug
    /// build but its signing certificate, which the app lists.
    public let environment: AttestEnvironment
    /// The place that keeps the key.
    public let securityLevel: AndroidSecurityLevel
    /// The version of Android as MMmmss; nil if it is not stated, 0 on some phones.
    public let osVersion: Int64?
    /// The security patch level as YYYYMM; nil if it is not stated, 0 on some phones.
    public let osPatchLevel: Int64?
    /// The serial numbers of the chain, leaf first. A later revocation list may name one of them.
    public let serials: [CertificateSerial]
    /// The way by which the phone got the key that vouches for this one.
    public let provisioning: AndroidProvisioning

    /// The serial number of the certificate of the key that the phone was given. Up to 100,000
    /// phones share a factory one.
    public let attestationSerial: CertificateSerial
    /// The SHA-256 of that certificate's SubjectPublicKeyInfo.
    public let attestationKeyDigest: Bytes32

    fileprivate init(
        keyID: KeyID, publicKey: P256PublicKey, app: AppIdentity, description: KeyDescription,
        chain: AndroidChain, provisioning: AndroidProvisioning
    ) {
        self.keyID = keyID
        self.publicKey = publicKey
        self.app = app
        environment = app.environments.contains(.production) ? .production : .development
        securityLevel = description.keyMintSecurityLevel
        osVersion = description.hardwareEnforced.osVersion
        osPatchLevel = description.hardwareEnforced.osPatchLevel
        serials = chain.serials
        attestationSerial = chain.attestation.serial
        attestationKeyDigest = SHA256.hash(chain.attestation.keyInfo)
        self.provisioning = provisioning
    }
}
