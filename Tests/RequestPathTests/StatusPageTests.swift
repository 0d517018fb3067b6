import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Testing

/// The status page in a browser, and the documents behind it.
@Suite("The status page", .enabled(if: BuiltProgram.isBuilt))
struct StatusPageTests {
    static let isBrowserInstalled =
        (try? ChildProcess.run("chromium", ["--version", "--no-sandbox"]))?.status == .exited(0)
        && PythonInterpreter.debian.has("websockets")
    static let browser = Repository.path(of: "Tests/Browser/status_page.py")
    private static let hostile = "<img src=x onerror=pwned=1>\u{202E}\"'&lt;"

    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess
    private let client: SimulatedClient

    init() throws {
        upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.routes.insert(
            .init("seen", path: "/seen/*", attest: "mode: observe", more: ["quota: few"]), at: 1)
        configuration.routes.insert(
            .init("quiet", path: "/quiet/*", attest: "mode: observe"), at: 1)
        configuration.more = [
            "proofs: { partner: { preset: approov, header: X-Partner, secret_file: partner } }",
            "quotas: { few: { by: address, per: day, limit: 12345 } }",
        ]
        let directory = try ScratchDirectory()
        let secret = Base64.encode([UInt8](repeating: 5, count: 32)) + "\n"
        try directory.write(secret, to: "partner")
        gateway = try GatewayProcess(configuration, directory: directory)
        client = try SimulatedClient.enrolled(gateway)
    }
}

extension StatusPageTests {
    private func document(_ target: String) throws -> JSONValue {
        let answer = try gateway.admin(target)
        #expect(answer.status == 200, "\(target): \(answer.bodyText)")
        #expect(answer["Content-Type"] == "application/json")
        #expect(answer["Cache-Control"] == "no-store")
        return try JSONValue.parse(answer.body.span, byteCountMax: 1 << 22)
    }

    private func entry(_ list: JSONValue?, _ name: String, _ value: String) throws -> JSONValue {
        try #require(list?.arrayValue?.first { $0[name]?.stringValue == value })
    }

    /// One request of each kind: verified, refused, and let pass by a route that observes.
    private func traffic() throws -> String {
        #expect(try client.request("GET", "/api/x").status == 200)
        let refused = try client.raw.exchange(
            "GET", "/api/secret?token=secret", fields: [("User-Agent", Self.hostile)])
        #expect(refused.status == 401)
        #expect(try client.request("GET", "/seen/x", fault: .otherKey).status == 200)
        return try #require(refused["X-Request-Id"])
    }

    @Test("status.json tells what has happened, now and by the minute")
    func status() throws {
        let id = try traffic()
        _ = try gateway.accessLine { $0["path"]?.stringValue == "/seen/x" }
        let status = try document("/status.json")
        #expect(status["format"]?.integerValue == 1)
        // Its simulated Apple is the only thing that is wrong with it.
        #expect(status["level"]?.stringValue == "warning")
        #expect(status["problems"]?.arrayValue?.count == 1)
        #expect(status["gateway"]?["workers"]?.integerValue == 1)
        #expect(
            try entry(status["problems"], "name", "extra_roots")["remedy"]?.stringValue
                == "Remove the setting in production; it is for tests only.")
        let api = try entry(status["routes"], "name", "api")
        #expect(api["buckets"]?["verified"]?.integerValue == 1)
        #expect(api["buckets"]?["unknown_origin"]?.integerValue == 1)
        #expect(api["mode"]?.stringValue == "enforce")
        let seen = try entry(status["routes"], "name", "seen")
        #expect(seen["would_be_refused"]?.integerValue == 1)
        let history = try #require(status["history"])
        // Null until they were counted, and not 0.
        #expect(
            status["keys_counted_at"]?.stringValue != nil
                || status["keys"]?.arrayValue?.isEmpty == true)
        let server = try #require(
            status["upstreams"]?.arrayValue?.first?["servers"]?.arrayValue?.first)
        #expect(server["checked"]?.boolValue == false && server["unasked"]?.boolValue == false)
        #expect(server["asked"]?.stringValue != nil)
        let past = try entry(history["routes"], "name", "api")
        #expect(past["requests"]?.arrayValue?.compactMap(\.integerValue).reduce(0, +) == 2)
        #expect(past["refused"]?.arrayValue?.compactMap(\.integerValue).reduce(0, +) == 1)
        let funnel = try #require(history["funnel"])
        for step in ["challenges", "attested", "first_assertions", "verified"] {
            #expect(
                funnel[step]?.arrayValue?.compactMap(\.integerValue).reduce(0, +) == 1, "\(step)")
        }
        let checks = try #require(history["verification"])
        // Of two checks the first is timed.
        #expect(checks["count"]?.arrayValue?.compactMap(\.integerValue).reduce(0, +) == 1)
        let version = try #require(history["versions"]?.arrayValue?.first)
        #expect(version["app"]?.stringValue == GatewayConfiguration.appID)
        let day = try document("/status.json?history=day")
        #expect(day["history"]?["step_s"]?.integerValue == 900)
        #expect(try document("/status.json?history=none")["history"] == nil)
        let wrong = try gateway.admin("/status.json?history=week")
        #expect(wrong.status == 400 && wrong.bodyText.contains("history is hour, day or none"))
        #expect(!id.isEmpty)
    }

    @Test("refusals.json has cause and remedy of each, and no query or proof")
    func refusals() throws {
        let id = try traffic()
        _ = try gateway.accessLine { $0["path"]?.stringValue == "/seen/x" }
        let list = try #require(try document("/refusals.json")["refusals"]?.arrayValue)
        #expect(list.map { $0["decision"]?.stringValue } == ["observed", "refused"])
        #expect(list.map { $0["action"]?.stringValue } == [nil, "sign_again"])
        #expect(list.first?["key"]?.stringValue?.isEmpty == false)
        #expect(list.first?["app"]?.stringValue == GatewayConfiguration.appID)
        let refusal = try #require(try document("/refusals.json?id=\(id)")["refusal"])
        #expect(refusal == list.last)
        #expect(refusal["path"]?.stringValue == "/api/secret")
        #expect(refusal["reason"]?.stringValue == "assertion_required")
        #expect(refusal["status"]?.integerValue == 401)
        #expect(refusal["user_agent"]?.stringValue == Self.hostile)
        for name in ["meaning", "remedy", "fault_text"] {
            #expect(refusal[name]?.stringValue?.isEmpty == false, "\(name)")
        }
        let text = try gateway.admin("/refusals.json").bodyText
        #expect(!text.contains("token=") && !text.contains(client.device.keyID.base64))
        let unknown = try gateway.admin("/refusals.json?id=%3Cb%3E")
        #expect(unknown.status == 404)
        #expect(
            try JSONValue.parse(unknown.bodyText)["error"]?.stringValue == "not_found")
        for query in ["id=%", "id=a&id=b"] {
            #expect(try gateway.admin("/refusals.json?\(query)").status == 400)
        }
        // Neither the apps' listener nor the admin listener's own refusals have a part in it.
        #expect(try gateway.admin("/nothing").status == 404)
        #expect(try document("/refusals.json")["refusals"]?.arrayValue?.count == 2)
        #expect(try gateway.exchange("GET", "/status.json").status == 200)
        #expect(upstream.requests.last?.target == "/status.json")
    }

    @Test("without a script the page is true, and markup of strangers is text")
    func plainPage() throws {
        let id = try traffic()
        _ = try gateway.accessLine { $0["path"]?.stringValue == "/seen/x" }
        let page = try gateway.admin("/")
        let policy = try #require(page["Content-Security-Policy"])
        #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("unsafe"))
        #expect(page.bodyText.contains(id))
        #expect(page.bodyText.contains("trust.extra_roots is set"))
        let refusal = try #require(try document("/refusals.json?id=\(id)")["refusal"])
        for name in ["meaning", "remedy", "fault_text", "action", "client", "decision"] {
            let text = try #require(refusal[name]?.stringValue)
            #expect(page.bodyText.contains(text), "\(name)")
        }
        for text in [
            "From challenge to request in the last hour", "Latency in the last hour",
            "Events since the start", "descriptors", "<td>partner</td><td>foreign</td>",
        ] { #expect(page.bodyText.contains(text), "\(text)") }
        #expect(!page.bodyText.contains("<img"))
        #expect(try gateway.admin("/status.css")["Content-Type"]?.hasPrefix("text/css") == true)
        let script = try gateway.admin("/status.js")
        #expect(script["Content-Type"]?.hasPrefix("text/javascript") == true)
        #expect(script.bodyText.hasPrefix("\"use strict\""))
    }

    @Test(
        "a browser shows it, live, by keyboard, on a phone, in light and dark",
        .enabled(if: isBrowserInstalled, "chromium or python3-websockets is not installed"))
    func browser() throws {
        let id = try traffic()
        _ = try gateway.accessLine { $0["path"]?.stringValue == "/seen/x" }
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            [Self.browser, "http://127.0.0.1:\(gateway.adminPort)", id],
            within: .seconds(180))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let seen = try JSONValue.parse(outcome.standardOutput)
        #expect(seen["messages"]?.arrayValue == [])
        for text in [seen["plain"]?.stringValue, seen["text"]?.stringValue] {
            #expect(text?.contains("trust.extra_roots is set") == true)
            #expect(text?.contains("assertion_required") == true)
        }
        let text = try #require(seen["text"]?.stringValue)
        #expect(text.contains("no requests to judge"))
        #expect(text.contains("Other issuers") && text.contains("partner foreign"))
        #expect(text.contains(#/few by address\s+12.3K requests per day\s+1\s+0/#))
        #expect(text.contains("by the gateway in the last hour"))
        #expect(text.contains(/\d (key|keys) enrolled at \d\d:|keys not counted yet/))
        #expect(!text.contains(/\b1 (keys|requests|workers|WebSockets)\b/))
        #expect(seen["unreached"]?.arrayValue == [])
        #expect(seen["overflow"]?.arrayValue == [])
        #expect(seen["plain_overflow"]?.arrayValue == [])
        #expect(seen["found"]?["note"]?.stringValue == "1 of 2 matches.")
        let found = try #require(seen["found"]?["text"]?.stringValue)
        #expect(found.contains(id) && found.contains("What to do:"))
        #expect(seen["hostile"]?["text"]?.stringValue?.contains("<img src=x onerror=") == true)
        #expect(seen["nothing"]?["note"]?.stringValue?.contains("Press Enter") == true)
        #expect(seen["asked"]?.stringValue?.contains("no refusal of a request") == true)
        #expect(seen["made"]?.stringValue == "undefined,0")
        #expect(seen["readout"]?.stringValue?.contains("1 verified") == true)
        for scheme in ["light", "dark"] {
            #expect((seen["contrast"]?[scheme]?.integerValue ?? 0) >= 450, "\(scheme)")
        }
        #expect(seen["silent"]?.stringValue?.contains("has not answered since") == true)
        #expect(gateway.alarms.isEmpty)
    }
}
