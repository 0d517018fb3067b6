import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("Capture of refused objects", .enabled(if: BuiltProgram.isBuilt))
struct CaptureTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream
    private var place: String { directory.path(of: "captured") }

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
    }
}

extension CaptureTests {
    private func gateway(
        attest: String = "mode: enforce", capture: String? = nil
    ) throws -> GatewayProcess {
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: attest)
        configuration.apps = ["{ id: \(GatewayConfiguration.appID), environments: [production] }"]
        configuration.more = ["capture: { \(capture ?? "directory: \(place)") }"]
        return try GatewayProcess(configuration, directory: directory)
    }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: place)) ?? [])
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    /// The files once there are `count`: they are written some time after the answers.
    private func waitForFiles(_ count: Int) -> [String] {
        let limit = ChildProcess.deadline
        while names.count < count, Date() < limit { _ = poll(nil, 0, 5) }
        return names
    }

    private func explain(_ answer: HTTPMessage, _ gateway: GatewayProcess) throws -> JSONValue {
        try explain(try #require(answer["X-Request-Id"]), gateway)
    }

    private func explain(_ id: String, _ gateway: GatewayProcess) throws -> JSONValue {
        let outcome = try BuiltProgram.run(
            ["explain", "request", id, "-c", gateway.configurationPath, "--json"])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        return try JSONValue.parse(outcome.standardOutput)
    }

    private func failedSteps(_ value: JSONValue) -> [String] {
        (value["capture"]?["explanation"]?["steps"]?.arrayValue ?? [])
            .filter { $0["outcome"]?.stringValue == "failed" }
            .compactMap { $0["name"]?.stringValue }
    }

    @Test("an assertion is kept with its key, and explain takes it apart")
    func assertion() throws {
        let gateway = try gateway()
        let client = try SimulatedClient.enrolled(gateway)
        let answer = try client.request("GET", "/api/x", fault: .otherKey)
        #expect(answer.outcome == "401 assertion_invalid")
        #expect(waitForFiles(1).count == 1)
        let value = try explain(answer, gateway)
        #expect(value["request"]?["reason"]?.stringValue == "assertion_invalid")
        let explained = try #require(value["capture"]?["explanation"])
        #expect(explained["verdict"]?.stringValue == "invalid")
        #expect(explained["code"]?.stringValue == "signature_invalid")
        #expect(failedSteps(value) == ["signature"])
        let installation = Hex.encode(Array(client.device.keyID.digest.array.prefix(16)))
        #expect(value["capture"]?["installation"]?.stringValue == installation)
        let id = try #require(answer["X-Request-Id"])
        let text = try BuiltProgram.run(["explain", "request", id, "-c", gateway.configurationPath])
        #expect(text.standardOutput.contains(installation), "\(text.standardOutput)")
        let manager = FileManager.default
        let file = try manager.attributesOfItem(atPath: place + "/" + names[0])
        #expect((file[.posixPermissions] as? Int) == 0o600)
        let folder = try manager.attributesOfItem(atPath: place)
        #expect((folder[.posixPermissions] as? Int) == 0o700)
        // It is the one place that has it.
        let assertion = try #require(
            try JSONValue.parse(String(contentsOfFile: place + "/" + names[0], encoding: .utf8))[
                "assertion"]?.stringValue)
        #expect(!assertion.isEmpty)
        #expect(!gateway.current.text(on: .standardOutput).contains(assertion.prefix(40)))
    }

    @Test("an attestation is kept with its challenge, and explain finds the failing step")
    func attestation() throws {
        let gateway = try gateway()
        let device = try SimulatedDevice(
            appID: GatewayConfiguration.appID, environment: .development)
        let answers = [
            try SimulatedClient(gateway, device: device).enrol(),
            try SimulatedClient(gateway).enrol(fault: .otherNonce),
            try SimulatedClient(
                gateway, device: SimulatedDevice(appID: "ABCDE12345.com.example.unknown")
            ).enrol(),
        ]
        #expect(waitForFiles(3).count == 3)
        #expect(failedSteps(try explain(answers[0], gateway)) == ["environment"])
        #expect(failedSteps(try explain(answers[1], gateway)) == ["nonce"])
        #expect(failedSteps(try explain(answers[2], gateway)).contains("app"))
        let value = try explain(answers[0], gateway)
        #expect(value["capture"]?["explanation"]?["code"]?.stringValue == "environment_not_allowed")
    }

    @Test("the chain of an Android key is explained by what its app demands")
    func chain() throws {
        let phones = try LabPhones()
        let bootKey = String(repeating: "c5", count: 32)
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.apps = []
        phones.letIn(to: &configuration, "boot_keys: [\(bootKey)], patch_age_max: 90d")
        configuration.more = ["capture: { directory: \(place) }"]
        let gateway = try GatewayProcess(configuration, directory: directory)
        let phone = try phones.phone(
            "phone",
            ["--boot-state", "self_signed", "--boot-key", bootKey, "--patch-level", "202001"])
        #expect(try phones.attest(phone, at: gateway).status == .exited(1))
        let name = try #require(waitForFiles(1).first)
        let kept = try String(contentsOfFile: place + "/" + name, encoding: .utf8)
        let id = try #require(try JSONValue.parse(kept)["request_id"]?.stringValue)
        let value = try explain(id, gateway)
        #expect(value["request"]?["detail"]?.stringValue == "patch_level")
        #expect(failedSteps(value) == ["patch_level"])
    }

    @Test("explain says that nothing was kept of a request that capture would have kept")
    func skipped() throws {
        let gateway = try gateway()
        let client = try SimulatedClient.enrolled(gateway)
        let answer = try client.request("GET", "/api/x", fault: .otherKey)
        #expect(waitForFiles(1).count == 1)
        try FileManager.default.removeItem(atPath: place + "/" + names[0])
        let id = try #require(answer["X-Request-Id"])
        let text = try BuiltProgram.run(["explain", "request", id, "-c", gateway.configurationPath])
        #expect(text.standardOutput.contains("captured  nothing: "), "\(text.standardOutput)")
        let value = try explain(answer, gateway)
        #expect(value["capture"]?["file"] == nil)
        #expect(value["capture"]?["missing"]?.stringValue?.contains("ten a second") == true)
        // What is never kept is not missed.
        let plain = try client.raw.exchange("GET", "/api/x")
        #expect(plain.status == 401)
        #expect(try explain(plain, gateway)["capture"] == nil)
    }

    @Test("what differs from the signed request is shown beside it")
    func mismatch() throws {
        let gateway = try gateway()
        let client = try SimulatedClient.enrolled(gateway)
        let fields = try client.signature("GET", "/api/x")
        let answer = try client.raw.exchange("GET", "/api/y?z=1", fields: fields)
        #expect(answer.outcome == "401 request_mismatch")
        #expect(waitForFiles(1).count == 1)
        let value = try explain(answer, gateway)
        #expect(value["capture"]?["compared"]?.stringValue == "GET /api/y?z=1")
        #expect(value["request"]?["detail"]?.stringValue == "path_mismatch")
    }

    @Test("what would have been refused is kept, and what passes or proves nothing is not")
    func observed() throws {
        let gateway = try gateway(attest: "mode: observe")
        let client = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(try client.raw.exchange("GET", "/api/x").status == 200)
        #expect(try client.raw.exchange("GET", "/a/../b").status == 400)
        #expect(try client.request("GET", "/api/x", fault: .otherKey).status == 200)
        #expect(try gateway.terminate() == .exited(0))
        #expect(names.count == 1)
    }

    @Test("is bounded a second, and in bytes: the oldest go first, other files stay")
    func bounds() throws {
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: place, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        let old = "000000000000001-" + String(repeating: "a", count: 32) + ".json"
        let half = "." + old + ".crash"
        try directory.write([UInt8](repeating: 0x20, count: 1 << 20), to: "captured/" + old)
        try directory.write("x", to: "captured/" + half)
        try directory.write("x", to: "captured/notes.txt")
        let gateway = try gateway(capture: "directory: \(place), size_max: 1MiB")
        let client = try SimulatedClient.enrolled(gateway)
        var answers: [HTTPMessage] = []
        for _ in 0..<40 {
            answers.append(try client.request("GET", "/api/x", fault: .otherKey))
            #expect(answers.last?.status == 401)
        }
        let page = try gateway.admin("/metrics").bodyText
        func count(_ outcome: String) throws -> Int {
            let line = page.split(separator: "\n").first {
                $0.hasPrefix("sallyport_captures_total{outcome=\"\(outcome)\"} ")
            }
            return try #require(line.flatMap { Int($0.split(separator: " ")[1]) })
        }
        #expect(try count("failed") == 0)
        #expect(try count("kept") + count("skipped") <= 40)
        #expect(try gateway.terminate() == .exited(0))
        #expect(!names.contains(old))
        #expect(names.contains("notes.txt"))
        #expect(!manager.fileExists(atPath: place + "/" + half))
        #expect(names.count > 1 && names.count <= 41)
    }

    @Test("a directory that cannot be used is an event, and nothing else breaks")
    func unusable() throws {
        let open = directory.path(of: "open")
        try FileManager.default.createDirectory(
            atPath: open, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755])
        let missing = directory.path(of: "not/there")
        for (path, words) in [(open, "open to other users"), (missing, "no such file")] {
            let gateway = try gateway(capture: "directory: \(path)")
            let client = try SimulatedClient.enrolled(gateway)
            for _ in 0..<2 {
                let answer = try client.request("GET", "/api/x", fault: .otherKey)
                #expect(answer.outcome == "401 assertion_invalid")
            }
            let event = try gateway.waitForEvent("capture_failed")
            let message = try #require(event["message"]?.stringValue)
            #expect(message.contains("no refused request is kept") && message.contains(words))
            // Nobody says that anything is kept there.
            #expect(
                !gateway.current.lines(on: .standardError).contains {
                    $0.contains(#""event":"capture","#)
                })
            #expect(
                try gateway.admin("/metrics").bodyText.contains(
                    #"sallyport_captures_total{outcome="kept"} 0"#))
            #expect(try client.request("GET", "/api/x").status == 200)
            let check = try BuiltProgram.run(["check", "-c", gateway.configurationPath])
            #expect(check.status == .exited(0))
            #expect(check.standardError.contains("capture.directory: "))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: open).isEmpty)
    }

    @Test("a file tells of a request whose line in the log is gone")
    func withoutLine() throws {
        let gateway = try gateway()
        let client = try SimulatedClient.enrolled(gateway)
        let fields = try client.signature("GET", "/api/x")
        let answer = try client.raw.exchange("PUT", "/api/x", fields: fields)
        #expect(waitForFiles(1).count == 1)
        #expect(try gateway.terminate() == .exited(0))
        let log = try directory.write("", to: "emptied.log")
        let id = try #require(answer["X-Request-Id"])
        let outcome = try BuiltProgram.run(
            ["explain", "request", id, "-c", gateway.configurationPath, "--log", log])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        for text in [
            "Z  PUT", "route     api", "cause     request_mismatch  (method_mismatch)",
            "captured  \(place)/", "compared  PUT /api/x",
        ] { #expect(outcome.standardOutput.contains(text), "\(text)\n\(outcome.standardOutput)") }
    }

    @Test("is off by default, warned about when on, and changes with a reload")
    func onAndOff() throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        let gateway = try GatewayProcess(configuration, directory: directory)
        let client = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("GET", "/api/x", fault: .otherKey).status == 401)
        configuration.more = ["capture: { directory: \(place) }"]
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        let event = try gateway.waitForEvent("capture")
        #expect(event["level"]?.stringValue == "warning")
        try client.connect()
        #expect(try client.request("GET", "/api/x", fault: .otherKey).status == 401)
        #expect(waitForFiles(1).count == 1)
        configuration.more = []
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        try client.connect()
        #expect(try client.request("GET", "/api/x", fault: .otherKey).status == 401)
        #expect(try gateway.terminate() == .exited(0))
        #expect(names.count == 1)
    }
}
