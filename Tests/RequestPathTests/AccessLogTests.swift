import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("Access lines", .enabled(if: BuiltProgram.isBuilt))
struct AccessLogTests {
    private let upstream: RecordingUpstream

    init() throws {
        upstream = try RecordingUpstream { request in
            request.target == "/own"
                ? .response(fields: [("X-Request-Id", "theirs")]) : .response()
        }
    }
}

extension AccessLogTests {
    private func gateway(_ log: String = "", more: [String] = []) throws -> GatewayProcess {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.listenerMore = [
            "protocols: [http/1.1, h2]", "trusted_proxies: [127.0.0.0/8]",
        ]
        if !log.isEmpty { configuration.more = ["log: { \(log) }"] }
        configuration.routes[1].more = more
        return try GatewayProcess(configuration)
    }

    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(trace)-00f067aa0ba902b7-01"

    @Test("tell the client beside the peer, the app with its version, and the trace")
    func members() throws {
        let gateway = try gateway()
        let device = try SimulatedDevice(
            appID: GatewayConfiguration.appID, system: .iOS27, bundleVersion: "4.10")
        let client = try SimulatedClient.enrolled(gateway, device: device)
        let fields =
            try client.signature("GET", "/api/x") + [
                ("X-Forwarded-For", "203.0.113.7"), ("User-Agent", "Example/4.10"),
                ("traceparent", Self.parent),
            ]
        #expect(try client.raw.exchange("GET", "/api/x", fields: fields).status == 200)
        let line = try gateway.accessLine { $0["path"]?.stringValue == "/api/x" }
        let expected = [
            "client": "203.0.113.7", "peer": "127.0.0.1", "user_agent": "Example/4.10",
            "trace_id": Self.trace, "app": GatewayConfiguration.appID, "app_version": "4.10",
            "environment": "production", "version": "1.1",
        ]
        for (name, value) in expected { #expect(line[name]?.stringValue == value, "\(name)") }
        #expect(line["host"]?.stringValue?.isEmpty == false)
        let enrolment = try gateway.accessLine { $0["path"]?.stringValue == "/attest/verify" }
        #expect(enrolment["app_version"]?.stringValue == "4.10")
        #expect(enrolment["environment"]?.stringValue == "production")
    }

    @Test(
        "tell no trace that is none",
        arguments: [
            ["00-\(trace)-00f067aa0ba902b7-01-x"], ["ff-\(trace)-00f067aa0ba902b7-01"],
            ["00-00000000000000000000000000000000-00f067aa0ba902b7-01"], ["00-\(trace)"],
            ["00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"], [parent, parent],
        ])
    func noTrace(values: [String]) throws {
        let gateway = try gateway()
        let fields = values.map { ("traceparent", $0) }
        #expect(try gateway.exchange("GET", "/x", fields: fields).status == 200)
        #expect(try gateway.accessLine()["trace_id"] == nil)
    }

    @Test("hostile bytes in headers are escaped in every form of the line")
    func hostile() throws {
        let agent = "a\"b\\c d\u{9b}31m\u{202e}\u{e4}" + String(repeating: "x", count: 1000)
        for format in ["json", "combined", "text"] {
            let gateway = try gateway("format: \(format)")
            let fields = [("User-Agent", agent), ("X-Forwarded-For", "203.0.113.7")]
            #expect(try gateway.exchange("GET", "/y?q=secret", fields: fields).status == 200)
            // Lines of several workers have no order.
            _ = try gateway.current.waitForLine(on: .standardOutput) { _ in true }
            #expect(try gateway.exchange("GET", "/\u{e4}\"}", fields: fields).status == 400)
            _ = try gateway.current.waitForLine(on: .standardOutput, from: 1) { _ in true }
            let lines = gateway.current.lines(on: .standardOutput)
            #expect(lines.count == 2)
            for line in lines {
                #expect(!line.contains("\u{9b}") && !line.contains("\u{202e}"))
                #expect(!line.contains("secret"))
                #expect(line.utf8.count < 1500)
                #expect(line.contains("203.0.113.7") || line.contains("400"))
            }
            switch format {
            case "json":
                let text = try JSONValue.parse(lines[0])["user_agent"]?.stringValue
                #expect(text?.hasPrefix("a\"b\\c d\u{9b}31m\u{202e}\u{e4}xx") == true)
            case "combined":
                let start = #/203\.0\.113\.7 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] /#
                let rest = lines[0].drop { $0 != "\"" }
                #expect(lines[0].prefixMatch(of: start) != nil, "\(lines[0])")
                let end = #""GET /y HTTP/1.1" 200 6 "-" "a\x22b\x5cc d\xc2\x9b31m"#
                #expect(rest.hasPrefix(end), "\(rest)")
            default:
                #expect(lines[0].contains(" passed 200 ok GET /y client=203.0.113.7 route=rest "))
            }
        }
    }

    @Test("log.sample leaves out a share of what passed, and no refusal")
    func sample() throws {
        let gateway = try gateway("sample: 0%")
        let client = try SimulatedClient.enrolled(gateway)
        for _ in 0..<20 {
            #expect(try client.request("GET", "/api/x").status == 200)
            #expect(try client.raw.exchange("GET", "/open").status == 200)
        }
        for _ in 0..<5 { #expect(try client.raw.exchange("GET", "/api/x").status == 401) }
        let lines = try gateway.accessLines(6)
        #expect(
            lines.map { $0["decision"]?.stringValue }
                == ["answered"] + [String](repeating: "refused", count: 5))
        #expect(lines[0]["path"]?.stringValue == "/attest/verify")
        let half = try self.gateway("sample: 50%")
        let raw = try half.connect()
        for _ in 0..<400 { #expect(try raw.exchange("GET", "/open").status == 200) }
        #expect(try half.terminate() == .exited(0))
        let kept = half.current.lines(on: .standardOutput)
        // Twelve standard deviations.
        #expect((80...320).contains(kept.count))
        #expect(kept.allSatisfy { $0.contains(#""sample":50"#) })
    }

    @Test("every answer tells its request's id, the log's own, whichever part gave it")
    func requestIDs() throws {
        let gateway = try gateway()
        let targets = ["/x", "/own", "/api/x", "/assert/challenge", "/.."]
        for target in targets {
            let answer = try gateway.exchange("GET", target)
            let ids = answer.values(of: "X-Request-Id")
            #expect(ids.count == 1 && ids.first != "theirs", "\(target)")
            _ = try gateway.accessLine { $0["request_id"]?.stringValue == ids.first }
            let url = "http://127.0.0.1:\(gateway.port)\(target)"
            let outcome = try ChildProcess.run(
                "curl",
                ["-sS", "-D", "-", "-o", "/dev/null", "--http2-prior-knowledge"]
                    + ["--path-as-is", url])
            let fields = outcome.standardOutput.split(whereSeparator: \.isNewline)
                .filter { $0.hasPrefix("x-request-id: ") }
            #expect(fields.count == 1, "\(target): \(outcome.standardOutput)")
        }
        #expect(try gateway.admin("/livez")["X-Request-Id"] != nil)
        let silent = try self.gateway(more: ["response_headers: { remove: [X-Request-Id] }"])
        #expect(try silent.exchange("GET", "/x")["X-Request-Id"] == nil)
    }
}
