import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("What operators see", .enabled(if: BuiltProgram.isBuilt))
struct AdminTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess
    private let client: SimulatedClient

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        client = try SimulatedClient.enrolled(gateway)
    }
}

extension AdminTests {
    @Test("liveness, readiness, metrics and a page; nothing of it on the apps' listener")
    func pages() throws {
        #expect(try gateway.admin("/livez").status == 200)
        try gateway.waitForReadiness(200)
        let page = try gateway.admin("/")
        #expect(page.status == 200)
        #expect(page["Content-Type"]?.hasPrefix("text/html") == true)
        #expect(try gateway.admin("/nothing").status == 404)
        let admin = try RawClient(port: gateway.adminPort)
        #expect(try admin.exchange("POST", "/nothing").status == 404)
        let refusal = try admin.exchange("POST", "/livez")
        #expect(refusal.status == 405)
        #expect(refusal["Allow"] == "GET, HEAD")
        let metrics = try gateway.admin("/metrics")
        #expect(metrics["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        _ = try gateway.exchange("GET", "/metrics")
        #expect(upstream.requests.last?.target == "/metrics")
    }

    @Test("pages are shown under names of operators only, metrics and probes under any")
    func hosts() throws {
        let gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        func status(_ host: String, _ target: String) throws -> Int {
            try RawClient(port: gateway.adminPort, host: host).exchange("GET", target).status
        }
        let pages = ["/", "/status.json", "/status.js", "/status.css"]
        for host in [
            "127.0.0.1:\(gateway.adminPort)", "[::1]", "localhost", "a.localhost:80", "sallyport",
        ] { for page in pages { #expect(try status(host, page) == 200, "\(host) \(page)") } }
        for host in [
            "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "1.2.3.4.5",
            "status.corp.example",
        ] {
            for page in pages + ["/refusals.json?id=a"] {
                #expect(try status(host, page) == 421, "\(host) \(page)")
            }
            for page in ["/metrics", "/livez"] { #expect(try status(host, page) == 200) }
        }
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let named = text.replacing("admin: {", with: "admin: { hosts: [\"*.corp.example\"],")
        #expect(try gateway.reload(text: named)["event"]?.stringValue == "reloaded")
        #expect(try status("Status.Corp.example.", "/") == 200)
        #expect(try status("corp.example", "/") == 421)
    }

    @Test("admin.probes tells whether the gateway is alive and ready, and nothing else")
    func probes() throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        let (first, second) = (FreePort.find(), FreePort.find())
        configuration.probes = "127.0.0.1:\(first)"
        let gateway = try GatewayProcess(configuration)
        try gateway.waitForReadiness(200)
        func check(_ port: UInt16) throws {
            let client = try RawClient(port: port)
            #expect(try client.exchange("GET", "/livez").bodyText == "ok\n")
            #expect(try client.exchange("GET", "/readyz").bodyText == "ready\n")
            let pages = ["/", "/status.json", "/status.js", "/status.css", "/refusals.json"]
            for path in pages + ["/metrics", "/identity/jwks.json", "/nothing", "/api/x"] {
                #expect(try client.exchange("GET", path).status == 404, "\(path)")
            }
            #expect(try client.exchange("POST", "/device-check/query").status == 404)
            #expect(try gateway.admin("/metrics").status == 200)
        }
        try check(first)
        configuration.probes = "127.0.0.1:\(second)"
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        try check(second)
        // The two change places: no connection may see what it may not.
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let swapped = text.replacing(":\(second)\"", with: ":OTHER\"")
            .replacing(":\(gateway.adminPort),", with: ":\(second),")
            .replacing(":OTHER\"", with: ":\(gateway.adminPort)\"")
        let kept = try RawClient(port: gateway.adminPort)
        #expect(try kept.exchange("GET", "/metrics").status == 200)
        #expect(try gateway.reload(text: swapped)["event"]?.stringValue == "reloaded")
        // The control thread hears of it as the workers do, by a message.
        try waitWhile(kept.exchange("GET", "/metrics").status == 200)
        #expect(try kept.exchange("GET", "/metrics").status == 404)
        #expect(try RawClient(port: second).exchange("GET", "/metrics").status == 200)
    }

    @Test("metrics count by route, decision and reason")
    func metrics() throws {
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(try client.raw.exchange("GET", "/api/x").status == 401)
        #expect(try client.raw.exchange("GET", "/open").status == 200)
        _ = try gateway.accessLine { $0["path"]?.stringValue == "/open" }
        let lines = try gateway.admin("/metrics").bodyText.split(separator: "\n")
        func has(_ labels: String...) -> Bool {
            lines.contains { line in
                !line.hasPrefix("#") && line.hasSuffix(" 1") && labels.allSatisfy(line.contains)
            }
        }
        #expect(has(#"route="api""#, #"decision="verified""#, #"reason="ok""#))
        #expect(has(#"route="api""#, #"decision="refused""#, #"reason="assertion_required""#))
        #expect(has(#"route="rest""#, #"decision="passed""#))
        let help = lines.filter { $0.hasPrefix("# TYPE") }
        #expect(Set(help).count == help.count)
    }

    @Test("each request is one JSON line with its decision and reason, and no secrets")
    func accessLog() throws {
        let fields = try client.signature("POST", "/api/x?token=secret", body: [1, 2, 3])
        _ = try client.raw.exchange("POST", "/api/x?token=secret", fields: fields, body: [1, 2, 3])
        let line = try gateway.accessLine { $0["path"]?.stringValue == "/api/x" }
        #expect(line["status"]?.integerValue == 200)
        #expect(line["method"]?.stringValue == "POST")
        #expect(line["route"]?.stringValue == "api")
        #expect(line["decision"]?.stringValue == "verified")
        #expect(line["reason"]?.stringValue == "ok")
        #expect(line["bytes_in"]?.integerValue == 3)
        let requestID = line["request_id"]?.stringValue
        #expect(upstream.requests.last?["X-Request-Id"] == requestID)
        let log = gateway.current.text(on: .standardOutput)
        #expect(!log.contains("secret"))
        for (name, value) in fields where name != "X-App-Attest-Key-Id" {
            #expect(!log.contains(value), "\(name) is in the log")
        }
        #expect(!log.contains(client.device.keyID.base64))
    }

    @Test("a refusal names its request id, as the log does")
    func requestID() throws {
        let answer = try gateway.exchange("GET", "/api/x")
        let id = try #require(answer["X-Request-Id"])
        #expect(answer.bodyText.contains(id))
        let line = try gateway.accessLine { $0["request_id"]?.stringValue == id }
        #expect(line["reason"]?.stringValue == "assertion_required")
    }

    @Test("hostile bytes cannot break a log line")
    func hostileLog() throws {
        _ = try gateway.exchange("GET", "/%22%0a%7B")
        _ = try gateway.exchange("GET", "/\u{e4}\"},{\"status\":200")
        let count = gateway.accessLineCount
        for line in try gateway.accessLines(count) { #expect(line.objectValue != nil) }
    }
}
