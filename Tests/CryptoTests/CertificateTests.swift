import Bytes
import Crypto
import Testing

@Suite("A certificate")
struct CertificateTests {}

extension CertificateTests {
    @Test("reads back every field that was written")
    func fields() throws {
        let authority = try Authority()
        let key = try P256PrivateKey.generate().publicKey
        let builder = Authority.leafBuilder(key: key)
        let leaf = try builder.certificate(
            issuer: .certificate(authority.issuer), signingKey: authority.issuerKey)
        #expect(leaf.publicKey == key)
        #expect(leaf.notBefore == Authority.start)
        #expect(leaf.notAfter == Authority.start + 3 * 86_400)
        #expect(leaf.signatureAlgorithm == "1.2.840.10045.4.3.2")
        #expect(leaf.subject == "O=Test,OU=Test Certification,CN=0123abcd")
        #expect(leaf.issuer == authority.issuer.subject)
        #expect(leaf.commonName == "0123abcd")
        #expect(!leaf.isCA && leaf.pathLength == nil)
        #expect(leaf.extensions == Authority.leafExtensions)
        let nonce = leaf.extensionValue(oid: "1.2.840.113635.100.8.2")
        #expect(nonce == [0x30, 0x02, 0x04, 0x00])
        #expect(leaf.extensionValue(oid: "1.2.840.113635.100.8.5") == nil)
        #expect(leaf.fingerprint == SHA256.hash(leaf.der))
        #expect(authority.issuer.isCA && authority.issuer.pathLength == 0)
        #expect(authority.root.isCA && authority.root.pathLength == nil)
        #expect(authority.issuer.publicKey == nil)
        #expect(try Certificate(der: leaf.der) == leaf)
    }

    @Test("keeps times beyond 2049 and before 1970")
    func times() throws {
        let key = try P256PrivateKey.generate()
        var builder = Authority.leafBuilder(key: key.publicKey)
        builder.notBefore = -86_400
        builder.notAfter = 4_102_444_800
        let certificate = try builder.certificate(issuer: .itself, signingKey: key.key)
        #expect(certificate.notBefore == -86_400)
        #expect(certificate.notAfter == 4_102_444_800)
    }

    @Test("refuses a cut or lengthened encoding, and garbage")
    func garbage() throws {
        let key = try P256PrivateKey.generate()
        let der = try Authority.leafBuilder(key: key.publicKey).der(
            issuer: .itself, signingKey: key.key)
        for count in 0..<der.count {
            #expect(throws: CryptoError.self) { try Certificate(der: Array(der.prefix(count))) }
        }
        let large = [UInt8](repeating: 0x30, count: Certificate.byteCountMax + 1)
        let indefinite = [0x30, 0x80] + der.dropFirst(4) + [0, 0]
        for bytes in [der + [0], der + der, large, indefinite, Array(der.reversed())] {
            #expect(throws: CryptoError.self) { try Certificate(der: bytes) }
        }
    }

    @Test("refuses BER inside what the issuer signs, which OpenSSL gives back as it came")
    func innerBER() throws {
        let der = try Authority().leaf().der
        // Another TRUE than DER's.
        var boolean = der
        let critical = try #require(
            der.indices.dropLast(2).first { der[$0..<$0 + 3] == [0x01, 0x01, 0xFF] })
        boolean[critical + 2] = 0x01
        // A longer length than it takes, of the INTEGER behind `[0] { 2 }`.
        try #require(der[0..<2] == [0x30, 0x82] && der[4..<6] == [0x30, 0x82])
        try #require(der[8..<14] == [0xA0, 3, 2, 1, 2, 2])
        var length = der
        length.insert(0x81, at: 14)
        for position in [2, 6] {
            let grown = UInt16(length[position]) << 8 + UInt16(length[position + 1]) + 1
            length[position] = UInt8(grown >> 8)
            length[position + 1] = UInt8(grown & 0xFF)
        }
        for bytes in [boolean, length] {
            #expect(throws: CryptoError.malformed("certificate: not DER")) {
                try Certificate(der: bytes)
            }
        }
    }

    @Test("refuses a time without seconds, which OpenSSL takes")
    func shortTime() throws {
        let der = try Authority().leaf().der
        let time = try #require(
            der.indices.dropLast(2).first { der[$0..<$0 + 2] == [0x17, 13] })
        try #require(der[time - 2..<time] == [0x30, 30])
        var bytes = Array(der[..<time]) + [0x17, 11] + der[time + 2..<time + 12] + [0x5A]
        bytes += der[(time + 15)...]
        // The lengths of what is around it.
        bytes[time - 1] -= 2
        for position in [2, 6] {
            let shrunk = UInt16(bytes[position]) << 8 + UInt16(bytes[position + 1]) - 2
            bytes[position] = UInt8(shrunk >> 8)
            bytes[position + 1] = UInt8(shrunk & 0xFF)
        }
        #expect(throws: CryptoError.malformed("certificate: not DER")) {
            try Certificate(der: bytes)
        }
    }

    @Test("refuses an extension that comes twice or is malformed")
    func extensions() throws {
        let key = try P256PrivateKey.generate()
        let twice = Authority.leafExtensions + [Authority.leafExtensions[2]]
        // Cut, with another TRUE than DER's, with a byte behind it, with an element behind it.
        let values: [[UInt8]] = [
            [0x30, 0x05], [0x30, 3, 1, 1, 1], [0x30, 3, 1, 1, 0xFF, 0], [0x30, 0, 0x30, 0],
        ]
        let malformed = values.map { [CertificateExtension(oid: "2.5.29.19", value: $0)] }
        for extensions in [twice] + malformed {
            let builder = Authority.leafBuilder(key: key.publicKey, extensions: extensions)
            #expect(throws: CryptoError.self) {
                try builder.certificate(issuer: .itself, signingKey: key.key)
            }
        }
    }

    @Test("never traps on a flipped byte")
    func flippedBytes() throws {
        let authority = try Authority()
        let leaf = try authority.leaf()
        for index in leaf.der.indices {
            var der = leaf.der
            der[index] ^= 0xFF
            guard let certificate = try? Certificate(der: der) else { continue }
            #expect(throws: CertificateChainError.self) {
                try CertificateChain.verify(
                    leaf: certificate, intermediates: [authority.issuer],
                    roots: [authority.root], at: Authority.noon)
            }
        }
    }

    @Test("escapes control characters in a name meant for people")
    func controlCharacters() throws {
        let key = try P256PrivateKey.generate()
        var builder = Authority.leafBuilder(key: key.publicKey)
        builder.subject = ["CN": "a\u{1B}[31m\nb, ü"]
        let certificate = try builder.certificate(issuer: .itself, signingKey: key.key)
        #expect(certificate.subject == "CN=a\\1B[31m\\0Ab\\, ü")
    }
}

@Suite("Certificates in PEM")
struct CertificatePEMTests {}

extension CertificatePEMTests {
    @Test("are read in their order, whatever text stands between them")
    func several() throws {
        let authority = try Authority()
        let text =
            Array("Test root\n".utf8) + (try authority.root.pem()) + Array("\nand CA\r\n".utf8)
            + (try authority.issuer.pem()) + Array("end\n".utf8)
        #expect(try Certificate.parsePEM(text) == [authority.root, authority.issuer])
    }

    @Test("are refused where none is, one is cut, or something else is among them")
    func refused() throws {
        let authority = try Authority()
        let pem = try authority.root.pem()
        let key = try authority.rootKey.pem()
        let cut = Array(pem.prefix(pem.count / 2))
        var damaged = pem
        damaged[pem.count / 2] = 0x2A
        let many = [[UInt8]](repeating: pem, count: Certificate.pemCertificateCountMax + 1)
        let large = [UInt8](repeating: 0x20, count: 4_000_000)
        for text in [[], Array("no certificate".utf8), cut, pem + cut, damaged, key, pem + key] {
            #expect(throws: CryptoError.self) { try Certificate.parsePEM(text) }
        }
        for text in [Array(many.joined()), large, authority.root.der] {
            #expect(throws: CryptoError.self) { try Certificate.parsePEM(text) }
        }
    }
}
