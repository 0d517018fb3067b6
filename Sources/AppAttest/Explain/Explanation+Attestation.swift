public import Attestation
import Bytes
import CBOR
import Crypto

extension Explanation {
    /// Takes an attestation through the steps of ``AttestationVerifier``.
    public static func attestation(
        _ object: [UInt8], expecting expected: Expectations
    ) -> Explanation {
        var explanation = Explanation("attestation")
        explanation.explainAttestation(object, expected)
        return explanation
    }

    private mutating func explainAttestation(_ object: [UInt8], _ expected: Expectations) {
        guard let attestation = decodeAttestation(object) else { return }
        let certificates = decodeCertificates(attestation)
        let data = decodeAuthenticatorData(attestation)
        let leaf = certificates.first
        let publicKey = leaf?.publicKey
        checkChain(certificates, expected)
        checkNonce(attestation, leaf: leaf, expected)
        check("key_id", "the key id is the SHA-256 of the certified key") {
            () throws(AttestationFailure) in
            guard let publicKey else { return "the certificate's key is not known" }
            guard let keyID = expected.keyID else { return "no key id was given to compare" }
            try AttestationChecks.keyID(keyID, of: publicKey)
            return nil
        }
        let keyID = expected.keyID ?? publicKey.map { KeyID(of: $0) }
        explainCredential(data, publicKey: publicKey, keyID: keyID, expected)
        check("leaf_profile", "the certificate names no other key, app or purpose") {
            () throws(AttestationFailure) in
            guard let leaf else { return "the certificate is not known" }
            try AttestationChecks.leafProfile(leaf, keyID: keyID, appID: expected.appID)
            return nil
        }
        addReceipt(attestation, data: data, publicKey: publicKey, expected)
    }

    /// Checks 5 to 9, on the authenticator data.
    private mutating func explainCredential(
        _ data: AuthenticatorData?, publicKey: P256PublicKey?, keyID: KeyID?,
        _ expected: Expectations
    ) {
        guard let data else {
            for name in ["app", "counter", "environment", "credential_id", "public_key"] {
                skip(name, "the authenticator data is malformed")
            }
            return
        }
        explainApp(data, expected)
        check("counter", "the counter is 0") { () throws(AttestationFailure) in
            try AttestationChecks.counter(of: data)
            return nil
        }
        let allowed = expected.environment.map { Set([$0]) } ?? Set(AttestEnvironment.allCases)
        check("environment", "the AAGUID is of an environment that is allowed") {
            () throws(AttestationFailure) in
            _ = try AttestationChecks.environment(of: data, allowed: allowed)
            return nil
        }
        check("credential_id", "the credential id is the key id") {
            () throws(AttestationFailure) in
            guard let keyID else { return "no key id is known to compare" }
            try AttestationChecks.credentialID(of: data, equals: keyID)
            return nil
        }
        check("public_key", "the authenticator data names the certified key") {
            () throws(AttestationFailure) in
            guard let publicKey else { return "the certificate's key is not known" }
            try AttestationChecks.credentialPublicKey(of: data, equals: publicKey)
            return nil
        }
    }

    private mutating func explainApp(_ data: AuthenticatorData, _ expected: Expectations) {
        guard let appID = expected.appID else {
            return skip("app", "no app id was given to compare")
        }
        do {
            let app = try AttestationChecks.app(
                of: data, among: [AppIdentity(id: appID, environments: [])])
            pass("app", "the relying party id hash is the app's")
            add("app_id", app.id)
        } catch {
            fail("app", code: error.code, error.description)
        }
    }

    private mutating func decodeAttestation(_ object: [UInt8]) -> UnverifiedAttestation? {
        add("byte_count", Int64(object.count))
        do {
            let attestation = try UnverifiedAttestation(parsing: object.span)
            pass("decode", "an attestation object in CBOR")
            add("format", UnverifiedAttestation.format.description)
            if !attestation.unknownMembers.isEmpty {
                add("unknown_members", attestation.unknownMembers.joined(separator: " "))
            }
            return attestation
        } catch {
            fail("decode", code: AttestationFailure.malformed(error).code, error.description)
            return nil
        }
    }

    private mutating func decodeCertificates(
        _ attestation: UnverifiedAttestation
    ) -> [Certificate] {
        do {
            let certificates = try attestation.certificates()
            pass("certificates", "\(certificates.count) X.509 certificates")
            if let leaf = certificates.first { addLeaf(leaf) }
            return certificates
        } catch {
            fail("certificates", code: AttestationFailure.malformed(error).code, error.description)
            return []
        }
    }

    private mutating func addLeaf(_ leaf: Certificate) {
        add("leaf_subject", leaf.subject)
        add("leaf_not_before", RFC3339.text(leaf.notBefore))
        add("leaf_not_after", RFC3339.text(leaf.notAfter))
        add("leaf_sha256", Hex.encode(leaf.fingerprint.array))
        if let publicKey = leaf.publicKey {
            add("key_id", KeyID(of: publicKey).base64)
            add("public_key", Base64.encode(publicKey.x963))
        }
        if let nonce = try? AttestationChecks.certifiedNonce(of: leaf) {
            add("certified_nonce", Hex.encode(nonce.array))
        }
        if let value = leaf.extensionValue(oid: LeafCertificate.appInformationOID) {
            add("leaf_app_id", LeafCertificate.text(in: value, tag: 1204))
        }
        if let value = leaf.extensionValue(oid: LeafCertificate.systemVersionOID) {
            let system = SystemVersion(extensionValue: value)
            add("os_version", system.version)
            add("os_build", system.build)
            add("platform", system.platform)
        }
        if let value = leaf.extensionValue(oid: LeafCertificate.accessControlOID),
            let blob = LeafCertificate.accessControl(in: value)
        {
            add("access_control_sha256", Hex.encode(SHA256.hash(blob).array))
            add("mac_full_security", LeafCertificate.isMacWithFullSecurity(blob))
        }
        add("mac_security", MacSecurity(of: leaf).rawValue)
    }

    private mutating func decodeAuthenticatorData(
        _ attestation: UnverifiedAttestation
    ) -> AuthenticatorData? {
        do {
            let data = try AuthenticatorData(attestation: attestation.authenticatorData.span)
            pass(
                "authenticator_data", "\(attestation.authenticatorData.count) bytes, well formed")
            addAuthenticatorData(data)
            return data
        } catch {
            fail(
                "authenticator_data", code: AttestationFailure.malformed(error).code,
                error.description)
            return nil
        }
    }

    private mutating func checkChain(_ certificates: [Certificate], _ expected: Expectations) {
        let roots = expected.roots.isEmpty ? [AppleRoots.appAttestation] : expected.roots
        let moment = RFC3339.text(expected.seconds)
        check("certificate_chain", "x5c leads to a trusted root, judged at \(moment)") {
            () throws(AttestationFailure) in
            guard !certificates.isEmpty else { return "there are no certificates" }
            try AttestationChecks.certificateChain(
                certificates, roots: roots, at: expected.seconds,
                skewSeconds: expected.clockSkewSeconds)
            return nil
        }
    }

    private mutating func checkNonce(
        _ attestation: UnverifiedAttestation, leaf: Certificate?, _ expected: Expectations
    ) {
        guard let suffix = expected.nonceSuffix else {
            lack(
                "nonce", code: "client_data_required",
                "neither a challenge nor a client data hash was given")
            return
        }
        let authenticatorData = attestation.authenticatorData
        let nonce = Nonce.make(authenticatorData.span, suffix)
        add("computed_nonce", Hex.encode(nonce.array))
        guard let leaf else { return skip("nonce", "there are no certificates") }
        do {
            try AttestationChecks.nonce(nonce, in: leaf)
            pass("nonce", "the leaf certifies SHA-256(authenticator data || client data hash)")
        } catch {
            let variant = expected.clientData.flatMap { clientData in
                ClientDataVariant.name(of: clientData) { suffix in
                    let nonce = Nonce.make(authenticatorData.span, suffix)
                    return (try? AttestationChecks.nonce(nonce, in: leaf)) != nil
                }
            }
            let hint = variant.map { "; \($0)" } ?? ""
            fail("nonce", code: error.code, error.description + hint)
        }
    }

    /// Shows the embedded receipt. It says nothing about the attestation and does not count for the
    /// verdict.
    private mutating func addReceipt(
        _ attestation: UnverifiedAttestation, data: AuthenticatorData?, publicKey: P256PublicKey?,
        _ expected: Expectations
    ) {
        guard let receipt = attestation.receipt else { return add("receipt", "absent") }
        add("receipt_byte_count", Int64(receipt.count))
        let verifier = ReceiptVerifier(roots: [AppleRoots.appleRootG3])
        do {
            let verified = try verifier.verify(
                receipt, appID: expected.appID, publicKey: publicKey)
            add("receipt", "valid")
            add("receipt_created_at", RFC3339.text(verified.fields.createdAt.seconds))
        } catch {
            add("receipt", "invalid")
            add("receipt_code", error.code)
            add("receipt_detail", error.description)
        }
    }
}

extension Explanation {
    /// The fields of either kind's authenticator data.
    mutating func addAuthenticatorData(_ data: AuthenticatorData) {
        add("rp_id_hash", Hex.encode(data.rpIDHash.array))
        add("flags", "0x" + Hex.encode([data.flags]))
        add("counter", Int64(data.counter))
        if let credential = data.credential {
            add("aaguid", Hex.encode(credential.aaguid.array))
            add("environment", AttestEnvironment(aaguid: credential.aaguid)?.rawValue)
            add("credential_id", Base64.encode(credential.id))
        }
        guard let extensions = data.extensions else { return }
        add("bundle_version", extensions.bundleVersion)
        if let category = extensions.validationCategory {
            add("validation_category", Int64(category))
            add("validation_category_name", ValidationCategory(rawValue: category)?.name)
        }
        for member in extensions.others {
            let value = try? CBORValue.parse(member.encoded.span, limits: AuthenticatorData.limits)
            add("extension.\(member.name)", value?.description)
        }
    }
}
