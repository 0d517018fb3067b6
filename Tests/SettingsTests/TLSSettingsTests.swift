import Crypto
import Foundation
import Settings
import TLS
import Testing

@Suite("Settings of TLS")
struct TLSSettingsTests {}

extension TLSSettingsTests {
    /// A certificate and its key in PEM, valid for these seconds since 1970.
    static func pair(
        _ name: String = "a.example", until notAfter: Int64 = 4_000_000_000
    ) throws -> (certificate: String, key: String) {
        let key = try ECPrivateKey.generate(.p256)
        let certificate = try CertificateBuilder(
            subject: ["CN": name], key: .ec(key), notBefore: 1_000_000_000, notAfter: notAfter,
            extensions: []
        ).certificate(issuer: .itself, signingKey: key)
        return (
            String(decoding: try certificate.pem(), as: UTF8.self),
            String(decoding: try key.pem(), as: UTF8.self)
        )
    }

    /// Of an authority `CN=listed`, until 2020-02-01.
    static let expiredList = """
        -----BEGIN X509 CRL-----
        MIGUMD0wCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGbGlzdGVkFw0yMDAxMDEwMDAw
        MDBaFw0yMDAyMDEwMDAwMDBaMAoGCCqGSM49BAMCA0cAMEQCIBmvbA45ajEk0zpv
        km005tRNZRrwnnGzKnx9WmWALp31AiBmmpcjgSMgdHLZpIeJGZs8SdSLe9O9uISk
        TeBIkNjToQ==
        -----END X509 CRL-----
        """

    private func configuration() throws -> Configuration {
        let (first, second, old) = try (
            Self.pair(), Self.pair("b.example"), Self.pair("c.example", until: 1_100_000_000)
        )
        return Configuration(files: [
            "/a.crt": first.certificate, "/a.key": first.key,
            "/b.crt": second.certificate, "/b.key": second.key,
            "/old.crt": old.certificate, "/old.key": old.key,
            "/ticket": String(repeating: "t", count: 80), "/short": "t",
            "/etc/ssl/cert.pem": first.certificate, "/a.crl": Self.expiredList,
        ])
    }

    @Test("a listener: certificate and key are enough")
    func smallest() throws {
        let settings = try configuration().settings(
            "listeners: [{ bind: 'a:1', tls: { certificate: /a.crt, key: /a.key } }]")
        let tls = try #require(settings.listeners[0].tls)
        #expect(tls.files == [CertificateFiles(certificatePath: "/a.crt", keyPath: "/a.key")])
        #expect(tls.configuration.certificates[0].identity.names == ["a.example"])
        #expect(tls.configuration.minimumVersion == .tls12)
        #expect(tls.configuration.hasTickets)
        #expect(tls.tickets.keys.isEmpty)
        #expect(tls.configuration.clientCertificates == nil)
    }

    @Test("every key, and printed it loads to the same")
    func everyKey() throws {
        let configuration = try configuration()
        let settings = try configuration.settings(
            """
            listeners:
              - bind: a:1
                tls:
                  certificate: /a.crt
                  key: /a.key
                  certificates: [{ certificate: /b.crt, key: /b.key }]
                  min_version: 1.3
                  ciphers: ECDHE-ECDSA-AES128-GCM-SHA256
                  cipher_suites: TLS_AES_256_GCM_SHA384
                  groups: "?NOSUCH:X25519"
                  session_tickets: { keys: [/ticket], lifetime: 1h }
                  client_certificates: { mode: require, ca: /a.crt, crl: /a.crl, depth: 1 }
              - { bind: 'a:2', tls: { certificate: /a.crt, key: /a.key, session_tickets: off } }
            upstreams:
              api:
                servers: ['u.example:1']
                tls:
                  { ca: /a.crt, crl: /a.crl, server_name: S.example, certificate: /b.crt,
                    key: /b.key, session_reuse: off }
              open: { servers: ['u.example:2'], tls: { verify: off } }
              system: { servers: ['192.0.2.1:2'], tls: {} }
            """)
        let tls = try #require(settings.listeners[0].tls)
        #expect(tls.configuration.certificates.count == 2)
        #expect(tls.configuration.minimumVersion == .tls13)
        #expect(tls.tickets.lifetime == .seconds(3600))
        #expect(tls.configuration.clientCertificates?.depthMax == 1)
        #expect(settings.listeners[1].tls?.configuration.hasTickets == false)
        let upstream = try #require(settings.upstreams[0].tls)
        #expect(
            upstream.peer(at: settings.upstreams[0].servers[0].endpoint) == ("s.example", false))
        #expect(upstream.configuration.identity?.names == ["b.example"])
        #expect(!upstream.configuration.resumesSessions)
        #expect(upstream.configuration.authorities?.revocations?.nextUpdate == 1_580_515_200)
        #expect(settings.upstreams[1].tls?.configuration.authorities == nil)
        let system = try #require(settings.upstreams[2].tls)
        #expect(system.configuration.authorities != nil)
        #expect(system.peer(at: settings.upstreams[2].servers[0].endpoint) == ("192.0.2.1", true))
        let printed = SettingsPrinter.text(of: settings)
        let again = try configuration.loader.load(text: printed, fileName: "p").get().settings
        #expect(again == settings)
    }

    @Test("every fault at once, each at its place")
    func faults() throws {
        let text = """
            listeners:
              - bind: a:1
                tls: { certificate: /a.crt, key: /b.key }
              - bind: a:2
                tls: { certificate: /a.crt }
              - bind: a:3
                tls:
                  certificate: /none
                  key: /a.crt
                  groups: X25519:NOSUCH
                  min_version: 1.1
                  ciphers: NOSUCH
                  session_tickets: { keys: [/short] }
                  client_certificates: { mode: require }
              - bind: a:4
                tls: { certificates: [] }
            upstreams:
              api: { servers: [unix:/s], tls: { verify: on, certificate: /a.crt } }
              b: { servers: ['h:1'], tls: { crl: /a.crl, session_reuse: never } }
              c: { servers: ['h:2'], tls: { crl: /a.crl, verify: off } }
              d: { servers: ['h:3'], tls: { crl: /a.crt, ca: /a.crt } }
            """
        let library = try #require(
            try configuration().problems(text).first { $0.contains("no group") })
        #expect(
            library.hasSuffix(
                "has no group NOSUCH: write ?NOSUCH to use it only if the library has it"))
        let others = try configuration().problems(text).filter { $0 != library }
        #expect(
            others == [
                #"3:25: listeners[0].tls.certificate: "/a.crt" with "/b.key": the private key is "#
                    + "not the one of the certificate (key values mismatch)",
                #"5:10: listeners[1].tls: required key "key" is missing"#,
                #"8:20: listeners[2].tls.certificate: "/none" cannot be read: No such file or "#
                    + "directory",
                #"11:20: listeners[2].tls.min_version: "1.1" is not one of 1.2, 1.3: did you mean "#
                    + #""1.2"?"#,
                "12:16: listeners[2].tls.ciphers: OpenSSL has no cipher NOSUCH",
                #"13:33: listeners[2].tls.session_tickets.keys[0]: "/short" holds 1 bytes: 80 "#
                    + "random ones are a key",
                #"14:28: listeners[2].tls.client_certificates: required key "ca" is missing"#,
                "16:26: listeners[3].tls.certificates: is empty: at least one certificate is "
                    + "needed",
                #"18:35: upstreams.api.tls: required key "key" is missing"#,
                "18:35: upstreams.api.tls: a server at a unix socket needs a server_name to be "
                    + "checked against",
                "19:38: upstreams.b.tls.crl: needs ca: no file has the lists of all authorities "
                    + "that the system trusts",
                #"19:61: upstreams.b.tls.session_reuse: "never" is not one of on, off"#,
                "20:38: upstreams.c.tls.crl: has no use with verify: off",
                #"21:38: upstreams.d.tls.crl: "/a.crt": holds no PEM revocation list"#,
            ])
    }

    @Test("what an operator should know is a warning")
    func warnings() throws {
        let text = """
            listeners:
              - bind: a:1
                tls:
                  certificates:
                    - { certificate: /old.crt, key: /old.key }
                    - { certificate: /a.crt, key: /a.key }
                    - { certificate: /a.crt, key: /a.key }
            upstreams:
              api: { servers: ['h:1'], tls: { verify: off } }
              b: { servers: ['h:2'], tls: { ca: /b.crt, crl: /a.crl } }
            """
        let warnings = try configuration().warnings(text)
        #expect(
            warnings == [
                #"4:7: listeners[0].tls: "/a.crt" is never used: certificates of the same kind "#
                    + "before it have all its names",
                #"5:26: listeners[0].tls.certificates[0].certificate: "/old.crt" HAS EXPIRED"#,
                "9:33: upstreams.api.tls: verify is off: any server that answers is trusted and "
                    + "reads every request",
                "10:3: upstreams.b: no route uses it",
                #"10:50: upstreams.b.tls.crl: "/a.crl" HAS EXPIRED: certificates of its "#
                    + "authorities are refused",
                "10:50: upstreams.b.tls.crl: has no list of CN=b.example: all its certificates "
                    + "are refused",
            ])
    }
}
