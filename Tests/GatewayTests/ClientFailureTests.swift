import EventLoop
import Foundation
import GatewayTesting
import JSON
import Settings
import Telemetry
import Testing

@testable import Gateway

@Suite("Failures that apps report")
struct ClientFailureTests {}

extension ClientFailureTests {
    private static let header = "X-App-Attest-Failure"

    private func read(_ text: String) throws -> FailureReport {
        try FailureReport(header: Array(text.utf8).span)
    }

    private struct Unreadable: Error {}

    private func metrics(_ gateway: GatewayUnderTest) throws -> String {
        try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
    }

    private func cause(_ phase: String, _ code: String, _ os: String, _ count: Int) -> String {
        "\nsallyport_client_failures_total"
            + "{phase=\"\(phase)\",code=\"\(code)\",os=\"\(os)\"} \(count)\n"
    }

    private func version(_ app: String, _ version: String, _ code: String, _ count: Int) -> String {
        "\nsallyport_app_client_failures_total"
            + "{app=\"\(app)\",platform=\"\(app.hasPrefix("ABCDE12345.") ? "apple" : "")\""
            + ",version=\"\(version)\",code=\"\(code)\"} \(count)\n"
    }

    @Test("come with any request, which goes on without the header as if it had none")
    func header() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let text = "phase=attest;code=invalidKey;os=27.1;try=3"
        for path in ["/x", "/observed/x"] {
            let fields = [(Self.header, text), ("x_app_attest_failure", text)]
            #expect(try client.exchange("GET", path, fields: fields).status == 200)
        }
        // What is refused brings its report, too.
        #expect(
            try client.exchange("GET", "/attested/x", fields: [(Self.header, text)]).status == 401)
        #expect(
            try client.exchange("GET", "/attest/challenge", fields: [(Self.header, text)]).status
                == 200)
        #expect(gateway.upstream.requests.count == 2)
        for request in gateway.upstream.requests {
            #expect(
                !request.message.fields.contains {
                    $0.name.lowercased().replacing("_", with: "-").hasPrefix("x-app-attest")
                })
        }
        let page = try metrics(gateway)
        // A name with another spelling is nobody's report.
        #expect(page.contains(cause("attest", "invalidKey", "27.1", 4)))
        #expect(page.contains(version("unknown", "unknown", "invalidKey", 4)))
        #expect(page.contains("\nsallyport_client_failures_dropped_total 0\n"))
        #expect(gateway.outcomes(of: "open") == ["passed ok": 1])
    }

    @Test("that cannot be read are counted as such, and never refuse a request")
    func malformed() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        for text in ["", "nonsense", "phase=attest;code=invalidKey;code=offline"] {
            #expect(
                try client.exchange("GET", "/x", fields: [(Self.header, text)]).status == 200)
        }
        let twice = [(Self.header, "phase=key;code=other"), (Self.header, "phase=key;code=other")]
        #expect(try client.exchange("GET", "/x", fields: twice).status == 200)
        let odd = "phase=dance;code=E1;os=x;try=0;app=other.app;version=one"
        #expect(try client.exchange("GET", "/x", fields: [(Self.header, odd)]).status == 200)
        let page = try metrics(gateway)
        #expect(page.contains(cause("invalid", "invalid", "other", 4)))
        #expect(page.contains(cause("other", "other", "other", 1)))
        #expect(page.contains(version("other", "other", "other", 1)))
    }

    @Test("name a configured app by its App ID or its bundle identifier")
    func apps() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        for app in [GatewayUnderTest.appID, "com.example.app", "com.example.none"] {
            let text = "phase=verify;code=refused;os=27.1;app=\(app);version=4.10"
            #expect(
                try client.exchange("GET", "/x", fields: [(Self.header, text)]).status == 200)
        }
        let page = try metrics(gateway)
        #expect(page.contains(version(GatewayUnderTest.appID, "4.10", "refused", 2)))
        #expect(page.contains(version("other", "4.10", "refused", 1)))
    }

    @Test("come to an endpoint as JSON, or in the header")
    func endpoint() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let json = """
            {"phase":"attest","code":"serverUnavailable","os":"27.1","try":2,
             "app":"\(GatewayUnderTest.appID)","version":"4.10","later":[1]}
            """
        let answer = try client.exchange("POST", "/attest/failure", body: Array(json.utf8))
        #expect(answer.status == 204 && answer.body.isEmpty)
        let text = "phase=attest;code=serverUnavailable;os=27.1"
        #expect(
            try client.exchange("POST", "/attest/failure", fields: [(Self.header, text)]).status
                == 204)
        let page = try metrics(gateway)
        #expect(page.contains(cause("attest", "serverUnavailable", "27.1", 2)))
        #expect(page.contains(version(GatewayUnderTest.appID, "4.10", "serverUnavailable", 1)))
        #expect(gateway.upstream.requests.isEmpty)
        #expect(gateway.outcomes(of: "attest/failure") == ["answered ok": 2])
    }

    @Test(
        "that the endpoint cannot read are refused with what is wrong",
        arguments: [
            ("", "Neither the body nor the header has a report."),
            ("nonsense", "The body is not one JSON object."),
            ("[]", "The body is not one JSON object."),
            ("{}", "phase is missing."),
            (#"{"phase":"attest"}"#, "code is missing."),
            (#"{"phase":1,"code":"other"}"#, "phase is not 1 to 128"),
            (#"{"phase":"attest","code":"o/ther"}"#, "code is not 1 to 128"),
            (#"{"phase":"attest","code":"other","os":27.1}"#, "os is not a version"),
            (#"{"phase":"attest","code":"other","os":"x"}"#, "os is not a version"),
            (#"{"phase":"attest","code":"other","try":true}"#, "try is not a whole number"),
            (#"{"phase":"attest","code":"other","try":100}"#, "try is not a whole number"),
            (
                #"{"phase":"attest","code":"other","code":"other"}"#,
                "A member of the body comes more than once."
            ),
            (#"{"phase":"attest","code":"other","app":"a b"}"#, "app is not 1 to 128"),
            (#"{"phase":"attest","code":"other","version":""}"#, "version is not 1 to 128"),
        ])
    func badRequest(body: String, detail: String) throws {
        let gateway = try GatewayUnderTest()
        let answer = try gateway.client().exchange(
            "POST", "/attest/failure", body: Array(body.utf8))
        try expectRefusal(answer, detail)
        #expect(try gateway.logLines().last?.contains(#""detail":"failure_report""#) == true)
    }

    private func expectRefusal(_ answer: HTTPMessage, _ detail: String) throws {
        #expect(answer.status == 400 && answer.code == "bad_request")
        #expect(answer.member("action") == "none")
        #expect(answer.member("detail")?.hasPrefix(detail) == true)
    }

    @Test("in a header that the endpoint cannot read are refused with what is wrong, too")
    func badHeader() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let good = "phase=attest;code=other"
        let long = good + String(repeating: ";a=b", count: 130)
        for (values, detail) in [
            ([""], "The header is empty, or comes more than once."),
            ([good, good], "The header is empty, or comes more than once."),
            ([long], "The header is longer than 512 bytes."),
            (["nonsense"], "A part of the header is not NAME=VALUE"),
            ([good + ";phase=key"], "A part of the header comes more than once."),
            (["code=other"], "phase is missing."), ([good + ";try=x"], "try is not"),
        ] {
            let fields = values.map { (Self.header, $0) }
            try expectRefusal(
                try client.exchange("POST", "/attest/failure", fields: fields), detail)
        }
    }

    @Test("are short, and only posted")
    func bounds() throws {
        let gateway = try GatewayUnderTest()
        let long = Array((#"{"phase":"attest","code":""# + String(repeating: "x", count: 600)).utf8)
        let refused = try gateway.client().exchange("POST", "/attest/failure", body: long)
        #expect(refused.status == 413 && refused.code == "body_too_large")
        let answer = try gateway.client().exchange("GET", "/attest/failure")
        #expect(answer.status == 405 && answer["Allow"] == "POST")
    }

    @Test("of one address count a few times, and other requests go on")
    func limit() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        for _ in 0..<12 {
            let fields = [(Self.header, "phase=attest;code=invalidKey;os=27.1")]
            #expect(try client.exchange("GET", "/x", fields: fields).status == 200)
        }
        let body = Array(#"{"phase":"attest","code":"invalidKey"}"#.utf8)
        let answer = try client.exchange("POST", "/attest/failure", body: body)
        #expect(answer.status == 429 && answer["Retry-After"] != nil)
        let fields = [(Self.header, "phase=attest;code=offline;os=27.1")]
        #expect(try client.exchange("GET", "/x", fields: fields).status == 200)
        let page = try metrics(gateway)
        #expect(page.contains(cause("attest", "invalidKey", "27.1", 8)))
        #expect(!page.contains("code=\"offline\""))
        #expect(page.contains("\nsallyport_client_failures_dropped_total 6\n"))
    }

    @Test("of one address ring no alarm, whatever codes it takes turns with")
    func oneAddress() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let codes = [
            "unsupported", "featureUnsupported", "invalidInput", "unknownSystemFailure", "refused",
        ]
        for number in 0..<40 {
            let text =
                "phase=key;code=\(codes[number % codes.count]);os=27.1"
                + ";app=\(GatewayUnderTest.appID);version=7"
            #expect(try client.exchange("GET", "/x", fields: [(Self.header, text)]).status == 200)
        }
        let counted = gateway.hub.clientFailures.counts
        #expect(counted.causes.values.reduce(0, +) + counted.droppedCount == 40)
        #expect(Set(counted.causes.keys.map(\.code.rawValue)) == Set(codes))
        #expect(try !problems(gateway).contains("build_broken"))
    }

    private func problems(_ gateway: GatewayUnderTest) throws -> [String] {
        let page = try RawClient(port: gateway.adminPort, host: "127.0.0.1").exchange(
            "GET", "/status.json")
        guard case .array(let problems)? = try JSONValue.parse(page.bodyText)["problems"] else {
            throw Unreadable()
        }
        return problems.compactMap { $0["name"]?.stringValue }
    }

    @Test("of many names stay few, and a fleet's is not hidden by what a stranger invents")
    func names() throws {
        let failures = ClientFailures()
        func count(_ text: String, minute: Int) throws {
            let report = try read(text)
            failures.count(
                report, apps: [], at: MonotonicInstant(nanoseconds: UInt64(minute) * 60_000_000_000)
            )
        }
        for number in 0..<5000 {
            try count(
                "phase=attest;code=offline;os=\(1 + number / 100 % 99).\(number % 100);"
                    + "version=\(number)", minute: number / 1000)
        }
        let flooded = failures.counts
        #expect(flooded.causes.count <= ClientFailures.nameCountMax + 1)
        #expect(flooded.versions.count <= ClientFailures.nameCountMax + 1)
        #expect(flooded.causes.values.reduce(0, +) <= 5000)
        // All that comes after the table is full is counted still.
        let other = flooded.causes.first { $0.key.system == "other" }?.value ?? 0
        #expect(other >= 4000)
        for minute in 5..<8 {
            for number in 0..<40 {
                try count("phase=assert;code=invalidKey;os=27.1;version=5", minute: minute)
                try count(
                    "phase=attest;code=offline;os=\(1 + number).99;version=9\(number)",
                    minute: minute)
            }
        }
        let named = failures.counts
        #expect(named.causes.contains { $0.key.system == "27.1" && $0.key.phase == .assert })
        #expect(named.versions.contains { $0.key.version == "5" && $0.key.code == .invalidKey })
        // One name a minute at most gave way.
        let gone = Set(flooded.causes.keys).subtracting(named.causes.keys)
        #expect(gone.count <= 4)
    }

    @Test("are on the status page, with what they have in common")
    func status() throws {
        let gateway = try GatewayUnderTest()
        func report(_ text: String, _ count: Int) throws {
            let report = try read(text)
            for _ in 0..<count {
                gateway.hub.clientFailures.count(
                    report, apps: [GatewayUnderTest.appID], at: MonotonicInstant.now())
            }
        }
        func problems() throws -> [String] { try self.problems(gateway) }
        let known = ["apple_down", "build_broken", "keys_dying"]
        try report("phase=assert;code=invalidKey;os=27.1", 20)
        #expect(try problems().filter(known.contains).isEmpty)
        try report("phase=assert;code=invalidKey;os=27.1", 1)
        #expect(try problems().filter(known.contains) == ["keys_dying"])
        try report(
            "phase=key;code=featureUnsupported;os=26.1;app=\(GatewayUnderTest.appID);version=7", 21)
        #expect(try problems().filter(known.contains) == ["build_broken", "keys_dying"])
        try report("phase=attest;code=serverUnavailable;os=26.1", 22)
        // Nobody can attest: no build is blamed for that.
        #expect(try problems().filter(known.contains) == ["apple_down", "keys_dying"])
        let admin = try RawClient(port: gateway.adminPort, host: "127.0.0.1")
        let document = try JSONValue.parse(
            try admin.exchange("GET", "/status.json?history=day").bodyText)
        let failures = document["history"]?["client_failures"]
        guard case .array(let causes)? = failures?["causes"],
            case .array(let versions)? = failures?["versions"]
        else {
            Issue.record("no failures in status.json")
            return
        }
        #expect(causes.first?["code"]?.stringValue == "serverUnavailable")
        #expect(causes.first?["count"] == .integer(22))
        #expect(versions.contains { $0["version"]?.stringValue == "7" })
        let html = try admin.exchange("GET", "/").bodyText
        #expect(html.contains("Failures in apps in the last hour"))
        #expect(html.contains("<td>featureUnsupported</td>"))
    }
}
