import Attestation
import Bytes
import Crypto

/// The nine checks of Apple's "Validating apps that connect to your server", one function each, in
/// order. ``AttestationVerifier`` runs them for the gateway, ``Explanation`` to show each outcome.
enum AttestationChecks {
    /// Check 1: x5c leads from a leaf, through valid issuers, to one of `roots`, at this moment.
    ///
    /// Issuers are found by their signatures. OpenSSL verifies dates, the right to issue and the
    /// path length; what marks the leaf as one of App Attest's is checked here.
    static func certificateChain(
        _ certificates: [Certificate], roots: [Certificate], at seconds: Int64, skewSeconds: Int64
    ) throws(AttestationFailure) {
        guard let leaf = certificates.first else { throw .malformed(.certificateCount(0)) }
        do {
            try CertificateChain.verify(
                leaf: leaf, intermediates: Array(certificates.dropFirst()), roots: roots,
                at: seconds, skewSeconds: skewSeconds)
        } catch {
            switch error {
            case .expired: throw .certificateExpired
            case .notYetValid: throw .certificateNotYetValid
            default: throw .certificateChain("\(error)")
            }
        }
        guard !leaf.isCA else { throw .certificateProfile("it may issue certificates") }
        _ = try publicKey(of: leaf)
    }

    /// The leaf's key; App Attest keys are on P-256.
    static func publicKey(of leaf: Certificate) throws(AttestationFailure) -> P256PublicKey {
        guard let publicKey = leaf.publicKey else {
            throw .certificateProfile("its key is not on P-256")
        }
        return publicKey
    }

    /// Returns the nonce that the leaf carries.
    static func certifiedNonce(of leaf: Certificate) throws(AttestationFailure) -> Bytes32 {
        guard let value = leaf.extensionValue(oid: LeafCertificate.nonceOID) else {
            throw .nonceMissing
        }
        guard let nonce = LeafCertificate.nonce(in: value) else { throw .nonceMalformed }
        return nonce
    }

    /// Check 3: the leaf certifies this nonce (which check 2 made; see ``Nonce``).
    static func nonce(_ nonce: Bytes32, in leaf: Certificate) throws(AttestationFailure) {
        guard try certifiedNonce(of: leaf) == nonce else { throw .nonceMismatch }
    }

    /// Check 4: the key id that the client names is the id of the leaf's key.
    static func keyID(_ keyID: KeyID, of publicKey: P256PublicKey) throws(AttestationFailure) {
        guard KeyID(of: publicKey) == keyID else { throw .keyIDMismatch }
    }

    /// Check 5: one of the configured apps made the key.
    static func app(
        of data: AuthenticatorData, among apps: [AppIdentity]
    ) throws(AttestationFailure) -> AppIdentity {
        guard let app = apps.first(where: { $0.rpIDHash == data.rpIDHash }) else {
            throw .appMismatch
        }
        return app
    }

    /// Check 6: the key has signed nothing yet.
    static func counter(of data: AuthenticatorData) throws(AttestationFailure) {
        guard data.counter == 0 else { throw .counterNotZero }
    }

    /// Check 7: the AAGUID belongs to an environment that the app allows.
    static func environment(
        of data: AuthenticatorData, allowed: Set<AttestEnvironment>
    ) throws(AttestationFailure) -> AttestEnvironment {
        guard let aaguid = data.credential?.aaguid,
            let environment = AttestEnvironment(aaguid: aaguid)
        else { throw .environmentUnknown }
        guard allowed.contains(environment) else { throw .environmentNotAllowed(environment) }
        return environment
    }

    /// After Apple's checks: the leaf's other statements agree with what they found. The leaves of
    /// older systems state less, and nil is not compared.
    static func leafProfile(
        _ leaf: Certificate, keyID: KeyID?, appID: String?
    ) throws(AttestationFailure) {
        if let keyID, let name = leaf.commonName, name != Hex.encode(keyID.digest.array) {
            throw .certificateProfile("its name is not the key id")
        }
        if let appID, let value = leaf.extensionValue(oid: LeafCertificate.appInformationOID),
            let certified = LeafCertificate.text(in: value, tag: LeafCertificate.appIDTag),
            certified != appID
        {
            throw .certificateProfile("it is for another app")
        }
        if let value = leaf.extensionValue(oid: LeafCertificate.extendedKeyUsageOID),
            !LeafCertificate.isForAppAttest(value)
        {
            throw .certificateProfile("its extended key usage is not App Attest's")
        }
    }

    /// After Apple's checks: a Mac is as secure as the app requires.
    static func macSecurity(
        _ security: MacSecurity, of app: AppIdentity
    ) throws(AttestationFailure) {
        guard !app.requiresMacFullSecurity || security != .reduced else {
            throw .macSecurityReduced
        }
    }

    /// Check 8: the credential id is the key id.
    static func credentialID(
        of data: AuthenticatorData, equals keyID: KeyID
    ) throws(AttestationFailure) {
        guard let id = data.credential?.id, Bytes32(id) == keyID.digest else {
            throw .credentialIDMismatch
        }
    }

    /// Check 9: the authenticator data names the key that the leaf certifies.
    static func credentialPublicKey(
        of data: AuthenticatorData, equals publicKey: P256PublicKey
    ) throws(AttestationFailure) {
        guard data.credential?.publicKey == publicKey else { throw .publicKeyMismatch }
    }
}
