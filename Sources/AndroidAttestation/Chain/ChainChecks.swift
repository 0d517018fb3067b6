import Bytes
import Crypto

/// The checks of a chain, one function each, in order: what costs little comes first.
///
/// OpenSSL's validation of paths is not used. It refuses genuine chains, whose factory certificates
/// are no CAs by their basic constraints, and accepts a certificate below a genuine leaf.
enum ChainChecks {
    /// The leaf's key is on P-256.
    static func leafKey(
        of chain: AndroidChain
    ) throws(AndroidAttestationFailure) -> P256PublicKey {
        guard let key = chain.leaf.key.p256 else { throw .leafKey }
        return key
    }

    /// The last certificate has the key of one of `roots`. Nothing else of that certificate counts.
    static func root(
        of chain: AndroidChain, among roots: [AndroidRoot]
    ) throws(AndroidAttestationFailure) -> AndroidRoot {
        guard let root = roots.first(where: { $0.keyInfo == chain.root.keyInfo }) else {
            throw .rootUnknown
        }
        return root
    }

    /// Each certificate names the next one as its issuer, byte for byte.
    static func names(of chain: AndroidChain) throws(AndroidAttestationFailure) {
        let pairs = zip(chain.certificates, chain.certificates.dropFirst()).enumerated()
        for (index, pair) in pairs where pair.0.issuer != pair.1.subject {
            throw .chainOrder(index: index)
        }
    }

    /// The leaf, and no certificate above it, describes a key. Otherwise the holder of a genuine
    /// key could sign a certificate with a description of his own.
    static func extensions(
        of chain: AndroidChain
    ) throws(AndroidAttestationFailure) -> [UInt8] {
        for (index, certificate) in chain.certificates.enumerated().dropFirst()
        where certificate.extensionValue(ObjectIdentifiers.keyDescription) != nil {
            throw .extensionInIntermediate(index: index)
        }
        guard let value = chain.leaf.extensionValue(ObjectIdentifiers.keyDescription) else {
            throw .extensionMissing
        }
        return value
    }

    /// Every issuer has a key that may issue, and every certificate but the root is signed by an
    /// allowed algorithm that suits its issuer's key.
    static func issuerKeys(of chain: AndroidChain) throws(AndroidAttestationFailure) {
        let pairs = zip(chain.certificates, chain.certificates.dropFirst()).enumerated()
        for (index, (certificate, issuer)) in pairs {
            guard issuer.key.mayIssue, let algorithm = certificate.algorithm,
                algorithm.fits(issuer.key)
            else { throw .issuerKey(index: index + 1) }
        }
    }

    /// Verifies the signatures from the root down, and stops at the first that does not hold. So no
    /// key is used before its own certificate is known to be genuine.
    ///
    /// `count` grows by one for each signature that is checked.
    static func signatures(
        of chain: AndroidChain, root: AndroidRoot, count: inout Int
    ) throws(AndroidAttestationFailure) {
        var issuerKey = root.verifier
        for index in (0..<chain.certificates.count - 1).reversed() {
            let certificate = chain.certificates[index]
            guard let algorithm = certificate.algorithm else {
                throw .issuerKey(index: index + 1)
            }
            count += 1
            guard
                issuerKey.isValid(
                    certificate.signature.span, message: certificate.signedPart.span,
                    scheme: algorithm.scheme)
            else { throw .signatureInvalid(index: index) }
            guard index > 0 else { return }
            guard let next = certificate.key.issuerKey() else { throw .issuerKey(index: index) }
            issuerKey = next
        }
    }

    /// The leaf's key is a point on the curve.
    static func isOnCurve(_ key: P256PublicKey) -> Bool {
        guard var verifier = try? P256Verifier() else { return false }
        return verifier.isOnCurve(key)
    }

    /// The issuers between leaf and root are valid by their provisioning's rules.
    ///
    /// A factory certificate counts for as long as its phone lives, because it cannot be replaced;
    /// a remotely provisioned one lives for days. The leaf's times are the phone's invention, and a
    /// root is trusted for its key.
    static func validity(
        of chain: AndroidChain, _ provisioning: AndroidProvisioning, at seconds: Int64,
        skewSeconds: Int64
    ) throws(AndroidAttestationFailure) {
        let skewSeconds = max(0, skewSeconds)
        for index in chain.intermediates {
            guard let validity = chain.certificates[index].validity else { continue }
            let (latest, isAlways) = seconds.addingReportingOverflow(skewSeconds)
            if !isAlways, latest < validity.lowerBound { throw .notYetValid(index: index) }
            guard provisioning != .factory else { continue }
            let (earliest, isNever) = seconds.subtractingReportingOverflow(skewSeconds)
            if !isNever, earliest > validity.upperBound { throw .expired(index: index) }
        }
    }

    /// No certificate is on the list, the root included.
    static func revocation(
        of chain: AndroidChain, _ list: RevocationList
    ) throws(AndroidAttestationFailure) {
        for (index, serial) in chain.serials.enumerated() {
            if let status = list.status(of: serial) { throw .revoked(index: index, status) }
        }
    }
}
