import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("sallyport explain request", .enabled(if: BuiltProgram.isBuilt))
struct ExplainRequestTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream
    private var log: String { directory.path(of: "access.log") }

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
    }
}

extension ExplainRequestTests {
    private func gateway(_ more: [String] = []) throws -> GatewayProcess {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.listenerMore = ["trusted_proxies: [127.0.0.0/8]"]
        configuration.more = more
        return try GatewayProcess(configuration, directory: directory)
    }

    private func explain(_ words: String..., input: String = "") throws -> ChildProcess.Outcome {
        try BuiltProgram.run(["explain", "request"] + words, standardInput: Array(input.utf8))
    }

    private static func line(_ id: String, _ more: String = "") -> String {
        #"{"time":"2026-11-22T10:00:00.000Z","request_id":"\#(id)","client":"192.0.2.7","#
            + #""method":"GET","path":"/api/x","status":401,"decision":"refused","#
            + #""reason":"assertion_invalid","detail":"signature_invalid"\#(more)}"# + "\n"
    }

    /// Waits until the gateway's log has a line of this request.
    private func waitForLine(of id: String) throws {
        let limit = ChildProcess.deadline
        while Date() < limit {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            if text.contains(id) { return }
            _ = poll(nil, 0, 5)
        }
    }

    // MARK: a gateway's own log

    @Test("tells what was asked and decided, why, whose fault it is and what to do")
    func account() throws {
        let gateway = try gateway(["log: { access: \(log) }"])
        let client = try SimulatedClient.enrolled(gateway)
        let answer = try client.request("GET", "/api/x", fault: .otherKey)
        let id = try #require(answer["X-Request-Id"])
        try waitForLine(of: id)
        let outcome = try explain(id, "-c", gateway.configurationPath)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        for text in [
            "request   \(id)", "GET  /api/x", "route     api", "refused; answered 401",
            "cause     assertion_invalid  (signature_invalid)", "fault     the client app",
            "remedy    Let the app hash exactly the bytes", "found in  \(log)",
            GatewayConfiguration.appID,
        ] { #expect(outcome.standardOutput.contains(text), "\(text)\n\(outcome.standardOutput)") }
        let json = try explain(id, "-c", gateway.configurationPath, "--json")
        let value = try JSONValue.parse(json.standardOutput)
        #expect(value["fault"]?.stringValue == "client_app")
        #expect(value["source"]?.stringValue == log)
        #expect(value["request"]?["detail"]?.stringValue == "signature_invalid")
        #expect(value["capture"] == nil)
        // The same after a rotation.
        try FileManager.default.moveItem(atPath: log, toPath: log + ".1")
        let rotated = try explain(id, "-c", gateway.configurationPath)
        #expect(rotated.standardOutput.contains("found in  \(log).1"))
    }

    @Test("names no party at fault for a request that passed")
    func passed() throws {
        let gateway = try gateway(["log: { access: \(log) }"])
        let client = try SimulatedClient.enrolled(gateway)
        let id = try #require(try client.request("GET", "/api/x")["X-Request-Id"])
        try waitForLine(of: id)
        let outcome = try explain(id, "-c", gateway.configurationPath)
        #expect(outcome.standardOutput.contains("fault     none"))
        #expect(outcome.standardOutput.contains("verified, and forwarded"))
    }

    @Test("ends with 1 where nobody knows the request, and says where it has looked")
    func unknown() throws {
        let gateway = try gateway(["log: { access: \(log) }"])
        #expect(try gateway.exchange("GET", "/x").status == 200)
        try waitForLine(of: "/x")
        let outcome = try explain("abc", "-c", gateway.configurationPath)
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.contains("request abc was not found in \(log)"))
        for words in ["rotation", "another gateway"] {
            #expect(outcome.standardError.contains(words), "\(outcome.standardError)")
        }
        #expect(!outcome.standardError.contains("log.sample"))
        let sampled = GatewayConfiguration.enforcing(upstreamPort: 9)
            .text(port: 1, adminPort: 2, directory: directory.path)
        let path = try directory.write(
            sampled + "log: { access: \(log), sample: 10% }\n", to: "sampled.yaml")
        let left = try explain("abc", "-c", path)
        #expect(left.standardError.contains("left out (log.sample)"), "\(left.standardError)")
        #expect(outcome.standardOutput.isEmpty)
        let absent = try explain(
            "abc", "-c", gateway.configurationPath, "--log", directory.path(of: "none"))
        #expect(absent.status == .exited(1))
        #expect(absent.standardError.contains("no such file"))
    }

    @Test("says what to do where the log is not a file in JSON")
    func otherLogs() throws {
        for (log, hint) in [
            ("{ access: stdout }", "--log -"), ("{ access: off }", "log.access is off"),
            ("{ access: \(log), format: text }", "log.format is text"),
        ] {
            let text =
                GatewayConfiguration.enforcing(upstreamPort: 9)
                .text(port: 1, adminPort: 2, directory: directory.path) + "log: \(log)\n"
            let path = try directory.write(text, to: "other.yaml")
            let outcome = try explain("abc", "-c", path)
            #expect(outcome.status == .exited(1))
            #expect(outcome.standardError.contains(hint), "\(outcome.standardError)")
        }
    }

    // MARK: other logs

    @Test("reads a log that is named, or standard input, without a configuration")
    func named() throws {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736"
        let text = Self.line("a") + Self.line(id) + Self.line("b")
        let path = try directory.write(text, to: "kept.log")
        for outcome in [
            try explain(id, "--log", path), try explain(id, "--log", "-", input: text),
        ] {
            #expect(outcome.status == .exited(0), "\(outcome.standardError)")
            #expect(outcome.standardOutput.contains("The signature is not this key's"))
        }
        let pretty = "not JSON \(id)\n" + Self.line(id, #","upstream":"u""#)
        #expect(try explain(id, "--log", "-", input: pretty).status == .exited(0))
        let other = try directory.write("192.0.2.1 - - [22/Nov/2026] \(id)\n", to: "combined.log")
        let refused = try explain(id, "--log", other)
        #expect(refused.status == .exited(1))
        #expect(refused.standardError.contains("not an access log in JSON"))
        // A pipe has no end to begin from, and is read as it comes.
        let pipe = directory.path(of: "pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let writer = try ChildProcess("/bin/sh", ["-c", "cat '\(path)' > '\(pipe)'"])
        #expect(try explain(id, "--log", pipe).status == .exited(0))
        try writer.waitForExit()
        let empty = try directory.write("", to: "empty.log")
        #expect(try explain(id, "--log", empty).status == .exited(1))
    }

    @Test("finds lines of a large log at both of its ends and across the borders of blocks")
    func large() throws {
        // Borders are every MiB from the end on: the lines are such that ids lie on some.
        var text = ""
        text.reserveCapacity(5 << 20)
        var count = 0
        while text.utf8.count < 4 << 20 {
            count += 1
            text += Self.line("id-\(count)-x", #","user_agent":"\#(count % 97)""#)
        }
        let path = try directory.write(text, to: "large.log")
        let total = text.utf8.count
        var ids = ["id-1-x", "id-\(count)-x"]
        // The requests around each border.
        let bytes = Array(text.utf8)
        for border in stride(from: total - (1 << 20), to: 400, by: -(1 << 20)) {
            let near = String(decoding: bytes[(border - 400)..<(border + 400)], as: UTF8.self)
            ids += near.matches(of: /"(id-\d+-x)"/).map { String($0.output.1) }
        }
        #expect(ids.count > 5)
        for id in ids {
            let outcome = try explain(id, "--log", path, "--json")
            let found = try JSONValue.parse(outcome.standardOutput)
            #expect(found["request"]?["request_id"]?.stringValue == id)
        }
        #expect(try explain("id-0-x", "--log", path).status == .exited(1))
    }

    @Test("takes the newest line of an id, and none that only mentions it")
    func newest() throws {
        let text =
            Self.line("same") + Self.line("same", #","upstream":"newest""#)
            + Self.line("x", #","user_agent":"same""#) + String(repeating: "y", count: 3 << 20)
            + "\"same\"\n" + Self.line("z")
        let path = try directory.write(text, to: "twice.log")
        let outcome = try explain("same", "--log", path)
        #expect(outcome.standardOutput.contains("upstream  newest"), "\(outcome.standardError)")
        #expect(try explain("sam", "--log", path).status == .exited(1))
    }

    @Test("an overlong line is skipped and told of, in a file and in a pipe")
    func overlong() throws {
        // Once: a search of each mention would read the line again.
        let mentions = String(repeating: "\"same\" ", count: 300_000)
        let text = Self.line("same") + "{" + mentions + "}\n" + Self.line("z")
        let path = try directory.write(text, to: "long.log")
        for outcome in [
            try explain("same", "--log", path), try explain("same", "--log", "-", input: text),
        ] { #expect(outcome.status == .exited(0), "\(outcome.standardError)") }
        let alone = try directory.write("{" + mentions, to: "alone.log")
        for outcome in [
            try explain("same", "--log", alone),
            try explain("same", "--log", "-", input: Self.line("a") + mentions),
        ] {
            #expect(outcome.status == .exited(1))
            #expect(
                outcome.standardError.contains("a line was skipped: longer than 1 MiB"),
                "\(outcome.standardError)")
        }
    }

    @Test("options may stand before the kind, and those of another kind are named")
    func order() throws {
        let path = try directory.write(Self.line("abc"), to: "order.log")
        for words in [
            ["--json", "request", "abc", "--log", path],
            ["--log", path, "--json", "request", "abc"],
        ] {
            let outcome = try BuiltProgram.run(["explain"] + words)
            #expect(outcome.status == .exited(0), "\(outcome.standardError)")
            #expect(
                try JSONValue.parse(outcome.standardOutput)["request_id"]?.stringValue == "abc")
        }
        let foreign = try explain("abc", "--root", path)
        #expect(foreign.status == .exited(2))
        #expect(foreign.standardError.hasPrefix("--root is not for explain request\n"))
    }

    @Test("an id of a proxy may hold any visible character, and a line what a terminal obeys")
    func hostile() throws {
        let gateway = try gateway(["log: { access: \(log) }"])
        let id = "a'b;c/%d&e=f<g>\u{7B}"
        let fields = [("X-Request-Id", id), ("User-Agent", "x\u{9b}31m\u{202e}y")]
        #expect(try gateway.exchange("GET", "/api/x", fields: fields).status == 401)
        try waitForLine(of: "assertion_required")
        let outcome = try explain(id, "-c", gateway.configurationPath)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(outcome.standardOutput.contains(id))
        #expect(outcome.standardOutput.contains(#"with x\u{9b}31m\u{202e}y"#))
        #expect(outcome.standardOutput.utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) })
    }

    @Test(
        "a text that is no id is refused, and not shown",
        arguments: ["", "a b", "a\u{1B}[2J", "\u{e4}", String(repeating: "a", count: 129), "a\nb"])
    func noID(id: String) throws {
        let outcome = try explain(id, "--log", "/dev/null")
        #expect(outcome.status == .exited(2))
        #expect(
            outcome.standardError == "a request id is 1 to 128 visible ASCII characters "
                + "without spaces\n")
    }

    @Test("words that are missing or too many are a usage error, a bad configuration is 78")
    func usage() throws {
        #expect(try explain().status == .exited(2))
        #expect(try explain("a", "b").status == .exited(2))
        #expect(try explain("a", "--what").status == .exited(2))
        let path = try directory.write("nonsense: [", to: "bad.yaml")
        #expect(try explain("a", "-c", path).status == .exited(78))
        #expect(try BuiltProgram.run(["explain", "causes", "x"]).status == .exited(2))
    }

    // MARK: the gateway's last refusals

    /// Asks whoever answers in place of an admin listener.
    private func ask(_ answer: UpstreamAnswer, id: String = "abc") throws -> ChildProcess.Outcome {
        upstream.answer { _ in answer.followed(by: .dies) }
        let text = GatewayConfiguration.enforcing(upstreamPort: 9)
            .text(port: 1, adminPort: upstream.port, directory: directory.path)
        let path = try directory.write(text, to: "ring.yaml")
        return try explain(id, "-c", path)
    }

    @Test("are asked for a request that no log has, in whatever state the gateway is")
    func ring() throws {
        let line = Self.line("a/b+c").dropLast()
        let found = try ask(.response(body: #"{"format":1,"refusal":\#(line)}"#), id: "a/b+c")
        #expect(found.status == .exited(0), "\(found.standardError)")
        #expect(found.standardOutput.contains("the last refusals of 127.0.0.1:\(upstream.port)"))
        let request = try #require(upstream.requests.first)
        #expect(request.target == "/refusals.json?id=a%2Fb%2Bc")
        for (answer, words) in [
            (.response(404, body: "{}"), "was not found in the last refusals of"),
            (.response(503, body: "draining\n"), "503 draining"),
            (.response(body: #"{"format":1,"refusal":\#(line)}"#), "200 {"),
            (.response(body: "nonsense\u{1B}[2J"), "200 nonsense[2J"),
            (.raw("SSH-2.0-OpenSSH\r\n"), "not one of an admin listener"),
        ] as [(UpstreamAnswer, String)] {
            let outcome = try ask(answer)
            #expect(outcome.status == .exited(1), "\(words)")
            #expect(outcome.standardError.contains(words), "\(outcome.standardError)")
        }
    }
}
