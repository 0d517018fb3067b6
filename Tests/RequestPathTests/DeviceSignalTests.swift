import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("Keys per device bit", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct DeviceSignalTests {
    private let site: DeviceBitSite
    private var upstream: RecordingUpstream { site.upstream }
    private var apple: AppleServer { site.apple }

    init() throws { site = try DeviceBitSite() }
}

extension DeviceSignalTests {
    private func start(
        _ rule: String = "bits: { banned: { action: deny }, trial_used: { max: 1 } }",
        deviceCheck: String = ""
    ) throws -> GatewayProcess {
        try GatewayProcess(try site.configuration(rule, deviceCheck: deviceCheck))
    }

    private func token(_ device: String = "phone") throws -> String { try site.token(device) }

    private func set(
        _ bits: String, of device: String, at gateway: GatewayProcess
    ) throws {
        let answer = try site.post("update", ",\"bits\":{\(bits)}", of: device, at: gateway)
        #expect(answer.status == 200, "\(answer.bodyText)")
    }

    private func enrol(_ client: SimulatedClient, _ token: String?) throws -> HTTPMessage {
        let body = try client.enrolmentBody(challenge: client.attestationChallenge())
        return try client.enrol(body, fields: token.map { [(DeviceBitSite.tokenName, $0)] } ?? [])
    }

    /// A key of that device, which is let in.
    private func enrolled(_ gateway: GatewayProcess, _ token: String?) throws -> SimulatedClient {
        let client = try SimulatedClient(gateway)
        #expect(try enrol(client, token).outcome == "200")
        return client
    }

    private func detail(_ gateway: GatewayProcess, _ answer: HTTPMessage) throws -> String? {
        let id = try #require(answer["X-Request-Id"])
        return try gateway.accessLine { $0["request_id"]?.stringValue == id }["detail"]?
            .stringValue
    }

    /// An attestation was taken, and the log says what was wrong with its token.
    private func expectLine(_ detail: String, at gateway: GatewayProcess) throws {
        let line = try gateway.accessLine { $0["detail"]?.stringValue == detail }
        #expect(line["status"] == .integer(200))
    }

    /// What the upstream is told of the client's next request.
    private func told(_ client: SimulatedClient) throws -> (String?, String?, String?) {
        #expect(try client.request("GET", "/api/x").outcome == "200")
        let seen = try #require(upstream.requests.last)
        return (
            seen["X-Attest-Device-Bits"], seen["X-Attest-Device-Bit-Keys"], seen["X-Attest-Signals"]
        )
    }

    private func tokens(_ gateway: GatewayProcess, _ outcome: String) throws -> Double? {
        try gateway.metric("sallyport_enrolment_device_tokens_total{outcome=\"\(outcome)\"}")
    }

    private func bits(_ gateway: GatewayProcess, _ bit: String, _ state: String) throws -> Double? {
        try gateway.metric(
            "sallyport_enrolment_device_bits_total{bit=\"\(bit)\",state=\"\(state)\"}")
    }

    // MARK: what is told and refused

    @Test("a banned device enrols no further key, another device does")
    func banned() throws {
        let gateway = try start()
        try set("\"banned\":true", of: "phone", at: gateway)
        let client = try SimulatedClient(gateway)
        let refused = try enrol(client, try token())
        #expect(refused.outcome == "403 abuse_suspected" && refused.action == "none")
        #expect(try detail(gateway, refused) == "signal: keys_per_device_bit.banned")
        let line = try gateway.accessLine { $0["reason"]?.stringValue == "abuse_suspected" }
        #expect(
            line["signals"]?.arrayValue?.map(\.stringValue) == ["keys_per_device_bit.banned"])
        #expect(try client.request("GET", "/api/x").outcome == "401 key_unknown")
        let other = try enrolled(gateway, try token("tablet"))
        #expect(try told(other) == ("none", nil, "none"))
        #expect(try bits(gateway, "banned", "set") == 1)
        #expect(try bits(gateway, "banned", "clear") == 1)
        #expect(try bits(gateway, "trial_used", "clear") == 2)
        #expect(try tokens(gateway, "read") == 2)
        #expect(
            try gateway.metric(
                "sallyport_signals_total{signal=\"keys_per_device_bit.banned\"}") == 1)
        let log = gateway.current.text(on: .standardOutput)
        #expect(!log.contains("device_token\":"))
    }

    @Test("keys of devices with a bit are counted together, and told with each request")
    func counted() throws {
        let gateway = try start()
        for device in ["phone", "tablet"] {
            try set("\"trial_used\":true", of: device, at: gateway)
        }
        let first = try enrolled(gateway, try token("phone"))
        #expect(try told(first) == ("trial_used", "trial_used=1", "none"))
        let second = try enrolled(gateway, try token("tablet"))
        let expected = ("trial_used", "trial_used=2", "keys_per_device_bit.trial_used")
        #expect(try told(second) == expected)
        #expect(try told(first) == expected)
        // Another device's key is none of them.
        let third = try enrolled(gateway, try token("watch"))
        #expect(try told(third) == ("none", nil, "none"))
        #expect(gateway.current.text(on: .standardError).contains("signal_raised"))
        // What a client says of itself is removed.
        let lie = [("X-Attest-Device-Bits", "none"), ("x_attest_device_bit_keys", "banned=0")]
        let answer = try first.raw.exchange(
            "GET", "/api/x", fields: try first.signature("GET", "/api/x") + lie)
        #expect(answer.status == 200)
        #expect(upstream.requests.last?["X-Attest-Device-Bits"] == "trial_used")
        #expect(upstream.requests.last?["x_attest_device_bit_keys"] == nil)
    }

    @Test("a restart keeps what is known of a key's device, and a single key counts as one")
    func restart() throws {
        let gateway = try start("bits: { banned: { max: 1 }, trial_used: {} }")
        try set("\"banned\":true, \"trial_used\":true", of: "phone", at: gateway)
        let client = try enrolled(gateway, try token())
        let expected = (
            "trial_used, banned", "trial_used=1, banned=1", "keys_per_device_bit.trial_used"
        )
        #expect(try told(client) == expected)
        #expect(try gateway.terminate() == .exited(0))
        try gateway.start()
        try client.connect()
        // Counts are of memory; the key itself is there.
        #expect(try told(client) == expected)
    }

    // MARK: tokens that say nothing

    @Test("a key enrols without a token, with a bad one and with a used one, and nothing is known")
    func optional() throws {
        let gateway = try start()
        #expect(try told(try enrolled(gateway, nil)) == (nil, nil, "none"))
        for (token, detail) in [
            ("AAAA", "device_token_bad"), ("no base64!", "device_token_malformed"),
        ] {
            let client = try SimulatedClient(gateway)
            #expect(try enrol(client, token).outcome == "200")
            try expectLine(detail, at: gateway)
            #expect(try told(client) == (nil, nil, "none"))
        }
        let token = try token()
        #expect(try told(try enrolled(gateway, token)).0 == "none")
        let second = try SimulatedClient(gateway)
        #expect(try enrol(second, token).outcome == "200")
        try expectLine("device_token_spent", at: gateway)
        #expect(try told(second) == (nil, nil, "none"))
        #expect(try tokens(gateway, "missing") == 1)
        #expect(try tokens(gateway, "invalid") == 2)
        #expect(try tokens(gateway, "spent") == 1)
        #expect(try bits(gateway, "banned", "unknown") == 4)
        #expect(!gateway.current.text(on: .standardOutput).contains(token))
    }

    @Test("a used token clears nobody, and still tells on its device")
    func spent() throws {
        let gateway = try start()
        try set("\"banned\":true", of: "tablet", at: gateway)
        let (clean, banned) = (try token("phone"), try token("tablet"))
        #expect(try enrol(try SimulatedClient(gateway), clean).outcome == "200")
        for outcome in ["read", "spent"] {
            let answer = try enrol(try SimulatedClient(gateway), banned)
            #expect(answer.outcome == "403 abuse_suspected")
            #expect(try tokens(gateway, outcome) ?? 0 >= 1)
        }
        #expect(try bits(gateway, "banned", "set") == 2)
        let client = try SimulatedClient(gateway)
        #expect(try enrol(client, clean).outcome == "200")
        #expect(try told(client) == (nil, nil, "none"))
    }

    @Test("a key enrols while Apple fails, and nothing is known of its device")
    func appleDown() throws {
        let gateway = try start()
        try set("\"banned\":true", of: "phone", at: gateway)
        try apple.fail(.deviceCheck, status: 500, count: 0)
        let client = try enrolled(gateway, try token())
        #expect(try told(client) == (nil, nil, "none"))
        #expect(try tokens(gateway, "unavailable") == 1)
        try apple.clearFaults()
        #expect(try enrol(try SimulatedClient(gateway), try token()).status == 403)
    }

    @Test("enrolments do not make the gateway ask faster than it may")
    func bounds() throws {
        let gateway = try start("token: optional", deviceCheck: ", rate: 1/h")
        #expect(try told(try enrolled(gateway, try token())).0 == "none")
        let client = try SimulatedClient(gateway)
        #expect(try enrol(client, try token()).outcome == "200")
        try expectLine("device_check_rate", at: gateway)
        #expect(try told(client).0 == nil)
    }

    @Test("where a token is required no key enrols without a good one, and a later one does")
    func required() throws {
        let gateway = try start("token: required, bits: { banned: { action: deny } }")
        let client = try SimulatedClient(gateway)
        let body = try client.enrolmentBody(challenge: client.attestationChallenge())
        for (token, detail) in [
            (nil, "device_token_missing"), ("AAAA", "device_token_bad"),
            ("no base64!", "device_token_malformed"),
        ] as [(String?, String)] {
            let answer = try client.enrol(
                body, fields: token.map { [(DeviceBitSite.tokenName, $0)] } ?? [])
            #expect(answer.outcome == "401 device_token_invalid" && answer.action == "sign_again")
            #expect(try self.detail(gateway, answer) == detail)
        }
        let two = try client.enrol(
            body,
            fields: [
                (DeviceBitSite.tokenName, try token()), (DeviceBitSite.tokenName, try token()),
            ])
        #expect(two.outcome == "401 device_token_invalid")
        try apple.fail(.deviceCheck, conduct: .close, count: 0)
        let down = try client.enrol(body, fields: [(DeviceBitSite.tokenName, try token())])
        #expect(down.outcome == "503 store_unavailable" && down.action == "retry_later")
        try apple.clearFaults()
        // No refusal has spent the attestation.
        #expect(
            try client.enrol(body, fields: [(DeviceBitSite.tokenName, try token())]).outcome
                == "200")
        #expect(try told(client).0 == "none")
        #expect(try tokens(gateway, "missing") == 1)
    }

    // MARK: by hand

    @Test("keys are shown, exported and imported with what is known of their devices")
    func commands() throws {
        let gateway = try start()
        try set("\"trial_used\":true", of: "phone", at: gateway)
        let client = try enrolled(gateway, try token())
        let unknown = try enrolled(gateway, nil)
        func keys(_ words: String..., input: String = "") throws -> ChildProcess.Outcome {
            try BuiltProgram.run(
                ["keys", words[0], "-c", gateway.configurationPath] + words.dropFirst(),
                standardInput: Array(input.utf8))
        }
        let named = #""device_bits":{"trial_used":true,"banned":false}"#
        let plain = #""device_bits":{"bit0":true,"bit1":false}"#
        let keyID = client.device.keyID.base64
        #expect(try keys("show", keyID).standardOutput.contains(named))
        #expect(try keys("list").standardOutput.contains(named))
        #expect(!(try keys("show", unknown.device.keyID.base64).standardOutput.contains("bits")))
        let exported = try keys("export").standardOutput
        #expect(exported.contains(plain))
        let other = try start()
        func imported(_ text: String) throws -> ChildProcess.Outcome {
            try BuiltProgram.run(
                ["keys", "import", "-c", other.configurationPath], standardInput: Array(text.utf8))
        }
        #expect(try imported(exported).status == .exited(0))
        let shown = try BuiltProgram.run(["keys", "show", "-c", other.configurationPath, keyID])
        #expect(shown.standardOutput.contains(named))
        // By the configured names too; never by others, nor one alone.
        #expect(
            try imported(exported.replacingOccurrences(of: plain, with: named)).status == .exited(0)
        )
        for bits in [#"{"bit0":true}"#, #"{"bit0":true,"other":true}"#, #"{"bit0":1,"bit1":true}"#]
        {
            let text = exported.replacingOccurrences(of: plain, with: "\"device_bits\":" + bits)
            let outcome = try imported(text)
            #expect(outcome.status == .exited(1) && outcome.standardError.contains("device_bits"))
        }
    }
}
