public import Attestation
package import Bytes
public import Crypto

/// Verifies attestations: once per key, when a device enrols.
///
/// Pure: the current time is an argument, because a leaf lives about three days and an attestation
/// is judged by the moment at which it came.
public struct AttestationVerifier: Sendable {
    private let roots: [Certificate]
    private let apps: [AppIdentity]
    private let clockSkewSeconds: Int64
    private let macFullSecurityDigest: Bytes32

    /// The most bytes of an attestation object. Real ones have 5 to 8 KB; most of it is the
    /// receipt, which has grown over the years.
    public static let byteCountMax = 16 * 1024

    /// - `roots`: ``AppleRoots/appAttestation``, or others in tests. The holder of the private key
    ///   of any of them can enrol anything.
    /// - `apps`: the apps whose keys are accepted, with their environments.
    /// - `clockSkewSeconds`: how far the clock here may be off when certificate dates are judged.
    public init(roots: [Certificate], apps: [AppIdentity], clockSkewSeconds: Int64) {
        self.init(
            roots: roots, apps: apps, clockSkewSeconds: clockSkewSeconds,
            macFullSecurityDigest: LeafCertificate.macFullSecurityDigest)
    }

    /// `macFullSecurityDigest`: for tests, because simulated Macs cannot write the list of a real
    /// one.
    package init(
        roots: [Certificate], apps: [AppIdentity], clockSkewSeconds: Int64,
        macFullSecurityDigest: Bytes32
    ) {
        self.roots = roots
        self.apps = apps
        self.clockSkewSeconds = clockSkewSeconds
        self.macFullSecurityDigest = macFullSecurityDigest
    }

    /// Runs Apple's nine checks in their order.
    ///
    /// - `object`: the CBOR that the app got from `attestKey(_:clientDataHash:)`.
    /// - `clientDataHash`: the hash that the app passed there: SHA-256 of the challenge in nearly
    ///   all apps; any other length is taken as it is (Apple's published samples pass the challenge
    ///   itself).
    /// - `otherHash`: makes the other hash that the app may have passed, if a challenge has two
    ///   spellings. It is called only if the nonce does not match the first. All else is checked
    ///   once.
    /// - `keyID`: the key id that the client names.
    /// - `seconds`: the moment of receipt, since 1970.
    public func verify(
        _ object: Span<UInt8>, clientDataHash: [UInt8], otherHash: () -> [UInt8]? = { nil },
        keyID: KeyID, at seconds: Int64
    ) throws(AttestationFailure) -> VerifiedAttestation {
        let (attestation, certificates, data) = try Self.parse(object)
        guard let leaf = certificates.first else { throw .malformed(.certificateCount(0)) }
        // Check 1: certificates.
        try AttestationChecks.certificateChain(
            certificates, roots: roots, at: seconds, skewSeconds: clockSkewSeconds)
        let publicKey = try AttestationChecks.publicKey(of: leaf)
        // Checks 2 and 3: the nonce, made here, is in the leaf.
        let nonce = Nonce.make(attestation.authenticatorData.span, clientDataHash)
        do throws(AttestationFailure) {
            try AttestationChecks.nonce(nonce, in: leaf)
        } catch {
            guard error == .nonceMismatch, let other = otherHash() else { throw error }
            try AttestationChecks.nonce(
                Nonce.make(attestation.authenticatorData.span, other), in: leaf)
        }
        // Check 4: key id.
        try AttestationChecks.keyID(keyID, of: publicKey)
        // Check 5: app.
        let app = try AttestationChecks.app(of: data, among: apps)
        // Check 6: counter.
        try AttestationChecks.counter(of: data)
        // Check 7: environment.
        let environment = try AttestationChecks.environment(of: data, allowed: app.environments)
        // Check 8: credential id.
        try AttestationChecks.credentialID(of: data, equals: keyID)
        // Check 9: the key itself.
        try AttestationChecks.credentialPublicKey(of: data, equals: publicKey)
        try AttestationChecks.leafProfile(leaf, keyID: keyID, appID: app.id)
        // Not Apple's check but the operator's: which kinds of Mac are accepted.
        let macSecurity = MacSecurity(of: leaf, full: macFullSecurityDigest)
        try AttestationChecks.macSecurity(macSecurity, of: app)
        return VerifiedAttestation(
            keyID: keyID, publicKey: publicKey, app: app, environment: environment,
            receipt: attestation.receipt, extensions: data.extensions ?? ExtensionData(),
            leaf: leaf, macSecurity: macSecurity)
    }

    private static func parse(
        _ object: Span<UInt8>
    ) throws(AttestationFailure) -> (UnverifiedAttestation, [Certificate], AuthenticatorData) {
        do {
            let attestation = try UnverifiedAttestation(parsing: object)
            return (
                attestation, try attestation.certificates(),
                try AuthenticatorData(attestation: attestation.authenticatorData.span)
            )
        } catch {
            throw .malformed(error)
        }
    }
}

/// A key that Apple vouches for. Only ``AttestationVerifier`` makes one.
public struct VerifiedAttestation: Hashable, Sendable {
    /// SHA-256 of ``publicKey``, the name of the key from now on.
    public let keyID: KeyID
    /// The key that verifies the key's assertions.
    public let publicKey: P256PublicKey
    /// The configured app that made the key.
    public let app: AppIdentity
    /// The service of Apple that vouched for the key.
    public let environment: AttestEnvironment
    /// The receipt as it came, or nil if the attestation has none. It is unverified: the nonce does
    /// not cover it, so a genuine attestation may carry a damaged one. Verify it with
    /// ``ReceiptVerifier`` before you keep or send it.
    public let receipt: [UInt8]?
    /// The report of iOS 27 and macOS 27 about the app; empty from earlier systems.
    public let extensions: ExtensionData
    /// The first second of the leaf's validity, since 1970.
    public let leafNotBefore: Int64
    /// The last second of the leaf's validity, since 1970.
    public let leafNotAfter: Int64
    /// The key's access control list (extension 1.2.840.113635.100.8.6), from iOS 26.2 on.
    public let accessControl: [UInt8]?
    /// The security of the Mac that made the key, as ``accessControl`` states it.
    public let macSecurity: MacSecurity
    /// The operating system by the leaf's extension 1.2.840.113635.100.8.7; empty on the oldest
    /// systems.
    public let systemVersion: SystemVersion

    /// The interval, in seconds since 1970, in which the attestation's receipt can have been made:
    /// at the same time as the leaf, within its validity, and not after `now`.
    public func receiptCreation(upTo now: Int64, skewSeconds: Int64) -> ClosedRange<Int64> {
        let first = leafNotBefore - skewSeconds
        return first...max(first, min(leafNotAfter, now) + skewSeconds)
    }

    fileprivate init(
        keyID: KeyID, publicKey: P256PublicKey, app: AppIdentity, environment: AttestEnvironment,
        receipt: [UInt8]?, extensions: ExtensionData, leaf: Certificate, macSecurity: MacSecurity
    ) {
        self.keyID = keyID
        self.publicKey = publicKey
        self.app = app
        self.environment = environment
        self.receipt = receipt
        self.extensions = extensions
        leafNotBefore = leaf.notBefore
        leafNotAfter = leaf.notAfter
        accessControl = leaf.extensionValue(oid: LeafCertificate.accessControlOID)
            .flatMap { LeafCertificate.accessControl(in: $0) }
        self.macSecurity = macSecurity
        systemVersion = SystemVersion(
            extensionValue: leaf.extensionValue(oid: LeafCertificate.systemVersionOID) ?? [])
    }
}
