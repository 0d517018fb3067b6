public import Attestation
import Bytes
import Crypto

extension Explanation {
    /// Takes a chain of certificates in DER, leaf first, through the steps of
    /// ``AndroidAttestationVerifier``.
    public static func androidAttestation(
        _ chain: [[UInt8]], expecting expected: AndroidExpectations
    ) -> Explanation {
        var explanation = Explanation("android-attestation")
        explanation.explain(chain, expected)
        return explanation
    }

    private mutating func explain(_ encoded: [[UInt8]], _ expected: AndroidExpectations) {
        let chain = decode(encoded)
        // A leaf is shown even if the rest of its chain cannot be read.
        let leaf =
            chain?.leaf ?? encoded.first.flatMap { try? AndroidCertificate($0, isLeaf: true) }
        let provisioning = chain.flatMap { checkChain($0, expected) }
        checkKeyID(leaf, expected)
        guard let leaf, let value = leaf.extensionValue(ObjectIdentifiers.keyDescription) else {
            return skip("key_description", "there is no leaf with a description of its key")
        }
        let isStrongBoxChain = chain.flatMap { chain in provisioning?.isStrongBox(chain) }
        explainKey(value, isStrongBoxChain: isStrongBoxChain, expected)
        add("public_key", leaf.key.p256.map { Base64.encode($0.x963) })
        guard let chain else { return }
        add("root", Hex.encode(SHA256.hash(chain.root.keyInfo).array))
        if let provisioning {
            add("provisioning", provisioning.name)
            add("certificates_issued", provisioning.certificatesIssued.map(Int64.init(clamping:)))
        }
        add("serials", chain.serials.map(\.hex))
    }

    private mutating func decode(_ encoded: [[UInt8]]) -> AndroidChain? {
        do throws(AndroidAttestationFailure) {
            let chain = try AndroidChain(encoded)
            pass("certificates", "\(encoded.count) X.509 certificates")
            return chain
        } catch {
            fail("certificates", code: error.code, error.description)
            return nil
        }
    }

    /// The checks of the certificates. Returns the kind of provisioning, nil if it is not known.
    private mutating func checkChain(
        _ chain: AndroidChain, _ expected: AndroidExpectations
    ) -> AndroidProvisioning? {
        check("leaf_key", "the leaf's key is on P-256") { () throws(AndroidAttestationFailure) in
            guard ChainChecks.isOnCurve(try ChainChecks.leafKey(of: chain)) else { throw .leafKey }
            return nil
        }
        let roots = expected.roots.isEmpty ? AndroidRoots.published : expected.roots
        check("root", "the last certificate has the key of a trusted root") {
            () throws(AndroidAttestationFailure) in
            _ = try ChainChecks.root(of: chain, among: roots)
            return nil
        }
        check("names", "each certificate names the next one as its issuer") {
            () throws(AndroidAttestationFailure) in
            try ChainChecks.names(of: chain)
            return nil
        }
        check("extension", "the leaf alone describes a key") {
            () throws(AndroidAttestationFailure) in
            _ = try ChainChecks.extensions(of: chain)
            return nil
        }
        check("issuer_keys", "every issuer has a key that may issue") {
            () throws(AndroidAttestationFailure) in
            try ChainChecks.issuerKeys(of: chain)
            return nil
        }
        check("signatures", "each certificate is signed by the next one") {
            () throws(AndroidAttestationFailure) in
            guard let root = try? ChainChecks.root(of: chain, among: roots) else {
                return "there is no trusted root to begin at"
            }
            var count = 0
            try ChainChecks.signatures(of: chain, root: root, count: &count)
            return nil
        }
        return checkValidity(chain, expected)
    }

    private mutating func checkValidity(
        _ chain: AndroidChain, _ expected: AndroidExpectations
    ) -> AndroidProvisioning? {
        var provisioning: AndroidProvisioning?
        check("provisioning", "the key of the phone itself vouches for the leaf") {
            () throws(AndroidAttestationFailure) in
            provisioning = try AndroidProvisioning(of: chain)
            return nil
        }
        let moment = RFC3339.text(expected.seconds)
        check("validity", "the issuers are valid by the rules of their kind, judged at \(moment)") {
            () throws(AndroidAttestationFailure) in
            guard let provisioning else { return "the kind of provisioning is not known" }
            try ChainChecks.validity(
                of: chain, provisioning, at: expected.seconds,
                skewSeconds: expected.clockSkewSeconds)
            return nil
        }
        check("revocation", "no certificate is on the revocation list") {
            () throws(AndroidAttestationFailure) in
            guard let list = expected.revocations else { return "no revocation list was given" }
            try ChainChecks.revocation(of: chain, list)
            return nil
        }
        return provisioning
    }

    private mutating func checkKeyID(
        _ leaf: AndroidCertificate?, _ expected: AndroidExpectations
    ) {
        check("key_id", "the key id is the SHA-256 of the certified key") {
            () throws(AndroidAttestationFailure) in
            guard let keyID = expected.keyID else { return "no key id was given to compare" }
            guard let key = leaf?.key.p256 else { return "the certificate's key is not known" }
            try KeyChecks.keyID(keyID, of: key)
            return nil
        }
    }
}
