import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

/// The status page of a gateway with an app for Apple's platforms and one for Android.
@Suite(
    "Platforms on the status page", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct StatusPlatformTests {
    private let upstream: RecordingUpstream
    private let phones: LabPhones
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        phones = try LabPhones()
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: "mode: enforce, apps: any")
        phones.letIn(to: &configuration)
        gateway = try GatewayProcess(configuration)
    }
}

extension StatusPlatformTests {
    /// Enrols a device and a phone, which send two requests and one, and returns the request ID of
    /// a phone that is refused.
    private func traffic() throws -> String {
        let client = try SimulatedClient.enrolled(gateway)
        for _ in 0..<2 { #expect(try client.request("GET", "/api/x").status == 200) }
        let phone = try phones.phone("phone")
        try #require(phones.attest(phone, at: gateway).status == .exited(0))
        #expect(try phones.request(phone, at: gateway).hasPrefix("HTTP/1.1 200"))
        let unlocked = try phones.phone("unlocked", ["--unlocked"])
        try #require(phones.attest(unlocked, at: gateway).status == .exited(1))
        let line = try gateway.accessLine { $0["detail"]?.stringValue == "device_unlocked" }
        #expect(line["platform"]?.stringValue == "android")
        return try #require(line["request_id"]?.stringValue)
    }

    private func document(_ target: String) throws -> JSONValue {
        try JSONValue.parse(gateway.admin(target).body.span, byteCountMax: 1 << 22)
    }

    private func sum(_ counts: JSONValue?) -> Int64? {
        counts?.arrayValue?.compactMap(\.integerValue).reduce(0, +)
    }

    @Test("the documents name the platform of each step, version and refusal")
    func documents() throws {
        let id = try traffic()
        let history = try #require(try document("/status.json")["history"])
        let platforms = try #require(history["funnel"]?["platforms"]?.arrayValue)
        try #require(platforms.map { $0["platform"]?.stringValue } == ["android", "apple"])
        let steps = ["attested", "first_assertions", "verified"]
        #expect(steps.map { sum(platforms[0][$0]) } == [1, nil, 1])
        #expect(steps.map { sum(platforms[1][$0]) } == [1, 1, 2])
        let versions = try #require(history["versions"]?.arrayValue).map {
            [$0["app"]?.stringValue, $0["platform"]?.stringValue]
        }
        #expect(versions.contains([LabPhones.package, "android"]))
        #expect(versions.contains([GatewayConfiguration.appID, "apple"]))
        let refusal = try #require(try document("/refusals.json?id=\(id)")["refusal"])
        #expect(refusal["platform"]?.stringValue == "android")
        #expect(refusal["remedy"]?.stringValue?.isEmpty == false)
    }

    @Test(
        "a browser shows them, with a script and without",
        .enabled(
            if: StatusPageTests.isBrowserInstalled,
            "chromium or python3-websockets is not installed"))
    func browser() throws {
        let id = try traffic()
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            [StatusPageTests.browser, "http://127.0.0.1:\(gateway.adminPort)", id],
            within: .seconds(180))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let seen = try JSONValue.parse(outcome.standardOutput)
        #expect(seen["messages"]?.arrayValue == [])
        let text = try #require(seen["text"]?.stringValue)
        for words in [
            "\(LabPhones.package) (Android)", "\(GatewayConfiguration.appID) (Apple)",
            "Android 1, Apple 1", "Android not counted, Apple 1", "Android 1, Apple 2",
        ] { #expect(text.contains(words), "\(words)") }
        let plain = try #require(seen["plain"]?.stringValue)
        #expect(plain.contains(/android\t1\tnot counted\t1\n/))
        #expect(plain.contains(/apple\t1\t1\t2\n/))
        let found = try #require(seen["found"]?["text"]?.stringValue)
        #expect(found.contains(/Platform\s+Android/) && found.contains("What to do:"))
        #expect(seen["overflow"]?.arrayValue == [])
        #expect(seen["plain_overflow"]?.arrayValue == [])
        for scheme in ["light", "dark"] {
            #expect((seen["contrast"]?[scheme]?.integerValue ?? 0) >= 450, "\(scheme)")
        }
        #expect(gateway.alarms.isEmpty)
    }
}
