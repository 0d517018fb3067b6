import EventLoop
import GatewayTesting
import TLS
import Testing

@Suite("TLS certificates and parameters")
struct TLSSettingTests {
    private let minted: Minted

    init() throws { minted = try Minted.shared.get() }
}

extension TLSSettingTests {
    @Test("an identity tells its names, its kind and its dates")
    func identity() throws {
        let ecdsa = try minted.identity(minted.ecdsa)
        #expect(ecdsa.names == ["a.example"])
        #expect(ecdsa.keyKind == .ecdsa)
        #expect(ecdsa.validity == .valid)
        #expect(try minted.identity(minted.rsa).keyKind == .rsa)
        #expect(try minted.identity(minted.authority).names == ["authority"])
        #expect(ecdsa == (try minted.identity(minted.ecdsa)))
    }

    @Test("a key of another certificate, and files that are neither, are refused")
    func badIdentity() throws {
        let pem = try minted.ecdsa.certificatePEM
        let key = try minted.ecdsa.keyPEM
        let encrypted = try ChildProcess.run(
            "openssl", ["pkcs8", "-topk8", "-passout", "pass:opensesame"], standardInput: key
        ).standardOutput
        #expect(encrypted.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
        let cases: [([UInt8], [UInt8])] = [
            (pem, try minted.wild.keyPEM), (pem, try minted.rsa.keyPEM), (pem, []), ([], key),
            (pem, Array(encrypted.utf8)),
            (key, pem), (pem, Array("hello".utf8)), (Array(pem.prefix(300)), key),
        ]
        for (certificate, key) in cases {
            #expect(throws: TLSError.self) {
                try TLSIdentity(certificatePEM: certificate, keyPEM: key)
            }
        }
        // One file may hold both.
        #expect(throws: Never.self) {
            try TLSIdentity(certificatePEM: pem + key, keyPEM: pem + key)
        }
    }

    @Test("the name that the client asks for decides, exact before wildcard")
    func names() throws {
        let server = try minted.server([minted.ecdsa, minted.wild])
        let client = try minted.client()
        for (name, isGood) in [("a.example", true), ("x.b.example", true), ("X.B.Example", true)]
            + [("b.example", false), ("x.y.b.example", false), ("other", false)]
        {
            let pair = try TLSPair(server: server, client: client, name: name)
            // Where no certificate is for the name the first is shown, and the client refuses it.
            #expect(try pair.handshake()?.kind == (isGood ? nil : .certificate), "\(name)")
        }
    }

    @Test("RSA and ECDSA for one name: the client's ciphers decide")
    func kinds() throws {
        let server = try minted.server([minted.rsa, minted.ecdsa])
        var client = try minted.client()
        for (ciphers, authentication) in [
            ("ECDHE-RSA-AES128-GCM-SHA256", "RSA"), ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDSA"),
        ] {
            var limited = server
            limited.ciphers = ciphers
            client.ciphers = ciphers
            // Suites of TLS 1.3 say nothing about certificates; without a common one it is 1.2.
            limited.cipherSuites = "TLS_AES_128_GCM_SHA256"
            client.cipherSuites = "TLS_AES_256_GCM_SHA384"
            let pair = try TLSPair(server: limited, client: client)
            let failure = try pair.handshake()
            #expect(failure?.kind == .parameters || pair.server.cipherName.contains(authentication))
        }
    }

    @Test("groups: an unknown one is an error, or skipped where it is marked")
    func groups() throws {
        #expect(throws: Never.self) { try TLSCheck.groups("?NOSUCH:X25519:P-256") }
        #expect(throws: Never.self) { try TLSCheck.groups(TLSServerConfiguration.defaultGroups) }
        for list in ["NOSUCH:X25519", "?NOSUCH", "", "X25519::P-256", "x y"] {
            #expect(throws: TLSError.self) { try TLSCheck.groups(list) }
        }
        #expect {
            try TLSCheck.groups("X25519:NOSUCH")
        } throws: {
            "\($0)".contains("no group NOSUCH: write ?NOSUCH")
        }
    }

    @Test("ciphers and suites: unknown ones are errors")
    func ciphers() throws {
        #expect(throws: Never.self) { try TLSCheck.ciphers(TLSServerConfiguration.defaultCiphers) }
        #expect(throws: Never.self) { try TLSCheck.ciphers("ECDHE+AESGCM:!aNULL") }
        #expect(throws: TLSError.self) { try TLSCheck.ciphers("ECDHE-RSA-AES128-GCM-SHA256:NO") }
        #expect(throws: Never.self) {
            try TLSCheck.cipherSuites(TLSServerConfiguration.defaultCipherSuites)
        }
        #expect(throws: TLSError.self) { try TLSCheck.cipherSuites("TLS_AES_128_GCM_SHA256:NO") }
    }

    @Test("a certificate whose names earlier ones of its kind have is never used")
    func unused() throws {
        let other = try TestCertificate(in: minted.directory, "other", names: ["a.example"])
        let configuration = try minted.server([minted.ecdsa, minted.rsa, other, minted.wild])
        let keys = TLSTicketKeys(lifetime: .seconds(60))
        let context = try TLSServerContext(configuration, ticketKeys: keys)
        #expect(context.unusedCertificates == [2])
    }

    @Test("an OCSP response that is none is refused")
    func staple() {
        for bytes: [UInt8] in [
            [], [0x30, 0x00], Array("hello".utf8), [0x30, 0x03, 0x0A, 0x01, 0x06],
        ] {
            #expect(throws: TLSError.self) { try OCSPStaple(der: bytes) }
        }
    }
}
