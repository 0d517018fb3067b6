import Foundation
import GatewayTesting
import JSON
import TLS
import Testing

@Suite("TLS at a listener", .enabled(if: BuiltProgram.isBuilt))
struct TLSTests {
    private let site: TLSSite

    init() throws { site = try TLSSite() }
}

extension TLSTests {
    @Test("requests over either version arrive, marked https", arguments: ["1.2", "1.3"])
    func versions(version: String) throws {
        let gateway = try site.gateway()
        let outcome = try site.curl(gateway, ["--tls-max", version])
        #expect(outcome.standardOutput == "hello\n200", "\(outcome.standardError)")
        #expect(site.upstream.requests.first?["x-forwarded-proto"] == "https")
        let line = try gateway.accessLine()
        #expect(line["tls"]?.stringValue == "TLSv\(version)")
        #expect(line["cipher"]?.stringValue?.contains("AES") == true)
        #expect(try gateway.metric(#"sallyport_tls_handshakes_total{group="x25519"}"#) == 1)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("large bodies go both ways")
    func largeBodies() throws {
        let text = String(repeating: "0123456789abcde\n", count: 60_000)
        let site = try TLSSite { request in
            .response(body: String(decoding: request.body, as: UTF8.self))
        }
        let gateway = try site.gateway()
        let path = try site.directory.write(text, to: "body")
        let outcome = try site.curl(gateway, ["--data-binary", "@\(path)"])
        #expect(outcome.standardOutput == text + "200", "\(outcome.standardError)")
    }

    @Test("pipelined requests are all answered, whatever OpenSSL read ahead")
    func pipelined() throws {
        let gateway = try site.gateway()
        let client = try TLSClient(port: gateway.port, trusting: site.authority)
        let request = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
        try client.send(String(repeating: request, count: 199))
        try client.send("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        let (text, ending) = client.receiveToEnd()
        #expect(text.components(separatedBy: "HTTP/1.1 200 ").count == 201)
        #expect(ending == .endOfFile)
    }

    @Test("the name that the client asks for decides on the certificate")
    func serverNames() throws {
        let other = try site.certificate("other", ["b.example", "*.c.example"])
        let gateway = try site.gateway(
            tls: "certificates: [{ \(TLSSite.entry(site.leaf)) }, { \(TLSSite.entry(other)) }]")
        for name in ["a.example", "b.example", "x.c.example"] {
            #expect(try site.curl(gateway, name: name).standardOutput == "hello\n200", "\(name)")
        }
        // The first is shown, and curl refuses it (60: the peer could not be authenticated).
        #expect(try site.curl(gateway, name: "d.example").status == .exited(60))
    }

    @Test("the client's signature algorithms decide between RSA and ECDSA")
    func kinds() throws {
        let rsa = try site.certificate("rsa", ["a.example"], kind: .rsa)
        let gateway = try site.gateway(
            tls: "\(TLSSite.entry(rsa)), certificates: [{ \(TLSSite.entry(site.leaf)) }]")
        for version in ["-tls1_2", "-tls1_3"] {
            let first = try site.client(gateway, [version, "-sigalgs", "rsa_pss_rsae_sha256"])
            #expect(first.contains("Peer signature type: RSA-PSS"), "\(first)")
            let second = try site.client(gateway, [version, "-sigalgs", "ecdsa_secp256r1_sha256"])
            #expect(second.contains("Peer signature type: ECDSA"), "\(second)")
        }
    }

    @Test("below min_version there is no handshake, and a metric says why")
    func minimumVersion() throws {
        let gateway = try site.gateway(tls: "\(TLSSite.entry(site.leaf)), min_version: 1.3")
        #expect(try site.curl(gateway, ["--tls-max", "1.2"]).status == .exited(35))
        #expect(try site.hasFailures(gateway, "version", 1))
        #expect(try site.curl(gateway).standardOutput == "hello\n200")
    }

    @Test("a certificate is asked of clients", arguments: ["request", "require"])
    func clientCertificates(mode: String) throws {
        let own = try site.certificate("client", ["client"])
        let stranger = try TestCertificate(in: site.directory, "stranger")
        let gateway = try site.gateway(
            tls: "\(TLSSite.entry(site.leaf)), client_certificates: "
                + "{ mode: \(mode), ca: \(site.authority.certificatePath) }")
        func answer(_ certificate: TestCertificate?) throws -> String {
            let files = certificate.map { ["--cert", $0.certificatePath, "--key", $0.keyPath] }
            return try site.curl(gateway, files ?? []).standardOutput
        }
        #expect(try answer(own) == "hello\n200")
        #expect(try answer(nil) == (mode == "request" ? "hello\n200" : "000"))
        #expect(try answer(stranger) == "000")
        #expect(try site.hasFailures(gateway, "certificate", mode == "request" ? 1 : 2))
    }

    @Test("what is no TLS is refused: HTTP with words, noise without")
    func garbage() throws {
        let gateway = try site.gateway()
        let http = try gateway.exchange("GET", "/")
        #expect(http.status == 400)
        #expect(http.bodyText == "This port speaks HTTPS only.\n")
        let noise = try RawSocket(port: gateway.port)
        try noise.send([UInt8](repeating: 0x42, count: 600))
        while try !noise.receive().isEmpty {}
        #expect(try site.hasFailures(gateway, "not_tls", 2))
        let silent = try RawSocket(port: gateway.port)
        silent.shutdownSending()
        while try !silent.receive().isEmpty {}
        #expect(try site.hasFailures(gateway, "truncated", 1))
        #expect(site.upstream.requests.isEmpty)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("a client that stalls in the handshake is dropped after its time")
    func stalled() throws {
        let gateway = try site.gateway(more: ["timeouts: { tls_handshake: 200ms }"])
        let silent = try RawSocket(port: gateway.port)
        #expect(try silent.receive().isEmpty)
        let halfway = try RawSocket(port: gateway.port)
        try halfway.send([0x16, 0x03, 0x01, 0x02])
        #expect(try halfway.receive().isEmpty)
        #expect(try site.hasFailures(gateway, "timeout", 2))
    }

    @Test("a request that is cut short goes nowhere")
    func truncated() throws {
        let gateway = try site.gateway()
        let client = try TLSClient(port: gateway.port, trusting: site.authority)
        try client.send("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 10\r\n\r\nhello")
        client.cut()
        let line = try gateway.accessLine()
        #expect(line["reason"]?.stringValue == "client_closed")
        #expect(site.upstream.requests.isEmpty)
    }

    @Test("an idle client that says close_notify hears it too")
    func clientEnds() throws {
        let gateway = try site.gateway()
        let client = try TLSClient(port: gateway.port, trusting: site.authority)
        try client.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        _ = try client.receive(until: "hello")
        client.session.sendClose()
        #expect(client.receiveToEnd() == ("", .endOfFile))
    }

    @Test("SIGTERM: idle connections hear close_notify, late handshakes are served")
    func drain() throws {
        let gate = Gate()
        let site = try TLSSite { _ in .response(after: gate) }
        let gateway = try site.gateway()
        let idle = try TLSClient(port: gateway.port, trusting: site.authority)
        let busy = try TLSClient(port: gateway.port, trusting: site.authority)
        try busy.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        try site.upstream.waitForRequests(1)
        gateway.current.terminate()
        #expect(idle.receiveToEnd() == ("", .endOfFile))
        gate.open()
        let (text, ending) = busy.receiveToEnd()
        #expect(text.hasPrefix("HTTP/1.1 200 "))
        #expect(ending == .endOfFile)
        #expect(try gateway.current.waitForExit() == .exited(0))
    }
}
