import Crypto

extension Operation {
    static func certificates(_ inputs: Inputs) throws -> [Operation] {
        let leaf = inputs.leaf
        let pem = try inputs.root.pem() + inputs.issuer.pem()
        func path(_ leaf: Certificate, _ roots: [Certificate]) throws -> Bool {
            try CertificateChain.verify(
                leaf: leaf, intermediates: [inputs.issuer], roots: roots, at: Inputs.noon
            ).count == 3
        }
        // Its serial number is drawn here: without randomness the process ends, by design.
        let builder = Inputs.leafBuilder(inputs.leafKey)
        var changed = leaf.der
        changed[changed.count - 1] ^= 1
        let forged = try Certificate(der: changed)
        return [
            Operation("certificate: read") {
                .same(as: summary(leaf)) { summary(try Certificate(der: leaf.der)) }
            },
            Operation("certificate: PEM read") {
                .same(as: [inputs.root, inputs.issuer]) { try Certificate.parsePEM(pem) }
            },
            Operation("certificate: PEM written") {
                .same(as: pem) { try inputs.root.pem() + inputs.issuer.pem() }
            },
            Operation("certificate: issued") {
                .good {
                    try builder.certificate(
                        issuer: .certificate(inputs.issuer), signingKey: inputs.issuerKey
                    ).commonName == "0123abcd"
                }
            },
            Operation("chain: good") { .good { try path(leaf, [inputs.root]) } },
            Operation("chain: two roots of one name") {
                .good { try path(leaf, [inputs.strangeRoot, inputs.root]) }
            },
            Operation("chain: to another root") { .bad { try path(leaf, [inputs.strangeRoot]) } },
            Operation("chain: forged leaf") { .bad { try path(forged, [inputs.root]) } },
        ] + (try signedData(inputs))
    }

    /// All that the gateway reads of a certificate.
    private static func summary(_ leaf: Certificate) -> [String] {
        [
            leaf.subject, leaf.issuer, leaf.commonName ?? "nil", leaf.signatureAlgorithm,
            "\(leaf.isCA) \(leaf.notBefore) \(leaf.notAfter) \(leaf.pathLength ?? -1)",
            "\(leaf.publicKey.map { "\($0.x)" } ?? "nil") \(leaf.extensions.map(\.oid))",
        ]
    }

    private static func signedData(_ inputs: Inputs) throws -> [Operation] {
        let content = Array("a receipt's content".utf8)
        func sign() throws -> [UInt8] {
            try SignedData.sign(
                content, signer: inputs.leaf, key: inputs.leafKey.key,
                certificates: [inputs.issuer])
        }
        let good = try sign()
        guard let index = good.firstRange(of: content)?.lowerBound else {
            throw CryptoError.failed("finding the content")
        }
        var changed = good
        changed[index] ^= 1
        let forged = changed
        func verify(_ ber: [UInt8], _ root: Certificate) throws -> [UInt8] {
            try SignedData.verify(ber: ber, roots: [root], at: Inputs.noon).content
        }
        return [
            Operation("signed data: good") { .same(as: content) { try verify(good, inputs.root) } },
            Operation("signed data: changed") { .bad { try !verify(forged, inputs.root).isEmpty } },
            Operation("signed data: another root") {
                .bad { try !verify(good, inputs.strangeRoot).isEmpty }
            },
            Operation("signed data: made") { .good { try !sign().isEmpty } },
        ]
    }
}
