import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "A device of sallyport-lab in a terminal", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct DeviceCommandTests {}

extension DeviceCommandTests {
    @Test(
        "enrols, then sends requests of its own and of curl", arguments: LabDesk.Platform.allCases)
    func requests(platform: LabDesk.Platform) throws {
        let desk = try LabDesk(platform)
        try desk.enrol()
        let mode = try FileManager.default.attributesOfItem(atPath: desk.state)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let body = #"@{"note": "it's $HOME \ `x`"}"#
        for url in ["/api/x?page=2", desk.url + "/api/x?page=2"] {
            let sent = try desk.device("request", "POST", url, "-d", body, "-H", "X-Tag: a, b")
            #expect(sent.status == .exited(0))
            #expect(sent.standardOutput.hasPrefix("HTTP/1.1 200"), "\(sent.standardOutput)")
            #expect(sent.standardError.isEmpty, "\(sent.standardError)")
            let printed = try desk.device("curl", "POST", url, "-d", body, "-H", "X-Tag: a, b")
            #expect(printed.status == .exited(0), "\(printed.standardError)")
            let curled = try ChildProcess.run("sh", ["-c", printed.standardOutput])
            #expect(curled.standardOutput == "hello\n", "\(curled.standardError)")
        }
        #expect(desk.upstream.requests.count == 4)
        for request in desk.upstream.requests {
            #expect(request.target == "/api/x?page=2" && request.method == "POST")
            #expect(request.body == Array(body.utf8) && request["X-Tag"] == "a, b")
        }
        #expect(try desk.counter() == (platform == .apple ? 4 : nil))
        let shown = try desk.device("show").standardOutput
        #expect(shown.contains("platform: \(platform)\n"))
        #expect(shown.contains("gateway: 127.0.0.1:\(desk.gateway.port)/\n"))
        #expect(shown.contains("ticket: kept"))
        let ticket = try #require(try desk.file()["installation"]?.stringValue)
        #expect(!shown.contains(ticket))
    }

    @Test("fetches a session token", arguments: LabDesk.Platform.allCases)
    func token(platform: LabDesk.Platform) throws {
        let desk = try LabDesk(platform)
        try desk.enrol()
        let fetched = try desk.device("token", "-d", #"{"routes":["api"]}"#)
        #expect(fetched.status == .exited(0), "\(fetched.standardError)")
        let token = String(fetched.standardOutput.dropLast())
        let answer = try desk.gateway.exchange(
            "GET", "/api/x", fields: [("X-App-Attest-Token", token)])
        #expect(answer.status == 200, "\(answer.bodyText)")
        let refused = try desk.device("token", "--fault", "otherKey")
        #expect(refused.status == .exited(1) && refused.standardOutput.isEmpty)
        #expect(refused.standardError.contains("refused: assertion_invalid, status 401"))
    }

    @Test(
        "enrols again as the same installation, or as another one without the ticket",
        arguments: LabDesk.Platform.allCases)
    func reinstall(platform: LabDesk.Platform) throws {
        let desk = try LabDesk(platform)
        let first = try desk.enrol()
        #expect(first["succession"] == nil)
        let again = try desk.device("enrol")
        try #require(again.status == .exited(0), "\(again.standardError)")
        let second = try JSONValue.parse(again.standardOutput)
        #expect(second["succession"]?.stringValue == "accepted")
        #expect(second["key_id"] != first["key_id"])
        // The file knows the platform, so the options of another app need not say it.
        let words = desk.enrolment.filter { !["--platform", "android"].contains($0) }
        let third = try desk.lab(words)
        try #require(third.status == .exited(0), "\(third.standardError)")
        #expect(try JSONValue.parse(third.standardOutput)["succession"] != nil)
        let fresh = try desk.device("enrol", "--fresh")
        try #require(fresh.status == .exited(0), "\(fresh.standardError)")
        #expect(try JSONValue.parse(fresh.standardOutput)["succession"] == nil)
        #expect(try desk.isServed())
    }

    @Test("keeps its key if an enrolment fails", arguments: LabDesk.Platform.allCases)
    func failedEnrolment(platform: LabDesk.Platform) throws {
        let desk = try LabDesk(platform)
        let absent = try desk.lab(desk.enrolment + ["--fault", "otherRoot"])
        #expect(absent.status == .exited(1))
        #expect(!FileManager.default.fileExists(atPath: desk.state))
        try desk.enrol()
        let before = try desk.file()
        let refused = try desk.device("enrol", "--fault", "otherRoot")
        #expect(refused.status == .exited(1))
        #expect(refused.standardError.contains("refused: attestation_invalid, status 403"))
        #expect(refused.standardError.contains("an app: another key at once"))
        let unreachable = try desk.device("enrol", "--gateway", "127.0.0.1:\(FreePort.find())")
        #expect(unreachable.status == .exited(1))
        #expect(try desk.file() == before)
        #expect(try desk.isServed())
    }

    @Test("says what a refusal means, and how to look for its cause")
    func advice() throws {
        let desk = try LabDesk()
        try desk.enrol()
        let sent = try desk.device("request", "--fault", "otherKey", "GET", "/api/x")
        #expect(sent.status == .exited(0))
        let problem = try #require(sent.standardOutput.split(separator: "\n").last.map(String.init))
        let id = try #require(try JSONValue.parse(problem)["request_id"]?.stringValue)
        #expect(
            sent.standardError == """
                refused: assertion_invalid, status 401
                cause: signature_invalid
                an app: sign with the answer's challenge, `max` times (sign_again)
                the assertion: unspent
                look: sallyport explain request \(id) -c FILE

                """)
        let explained = try BuiltProgram.run(
            ["explain", "request", id, "-c", desk.gateway.configurationPath])
        #expect(explained.status == .exited(0), "\(explained.standardError)")
        #expect(explained.standardOutput.contains("assertion_invalid"))
    }

    /// Changes that a proxy for debugging can make to a request of curl.
    static let rewritings: [(from: String, to: String, code: String, cause: String)] = [
        ("-X 'POST'", "-X 'PUT'", "request_mismatch", "method_mismatch"),
        ("/api/x?", "/api/y?", "request_mismatch", "path_mismatch"),
        ("a=1&b=2", "b=2&a=1", "request_mismatch", "query_mismatch"),
        (#"{"a": 1}"#, #"{"a":1}"#, "body_mismatch", "body_mismatch"),
        ("X-App-Attest-Client-Data: ", "X: ", "assertion_malformed", "client_data_missing"),
    ]

    @Test("shows what a rewriting proxy breaks, and what it does not", arguments: rewritings)
    func rewriting(from: String, to: String, code: String, cause: String) throws {
        let desk = try LabDesk()
        try desk.enrol()
        func curl() throws -> String {
            try desk.device("curl", "POST", "/api/x?a=1&b=2", "-d", #"{"a": 1}"#).standardOutput
        }
        func answer(_ command: String) throws -> String {
            try ChildProcess.run("sh", ["-c", command]).standardOutput
        }
        let command = try curl()
        try #require(command.contains(from))
        let problem = try JSONValue.parse(try answer(command.replacing(from, with: to)))
        #expect(problem["code"]?.stringValue == code)
        #expect(problem["cause"]?.stringValue == cause)
        let page = try Repository.text(of: "docs/client/workbench.md")
        #expect(page.contains("`\(cause)`") && page.contains("`assertion_replayed`"))
        #expect(desk.upstream.requests.isEmpty)
        // Another host and other headers are not signed.
        let moved = try curl().replacing("127.0.0.1", with: "localhost")
            .replacing("curl ", with: "curl -H 'Cache-Control: no-cache' ")
        #expect(try answer(moved) == "hello\n")
        let repeated = try JSONValue.parse(try answer(moved))
        #expect(repeated["code"]?.stringValue == "assertion_replayed")
    }

    @Test("lists the faults that it can have", arguments: LabDesk.Platform.allCases)
    func faults(platform: LabDesk.Platform) throws {
        let desk = try LabDesk(platform)
        let other = LabDesk.Platform.allCases.filter { $0 != platform }
        let unknown = try desk.device("enrol", "--fault", "help").standardOutput
        #expect(unknown.contains("an attestation (apple)") && unknown.contains("(android)"))
        try desk.enrol()
        for (action, kind, fault) in [
            ("enrol", "attestation", "otherRoot"), ("request", "assertion", "rawSignature"),
        ] {
            let listed = try desk.device(action, "--fault", "help")
            #expect(listed.status == .exited(0))
            #expect(listed.standardOutput.contains("an \(kind) (\(platform)):"))
            #expect(listed.standardOutput.contains("  \(fault)"))
            #expect(!other.contains { listed.standardOutput.contains("(\($0))") })
        }
        let wrong = try desk.device("request", "--fault", "none", "GET", "/api/x")
        #expect(wrong.status == .exited(2) && wrong.standardError.contains("none is none of:"))
    }

    @Test("is used by one command at a time")
    func lock() throws {
        let desk = try LabDesk()
        try desk.enrol()
        let before = try desk.file()
        let lock = open(desk.state + ".lock", O_RDWR | O_CLOEXEC)
        try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        for words in [["request", "GET", "/api/x"], ["curl", "GET", "/api/x"], ["enrol"]] {
            let outcome = try desk.lab(["device"] + words)
            #expect(outcome.status == .exited(1))
            #expect(outcome.standardError.contains("in use by another command"), "\(words)")
        }
        #expect(try desk.file() == before && desk.upstream.requests.isEmpty)
        // A child that another test is starting may have the descriptor for a moment.
        flock(lock, LOCK_UN)
        close(lock)
        #expect(try desk.isServed())
    }

    @Test("has written the counter before it sends the assertion")
    func counterFirst() throws {
        let desk = try LabDesk()
        try desk.enrol()
        let gateway = try RecordingUpstream { [state = desk.state] request in
            if request.target == "/assert/challenge" { return .response(body: "challenge") }
            let seen = try? String(contentsOfFile: state, encoding: .utf8)
            return .response(body: seen ?? "")
        }
        let url = "http://127.0.0.1:\(gateway.port)/api/x"
        let sent = try desk.device("request", "GET", url).standardOutput
        let seen = try #require(sent.split(separator: "\n").last.map(String.init))
        #expect(try JSONValue.parse(seen)["device"]?["counter"]?.integerValue == 1)
        // A lost answer does not take it back.
        gateway.answer { request in
            request.target == "/assert/challenge"
                ? .response(body: "challenge") : UpstreamAnswer([], then: .close)
        }
        #expect(try desk.device("request", "GET", url).status == .exited(1))
        #expect(try desk.counter() == 2)
    }

    @Test(
        "says what is wrong with its words",
        arguments: [
            (["request", "GET", "https:///api"], "has no host"),
            (["request", "--ca", "ca.pem", "GET", "/api/x"], "only an https URL"),
            (["request", "GET", "ftp://localhost/api/x"], "is not HOST:PORT"),
            (["request", "GET", "/a b"], "percent-encode"),
            (["request", "GET", "http:///api"], "has no host"),
            (["request", "GE T", "/api/x"], "is not a method"),
            (["request", "-H", "broken", "GET", "/api/x"], "is not NAME: VALUE"),
            (["request", "--gateway", "localhost:1/api", "GET", "/x"], "belongs into --base"),
            (["request", "--base", "v1", "GET", "/x"], "does not begin and end with /"),
            (["request", "--platform", "android", "GET", "/x"], "a device of --platform apple"),
            (["request", "--state", "none.json", "GET", "/x"], "device enrol` makes it"),
            (["request", "--sate", "x", "GET", "/x"], "unknown option --sate"),
            (["request", "-X", "GET", "/x"], "unknown option -X"),
            (["token", "GET", "/x"], "usage"), (["sing", "GET", "/x"], "unknown action sing"),
        ])
    func mistakes(words: [String], message: String) throws {
        let desk = try LabDesk()
        try desk.enrol()
        let outcome = try desk.lab(["device"] + words)
        #expect(outcome.status != .exited(0))
        #expect(outcome.standardError.contains(message), "\(outcome.standardError)")
        #expect(try desk.counter() == 0)
    }
}
