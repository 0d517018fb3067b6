import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("TLS to upstreams", .enabled(if: BuiltProgram.isBuilt))
struct TLSUpstreamTests {
    private let site: TLSSite
    private let port = FreePort.find()

    init() throws { site = try TLSSite() }
}

extension TLSUpstreamTests {
    /// A server of OpenSSL's own that answers every request with a page, and with the end of the
    /// connection.
    private func server(_ arguments: [String] = []) throws -> ChildProcess {
        let server = try ChildProcess(
            "openssl",
            ["s_server", "-accept", "127.0.0.1:\(port)", "-www", "-cert"]
                + [site.leaf.certificatePath, "-key", site.leaf.keyPath] + arguments)
        try server.waitForLine(on: .standardOutput, containing: "ACCEPT")
        return server
    }

    /// `workers` of 1: for tests of what each worker keeps for itself, connections to servers and
    /// their TLS sessions.
    private func configuration(_ tls: String, workers: Int? = nil) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(upstreamPort: port)
        if let workers { configuration.workers = workers }
        configuration.upstreams["api"] = "servers: [\"127.0.0.1:\(port)\"], tls: { \(tls) }"
        return configuration
    }

    private func gateway(_ tls: String, workers: Int? = nil) throws -> GatewayProcess {
        try GatewayProcess(configuration(tls, workers: workers))
    }

    private var authority: String { "ca: \(site.authority.certificatePath)" }

    @Test("the server must prove its name, by an authority of ours")
    func verification() throws {
        let server = try server()
        let cases = [
            ("\(authority), server_name: a.example", 200),
            ("\(authority), server_name: b.example", 502),
            // Neither the address nor the system's authorities vouch for it.
            (authority, 502), ("server_name: a.example", 502), ("verify: off", 200),
        ]
        for (tls, status) in cases {
            let gateway = try gateway(tls)
            #expect(try gateway.exchange("GET", "/").status == status, "\(tls)")
            let detail = try gateway.accessLine()["detail"]?.stringValue
            #expect((detail?.contains("certificate verify failed") == true) == (status == 502))
        }
        server.kill()
    }

    @Test("the server gets the name that it is asked for, and a certificate")
    func clientCertificate() throws {
        let own = try site.certificate("gateway", ["gateway"])
        let server = try server(["-Verify", "1", "-CAfile", site.authority.certificatePath])
        let with = "\(authority), server_name: a.example, \(TLSSite.entry(own))"
        let answer = try gateway(with).exchange("GET", "/")
        #expect(answer.status == 200)
        #expect(answer.bodyText.contains("DNS:gateway"), "\(answer.bodyText)")
        let without = try gateway("\(authority), server_name: a.example")
        #expect(try without.exchange("GET", "/").status == 502)
        server.kill()
    }

    @Test(
        "HTTP/2 is agreed on by ALPN, and a server that does not choose it gets no request",
        .enabled(if: NginxServer.isInstalled))
    func http2() throws {
        for (options, status) in [("ssl http2", 200), ("ssl", 502)] {
            let nginx = try NginxServer(
                locations: """
                    ssl_certificate \(site.leaf.certificatePath);
                    ssl_certificate_key \(site.leaf.keyPath);
                    location / { return 200 "$server_protocol $scheme $ssl_server_name"; }
                    """, options: options)
            var configuration = GatewayConfiguration(upstreamPort: nginx.port)
            configuration.upstreams["api"]? +=
                ", protocol: h2, tls: { \(authority), server_name: a.example }"
            let gateway = try GatewayProcess(configuration)
            let answer = try gateway.exchange("GET", "/")
            #expect(answer.status == status)
            if status == 200 {
                #expect(answer.bodyText == "HTTP/2.0 https a.example")
            } else {
                let detail = try gateway.accessLine()["detail"]?.stringValue
                // Some servers refuse, others choose nothing.
                let texts = ["no application protocol", "did not choose h2"]
                #expect(texts.contains { detail?.contains($0) == true }, "\(detail ?? "")")
            }
        }
    }

    @Test("a server without TLS is not spoken to")
    func plainServer() throws {
        var configuration = GatewayConfiguration(upstreamPort: site.upstream.port)
        configuration.upstreams["api"] =
            "servers: [\"127.0.0.1:\(site.upstream.port)\"], tls: { verify: off }"
        configuration.upstreams["api"]? += ", connect_timeout: 300ms"
        let gateway = try GatewayProcess(configuration)
        #expect([502, 504].contains(try gateway.exchange("GET", "/").status))
        #expect(site.upstream.requests.isEmpty)
    }

    @Test("an answer that ends with its connection is whole only after close_notify")
    func truncated() throws {
        let answer = "HTTP/1.1 200 OK\r\n\r\nhalf"
        for saysClose in [true, false] {
            let server = try TLSServerStub(site.leaf, answer: answer, saysClose: saysClose)
            var configuration = GatewayConfiguration(upstreamPort: server.port)
            configuration.upstreams["api"]? += ", tls: { \(authority), server_name: a.example }"
            let gateway = try GatewayProcess(configuration)
            let client = try gateway.connect()
            try client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let text = String(decoding: try client.receiveToEnd(), as: UTF8.self)
            #expect(text.contains("half"))
            #expect(text.hasSuffix("0\r\n\r\n") == saysClose)
            let line = try gateway.accessLine()
            #expect(line["reason"]?.stringValue == (saysClose ? "ok" : "upstream_failed"))
            let detail = line["detail"]?.stringValue
            #expect(detail == (saysClose ? nil : "broken: closed without close_notify"))
        }
    }

    @Test(
        "sessions are resumed with nginx, unless switched off or the trust has changed",
        .enabled(if: NginxServer.isInstalled), arguments: ["TLSv1.2", "TLSv1.3"])
    func resumption(version: String) throws {
        let nginx = try NginxServer(
            locations: """
                listen 127.0.0.1:\(port) ssl;
                ssl_certificate \(site.leaf.certificatePath);
                ssl_certificate_key \(site.leaf.keyPath);
                ssl_protocols \(version);
                ssl_session_cache shared:sessions:1m;
                keepalive_timeout 0;
                location / { return 200 "$ssl_protocol $ssl_session_reused"; }
                """)
        let trust = "\(authority), server_name: a.example"
        let gateway = try gateway(trust, workers: 1)
        func answers() throws -> [String] {
            try (0..<3).map { _ in try gateway.exchange("GET", "/").bodyText }
        }
        let (fresh, resumed) = ("\(version) .", "\(version) r")
        #expect(try answers() == [fresh, resumed, resumed])
        // The same authority by another text is another rule: nothing of before is resumed.
        let text = try String(contentsOfFile: site.authority.certificatePath, encoding: .utf8)
        let other = try site.directory.write("another text\n" + text, to: "other.pem")
        try gateway.reload(configuration("ca: \(other), server_name: a.example", workers: 1))
        #expect(try answers() == [fresh, resumed, resumed])
        try gateway.reload(configuration("\(trust), session_reuse: off", workers: 1))
        #expect(try answers() == [fresh, fresh, fresh])
        #expect(gateway.alarms.isEmpty)
        withExtendedLifetime(nginx) {}
    }

    @Test("connections to nginx are kept", .enabled(if: NginxServer.isInstalled))
    func nginx() throws {
        let nginx = try NginxServer(
            locations: """
                listen 127.0.0.1:\(port) ssl;
                ssl_certificate \(site.leaf.certificatePath);
                ssl_certificate_key \(site.leaf.keyPath);
                location / { return 200 "$ssl_server_name $connection_requests\\n"; }
                """)
        let gateway = try gateway("\(authority), server_name: a.example", workers: 1)
        for count in 1...5 {
            let answer = try gateway.exchange("GET", "/")
            #expect(answer.bodyText == "a.example \(count)\n")
        }
        #expect(gateway.alarms.isEmpty)
        withExtendedLifetime(nginx) {}
    }
}
