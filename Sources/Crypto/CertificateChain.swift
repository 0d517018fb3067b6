import COpenSSL

/// Builds and checks the path from a leaf to one of the roots that the caller trusts (RFC 5280
/// section 6).
///
/// The system's store is not used, nothing is fetched, and revocation is not checked: Apple
/// publishes none for these certificates.
public enum CertificateChain {
    /// The most intermediates. Apple's paths have one. Each may cost signature checks before the
    /// path is known to be good.
    public static let intermediateCountMax = 4

    /// Returns the path, leaf first, root last, if every check holds.
    ///
    /// `seconds` since 1970 is the time in question; `skewSeconds` widens each certificate's
    /// validity at either end. The leaf must be signed with ecdsa-with-SHA256, the others with
    /// ECDSA or RSA and SHA-2. All but the roots, which the caller has chosen, must have keys on
    /// P-256 or P-384. This is checked before any signature, because RSA with 16,384 bits and DSA
    /// cost a hundred times as much to verify. Trust in the path is decided before its dates:
    /// `expired` and `notYetValid` mean a path that is genuine otherwise.
    @discardableResult
    public static func verify(
        leaf: Certificate, intermediates: [Certificate], roots: [Certificate], at seconds: Int64,
        skewSeconds: Int64 = 0
    ) throws(CertificateChainError) -> [Certificate] {
        guard intermediates.count <= intermediateCountMax else {
            throw .other("more than \(intermediateCountMax) intermediates")
        }
        guard ([leaf] + intermediates).allSatisfy({ $0.curve != nil }) else { throw .otherKey }
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        let period = Period(seconds: seconds, skewSeconds: max(0, skewSeconds))
        let path = try findPath(leaf, intermediates, roots, period)
        try checkIssuers(path)
        do throws(CertificateChainError) {
            try checkPath(path)
        } catch .untrusted where !isSigned(path) {
            // OpenSSL discards an issuer of the same name whose key identifier differs before it
            // tries the key.
            throw .badSignature
        }
        for certificate in path { try period.check(certificate) }
        return path
    }

    /// Finds the path, issuer by issuer up to a root.
    ///
    /// Names only tell which certificate may be the issuer; if several may be, the signature
    /// decides. So neither another certificate of the same name in the attestation nor a renewed
    /// root hides the right one.
    private static func findPath(
        _ leaf: Certificate, _ intermediates: [Certificate], _ roots: [Certificate],
        _ period: Period
    ) throws(CertificateChainError) -> [Certificate] {
        var path = [leaf]
        var current = leaf
        // Each turn adds a certificate that the path does not have yet, so the loop ends.
        while !roots.contains(current) {
            guard !names(current, asIssuerOf: current) else { throw .untrusted }
            var candidates = (roots + intermediates).filter {
                !path.contains($0) && names($0, asIssuerOf: current)
            }
            if candidates.count > 1 {
                candidates = candidates.filter { signed(current, by: $0) }
                guard !candidates.isEmpty else { throw .badSignature }
            }
            guard let issuer = candidates.first(where: period.holds) ?? candidates.first else {
                throw .untrusted
            }
            path.append(issuer)
            current = issuer
        }
        return path
    }

    private static func names(_ issuer: Certificate, asIssuerOf subject: Certificate) -> Bool {
        unsafe X509_NAME_cmp(
            X509_get_subject_name(issuer.handle), X509_get_issuer_name(subject.handle)) == 0
    }

    private static func signed(_ subject: Certificate, by issuer: Certificate) -> Bool {
        guard let key = unsafe X509_get0_pubkey(issuer.handle) else { return false }
        return unsafe X509_verify(subject.handle, key) == 1
    }

    private static func isSigned(_ path: [Certificate]) -> Bool {
        zip(path, path.dropFirst()).allSatisfy { signed($0, by: $1) }
    }

    private static let leafAlgorithm = "1.2.840.10045.4.3.2"

    /// ecdsa-with-SHA256, -SHA384, -SHA512 (RFC 5758), sha256, sha384, sha512WithRSAEncryption
    /// (RFC 4055).
    private static let issuerAlgorithms: Set<String> = [
        leafAlgorithm, "1.2.840.10045.4.3.3", "1.2.840.10045.4.3.4", "1.2.840.113549.1.1.11",
        "1.2.840.113549.1.1.12", "1.2.840.113549.1.1.13",
    ]

    private static func checkIssuers(_ path: [Certificate]) throws(CertificateChainError) {
        for (index, certificate) in path.enumerated() {
            let isLeaf = index == 0 && path.count > 1
            guard
                isLeaf
                    ? certificate.signatureAlgorithm == leafAlgorithm
                    : issuerAlgorithms.contains(certificate.signatureAlgorithm)
            else { throw .weakAlgorithm }
        }
        // Without a purpose OpenSSL also lets certificates of version 1 pass for CAs.
        guard path.dropFirst().allSatisfy(\.isCA) else { throw .notCA }
    }

    /// OpenSSL's verification of exactly this path, except for the dates.
    ///
    /// Default flags: X509_V_FLAG_X509_STRICT refuses every genuine leaf (no key identifiers), and
    /// a purpose refuses those with Apple's own extended key usage. CHECK_SS_SIGNATURE, because a
    /// root with an edited date and a broken self-signature circulates. POLICY_CHECK, because
    /// OpenSSL otherwise takes the constraints of RFC 5280 section 4.2.1.11, even critical ones,
    /// for handled.
    private static func checkPath(_ path: [Certificate]) throws(CertificateChainError) {
        guard let root = path.last, let leaf = path.first,
            let store = unsafe Owned(X509_STORE_new(), freedBy: X509_STORE_free),
            let context = unsafe Owned(X509_STORE_CTX_new(), freedBy: X509_STORE_CTX_free),
            let others = unsafe Owned(
                sallyport_certificates_new(), freedBy: sallyport_certificates_free),
            unsafe X509_STORE_add_cert(store.pointer, root.handle) == 1
        else { throw .other(ErrorQueue.drain("certificate store")) }
        for certificate in path.dropFirst().dropLast() {
            guard unsafe sallyport_certificates_append(others.pointer, certificate.handle) == 1
            else { throw .other(ErrorQueue.drain("certificate store")) }
        }
        guard
            unsafe X509_STORE_CTX_init(
                context.pointer, store.pointer, leaf.handle, others.pointer) == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(context.pointer)
        else { throw .other(ErrorQueue.drain("certificate store")) }
        let flags = UInt(
            X509_V_FLAG_CHECK_SS_SIGNATURE | X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_POLICY_CHECK)
        unsafe X509_VERIFY_PARAM_set_flags(parameters, flags)
        // Any policy will do, but a CA that asks for one must get one. The object is a static
        // one of OpenSSL, so it is not freed.
        guard unsafe X509_VERIFY_PARAM_add0_policy(parameters, OBJ_nid2obj(NID_any_policy)) == 1
        else { throw .other(ErrorQueue.drain("certificate policies")) }
        // The security level of 112 bits: RSA from 2048, curves from 224.
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        let verdict = unsafe X509_verify_cert(context.pointer)
        let code = unsafe X509_STORE_CTX_get_error(context.pointer)
        guard verdict == 1, code == X509_V_OK else {
            throw unsafe error(code, depth: X509_STORE_CTX_get_error_depth(context.pointer))
        }
    }

    private static func error(_ code: Int32, depth: Int32) -> CertificateChainError {
        switch code {
        case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE:
            return .badSignature
        case X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN: return .notCA
        case X509_V_ERR_PATH_LENGTH_EXCEEDED: return .pathLength
        case X509_V_ERR_CA_MD_TOO_WEAK, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_EE_KEY_TOO_SMALL:
            return .weakAlgorithm
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return .untrusted
        default:
            guard let text = unsafe X509_verify_cert_error_string(Int(code)) else {
                return .other("verification error \(code)")
            }
            return .other(unsafe String(cString: text) + ", depth \(depth)")
        }
    }

    /// The time in question, with its skew.
    private struct Period {
        let seconds: Int64
        let skewSeconds: Int64

        func holds(_ certificate: Certificate) -> Bool {
            !isBefore(certificate) && !isAfter(certificate)
        }

        func check(_ certificate: Certificate) throws(CertificateChainError) {
            if isBefore(certificate) { throw .notYetValid }
            if isAfter(certificate) { throw .expired }
        }

        private func isBefore(_ certificate: Certificate) -> Bool {
            let (first, isUnbounded) = certificate.notBefore.subtractingReportingOverflow(
                skewSeconds)
            return !isUnbounded && seconds < first
        }

        private func isAfter(_ certificate: Certificate) -> Bool {
            let (last, isUnbounded) = certificate.notAfter.addingReportingOverflow(skewSeconds)
            return !isUnbounded && seconds > last
        }
    }
}
