import Bytes
import Crypto
import Testing

@Suite("A certificate chain")
struct CertificateChainTests {
    let authority: Authority

    init() throws { authority = try Authority() }
}

extension CertificateChainTests {
    /// Nil where the chain holds.
    func refusal(
        _ leaf: Certificate, _ intermediates: [Certificate]? = nil, _ roots: [Certificate]? = nil,
        at seconds: Int64 = Authority.noon, skew: Int64 = 0
    ) -> CertificateChainError? {
        do throws(CertificateChainError) {
            try CertificateChain.verify(
                leaf: leaf, intermediates: intermediates ?? [authority.issuer],
                roots: roots ?? [authority.root], at: seconds, skewSeconds: skew)
            return nil
        } catch {
            return error
        }
    }

    @Test("gives the path from the leaf to the root")
    func path() throws {
        let leaf = try authority.leaf()
        let path = try CertificateChain.verify(
            leaf: leaf, intermediates: [authority.issuer, authority.root],
            roots: [authority.root], at: Authority.noon)
        #expect(path == [leaf, authority.issuer, authority.root])
    }

    @Test("holds to the second, and by the skew beyond at either end")
    func dates() throws {
        let leaf = try authority.leaf()
        let (first, last) = (leaf.notBefore, leaf.notAfter)
        #expect(refusal(leaf, at: first) == nil)
        #expect(refusal(leaf, at: last) == nil)
        #expect(refusal(leaf, at: first - 1) == .notYetValid)
        #expect(refusal(leaf, at: last + 1) == .expired)
        #expect(refusal(leaf, at: first - 60, skew: 60) == nil)
        #expect(refusal(leaf, at: last + 60, skew: 60) == nil)
        #expect(refusal(leaf, at: first - 61, skew: 60) == .notYetValid)
        #expect(refusal(leaf, at: last + 61, skew: 60) == .expired)
        #expect(refusal(leaf, at: last + 1, skew: -60) == .expired)
        #expect(refusal(leaf, at: .min) == .notYetValid)
        #expect(refusal(leaf, at: .max) == .expired)
        #expect(refusal(leaf, at: .max, skew: .max) == nil)
    }

    @Test("asks the dates of the intermediate and of the root too")
    func issuerDates() throws {
        let leaf = try authority.leaf()
        let old = try Authority.issuer(
            key: authority.issuerKey, root: authority.root, rootKey: authority.rootKey,
            validity: Authority.start - 9...Authority.start)
        #expect(refusal(leaf, [old]) == .expired)
        let early = try Authority.issuer(
            key: authority.issuerKey, root: authority.root, rootKey: authority.rootKey,
            validity: Authority.noon + 1...Authority.noon + 9)
        #expect(refusal(leaf, [early]) == .notYetValid)
        let root = try Authority.root(key: authority.rootKey, notAfter: Authority.start)
        #expect(refusal(leaf, nil, [root]) == .expired)
        // A renewed intermediate or root with the same key is found beside the old one.
        #expect(refusal(leaf, [old, authority.issuer]) == nil)
        #expect(refusal(leaf, nil, [root, authority.root]) == nil)
    }

    @Test("trusts only the given roots")
    func roots() throws {
        let leaf = try authority.leaf()
        let stranger = try CertificateBuilder(
            subject: ["CN": "Another Root"], key: .ec(authority.rootKey),
            notBefore: Authority.start, notAfter: Authority.start + Authority.year,
            extensions: [.basicConstraints(isCA: true)]
        ).certificate(issuer: .itself, signingKey: authority.rootKey)
        #expect(refusal(leaf, nil, []) == .untrusted)
        #expect(refusal(leaf, [], nil) == .untrusted)
        #expect(refusal(leaf, nil, [stranger]) == .untrusted)
        #expect(refusal(leaf, [authority.issuer, authority.root], [stranger]) == .untrusted)
        // Only a self-signed certificate can end a path.
        #expect(refusal(leaf, [], [authority.issuer]) == .untrusted)
    }

    @Test("refuses an issuer that has the right name and another key")
    func namesake() throws {
        let otherKey = try ECPrivateKey.generate(.p384)
        let namesake = try Authority.issuer(
            key: otherKey, root: authority.root, rootKey: otherKey,
            extensions: [.basicConstraints(isCA: true), .certificateSigning])
        let leaf = try authority.leaf()
        #expect(refusal(leaf, [namesake]) == .badSignature)
        #expect(refusal(try authority.leaf(signingKey: otherKey), [namesake]) == .badSignature)
        #expect(refusal(try authority.leaf(signingKey: otherKey)) == .badSignature)
        // Beside the right one it does no harm, in either order.
        #expect(refusal(leaf, [namesake, authority.issuer]) == nil)
        #expect(refusal(leaf, [authority.issuer, namesake]) == nil)
        let otherRoot = try Authority.root(key: otherKey)
        #expect(refusal(leaf, nil, [otherRoot]) == .badSignature)
        #expect(refusal(leaf, nil, [otherRoot, authority.root]) == nil)
        #expect(refusal(leaf, [otherRoot, authority.issuer], [authority.root]) == nil)
    }

    @Test("refuses an issuer that signs itself under the right name")
    func selfSigned() throws {
        let key = try ECPrivateKey.generate(.p384)
        let issuer = try CertificateBuilder(
            subject: ["CN": "Test Attestation CA 1", "O": "Test", "ST": "California"],
            key: .ec(key), notBefore: Authority.start, notAfter: Authority.start + Authority.year,
            extensions: [.basicConstraints(isCA: true), .certificateSigning]
        ).certificate(issuer: .itself, signingKey: key)
        let leaf = try authority.leaf(signingKey: key)
        #expect(refusal(leaf, [issuer]) == .untrusted)
        #expect(refusal(leaf, [issuer, authority.issuer]) == .untrusted)
    }

    @Test("refuses a root whose own signature is broken, even as a given root")
    func brokenRoot() throws {
        let otherKey = try ECPrivateKey.generate(.p384)
        let forged = try Authority.root(key: authority.rootKey, signingKey: otherKey)
        let leaf = try authority.leaf()
        #expect(refusal(leaf, nil, [forged]) == .badSignature)
        #expect(refusal(leaf, [authority.issuer, forged]) == nil)
    }

    @Test("refuses an intermediate that is no CA")
    func notCA() throws {
        let leaf = try authority.leaf()
        let wrong: [[CertificateExtension]] = [
            [.basicConstraints(isCA: false), .certificateSigning], [.certificateSigning], [],
            [.basicConstraints(isCA: true), .digitalSignature],
        ]
        for extensions in wrong {
            let issuer = try Authority.issuer(
                key: authority.issuerKey, root: authority.root, rootKey: authority.rootKey,
                extensions: extensions)
            #expect(refusal(leaf, [issuer]) == .notCA)
        }
        // A leaf's key signs nothing.
        let key = try P256PrivateKey.generate()
        let middle = try Authority.leafBuilder(key: key.publicKey).certificate(
            issuer: .certificate(authority.issuer), signingKey: authority.issuerKey)
        var builder = Authority.leafBuilder(key: key.publicKey)
        builder.subject = ["CN": "4567cdef"]
        let last = try builder.certificate(issuer: .certificate(middle), signingKey: key.key)
        #expect(refusal(last, [middle, authority.issuer]) == .notCA)
    }

    @Test("refuses more intermediates than a CA allows")
    func pathLength() throws {
        let key = try ECPrivateKey.generate(.p256)
        let second = try CertificateBuilder(
            subject: ["CN": "Second"], key: .ec(key), notBefore: Authority.start,
            notAfter: Authority.start + Authority.year,
            extensions: [.basicConstraints(isCA: true), .certificateSigning]
        ).certificate(issuer: .certificate(authority.issuer), signingKey: authority.issuerKey)
        let leafKey = try P256PrivateKey.generate()
        let leaf = try Authority.leafBuilder(key: leafKey.publicKey).certificate(
            issuer: .certificate(second), signingKey: key)
        #expect(refusal(leaf, [second, authority.issuer]) == .pathLength)
        let wider = try Authority.issuer(
            key: authority.issuerKey, root: authority.root, rootKey: authority.rootKey,
            extensions: [.basicConstraints(isCA: true, pathLength: 1), .certificateSigning])
        #expect(refusal(leaf, [second, wider]) == nil)
        let many = [Certificate](repeating: wider, count: 5)
        #expect(refusal(leaf, many) == .other("more than 4 intermediates"))
    }

    @Test("refuses weak signatures, and for the leaf all but ecdsa-with-SHA256")
    func algorithms() throws {
        for digest in [CertificateBuilder.Digest.sha1, .sha384] {
            #expect(refusal(try authority.leaf(digest: digest)) == .weakAlgorithm)
        }
        let issuer = try Authority.issuer(
            key: authority.issuerKey, root: authority.root, rootKey: authority.rootKey,
            digest: .sha1)
        #expect(refusal(try authority.leaf(), [issuer]) == .weakAlgorithm)
    }

    @Test("refuses keys that are not on P-256 or P-384, whether they are in the path or beside it")
    func otherKeys() throws {
        let rsa: [UInt8] = [
            0x30, 0x82, 0x08, 0x22, 0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D,
            0x01, 0x01, 0x01, 0x05, 0x00, 0x03, 0x82, 0x08, 0x0F, 0x00, 0x30, 0x82, 0x08, 0x0A,
            0x02, 0x82, 0x08, 0x01, 0x00,
        ]
        // A modulus of 16,384 bits; whose product it is nobody asks.
        let modulus = [UInt8](repeating: 0xD5, count: 2048)
        let exponent: [UInt8] = [0x02, 0x03, 0x01, 0x00, 0x01]
        // secp256k1 (SEC 2 section 2.4.1), and its base point.
        let otherCurve: [UInt8] = [
            0x30, 0x56, 0x30, 0x10, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06,
            0x05, 0x2B, 0x81, 0x04, 0x00, 0x0A, 0x03, 0x42, 0x00, 0x04,
        ]
        let point = try #require(
            Hex.decode(
                "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
                    + "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"))
        let leaf = try authority.leaf()
        for info in [rsa + modulus + exponent, otherCurve + point] {
            // The right issuer's name: by it alone it would have to be tried.
            let namesake = try CertificateBuilder(
                subject: ["CN": "Test Attestation CA 1", "O": "Test", "ST": "California"],
                key: .other(info: info), notBefore: Authority.start - Authority.year,
                notAfter: Authority.start + Authority.year,
                extensions: [.basicConstraints(isCA: true), .certificateSigning]
            ).certificate(issuer: .certificate(authority.root), signingKey: authority.rootKey)
            #expect(namesake.curve == nil && namesake.publicKey == nil)
            #expect(refusal(leaf, [namesake]) == .otherKey)
            #expect(refusal(leaf, [authority.issuer, namesake]) == .otherKey)
            #expect(refusal(namesake, []) == .otherKey)
        }
        #expect(leaf.curve == .p256 && authority.issuer.curve == .p384)
    }

    @Test("refuses a critical extension that nobody knows")
    func criticalExtension() throws {
        let unknown = CertificateExtension(oid: "1.2.3.4", isCritical: true, value: [0x05, 0x00])
        let leaf = try authority.leaf(extensions: Authority.leafExtensions + [unknown])
        guard case .other = refusal(leaf) else {
            Issue.record("a critical extension was accepted")
            return
        }
        let harmless = CertificateExtension(oid: "1.2.3.4", value: [0x05, 0x00])
        #expect(refusal(try authority.leaf(extensions: [harmless])) == nil)
    }
}
