import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("The two bits of a device", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct DeviceBitTests {
    private static let secret = "0123456789abcdef-secret"
    private let apple: AppleServer
    private let directory: ScratchDirectory

    init() throws {
        apple = try AppleServer()
        directory = try ScratchDirectory()
    }
}

extension DeviceBitTests {
    private func start(hasSecret: Bool = true) throws -> GatewayProcess {
        let path = try directory.write(Self.secret + "\n", to: "secret")
        var configuration = GatewayConfiguration(upstreamPort: 1)
        let file = hasSecret ? ", admin_secret_file: \(path)" : ""
        configuration.more = [
            try apple.settings,
            "device_check: { bits: { bit0: trial_used, bit1: banned }\(file) }",
        ]
        return try GatewayProcess(configuration)
    }

    private func post(
        _ gateway: GatewayProcess, _ action: String, _ body: String,
        secret: String? = secret
    ) throws -> HTTPMessage {
        let fields = secret.map { [("Authorization", "Bearer " + $0)] } ?? []
        return try RawClient(port: gateway.adminPort).exchange(
            "POST", "/device-check/" + action, fields: fields, body: Array(body.utf8))
    }

    private func body(
        _ more: String = "", device: String = "phone",
        environment: AttestEnvironment = .production
    ) throws -> String {
        let token = try #require(
            try apple.deviceTokens(device: device, environment: environment).first)
        return "{\"device_token\":\"\(token)\"\(more)}"
    }

    @Test("are told by name, changed by name, and none before they are set")
    func names() throws {
        let gateway = try start()
        #expect(
            try post(gateway, "query", try body()).bodyText
                == #"{"ever_set":false,"bits":{"trial_used":false,"banned":false}}"#)
        let first = try post(gateway, "update", try body(#","bits":{"banned":true}"#))
        #expect(first.status == 200)
        #expect(
            first.bodyText == #"{"ever_set":true,"bits":{"trial_used":false,"banned":true}}"#)
        let second = try post(gateway, "update", try body(#","bits":{"trial_used":true}"#))
        #expect(
            second.bodyText == #"{"ever_set":true,"bits":{"trial_used":true,"banned":true}}"#)
        #expect(try apple.bits(device: "phone") ?? (false, false) == (true, true))
        let both = try post(
            gateway, "update", try body(#","bits":{"bit0":false,"banned":false}"#))
        #expect(both.status == 200)
        let query = try post(gateway, "query", try body())
        #expect(query.bodyText.contains(#""bits":{"trial_used":false,"banned":false}"#))
        #expect(query.bodyText.contains(#""last_update":"20"#))
        #expect(query["Cache-Control"] == "no-store")
    }

    @Test("a change of them enters the audit log, with who asked for it; a query does not")
    func audited() throws {
        let gateway = try start()
        #expect(try post(gateway, "query", try body()).status == 200)
        let answer = try post(gateway, "update", try body(#","bits":{"banned":true}"#))
        #expect(answer.status == 200)
        let limit = ChildProcess.deadline
        var text = ""
        // It is written after the answer.
        while text.isEmpty, Date() < limit {
            text = try BuiltProgram.run(["audit", "--json", "-c", gateway.configurationPath])
                .standardOutput
        }
        let entry = try JSONValue.parse(text)
        #expect(entry["action"]?.stringValue == "device_check.update")
        #expect(entry["who"]?.stringValue == "device_check.admin_secret_file")
        #expect(entry["from"]?.stringValue == "127.0.0.1")
        #expect(entry["detail"]?.stringValue == "banned: true")
        #expect(entry["request_id"]?.stringValue == answer["X-Request-Id"])
    }

    @Test("of each environment are apart, and a token is valid in its own")
    func environments() throws {
        let gateway = try start()
        let valid = try post(gateway, "validate", try body())
        #expect(valid.bodyText == #"{"valid":true}"#)
        let development = #","environment":"development""#
        #expect(
            try post(gateway, "validate", try body(development)).bodyText == #"{"valid":false}"#)
        #expect(
            try post(gateway, "validate", try body(development, environment: .development))
                .bodyText == #"{"valid":true}"#)
        let wrong = try post(gateway, "query", try body(development))
        #expect(wrong.status == 400)
        #expect(wrong.bodyText.contains("\"error\":\"bad_token\""))
    }

    @Test("are for whoever has the secret, and for nobody where there is none")
    func authorization() throws {
        let gateway = try start()
        for secret in [nil, "", "wrong", Self.secret + "x", String(Self.secret.dropLast())] {
            let answer = try post(gateway, "query", "{}", secret: secret)
            #expect(answer.status == 401)
            #expect(answer["WWW-Authenticate"] == "Bearer")
        }
        let twice = try RawClient(port: gateway.adminPort).exchange(
            "POST", "/device-check/query",
            fields: Array(repeating: ("Authorization", "Bearer " + Self.secret), count: 2))
        #expect(twice.status == 401)
        let method = try RawClient(port: gateway.adminPort).exchange(
            "GET", "/device-check/query", fields: [("Authorization", "Bearer " + Self.secret)])
        #expect(method.status == 405 && method["Allow"] == "POST")
        #expect(try post(try start(hasSecret: false), "query", "{}").status == 404)
        #expect(try gateway.exchange("POST", "/device-check/query").status == 502)
        #expect(try apple.requests.isEmpty)
        #expect(!gateway.current.text(on: .standardOutput).contains(Self.secret))
    }

    @Test("are not asked about in words that mean nothing")
    func badOrders() throws {
        let gateway = try start()
        let bodies = [
            "", "x", "[]", "{}", #"{"device_token":"no base64!"}"#, #"{"device_token":""}"#,
            #"{"device_token":"AAAA","environment":"sandbox"}"#, #"{"device_token":"AAAA","x":1}"#,
            #"{"device_token":"AAAA","bits":{"banned":true}}"#,
        ]
        for body in bodies {
            #expect(try post(gateway, "query", body).status == 400, "\(body)")
        }
        for bits in [
            "1", "{}", #"{"other":true}"#, #"{"banned":1}"#, #"{"banned":true,"bit1":true}"#,
        ] {
            let answer = try post(gateway, "update", try body(",\"bits\":\(bits)"))
            #expect(answer.status == 400, "\(bits)")
        }
        let long = #"{"device_token":""# + String(repeating: "A", count: 20_000) + #""}"#
        #expect(try post(gateway, "query", long).status == 413)
        #expect(try apple.requests.isEmpty)
    }

    @Test("are changed one after the other, so that no change is lost")
    func serialised() throws {
        let gateway = try start()
        try apple.fail(count: 0, delayMilliseconds: 20)
        let clients = try (0..<6).map { _ in try RawClient(port: gateway.adminPort) }
        for (index, client) in clients.enumerated() {
            let name = index.isMultiple(of: 2) ? "trial_used" : "banned"
            try client.send(
                "POST", "/device-check/update",
                fields: [("Authorization", "Bearer " + Self.secret)],
                body: Array(try body(",\"bits\":{\"\(name)\":true}").utf8))
        }
        for client in clients { #expect(try client.receive().status == 200) }
        #expect(try apple.bits(device: "phone") ?? (false, false) == (true, true))
    }

    @Test(
        "fail as Apple fails",
        arguments: [
            (429, "throttled", 503), (500, "server_error", 502), (401, "unauthorized", 502),
            (403, "forbidden", 502), (418, "unexpected", 502), (400, "bad_request", 502),
        ])
    func failures(status: Int, label: String, expected: Int) throws {
        let gateway = try start()
        try apple.fail(.deviceCheck, status: status, retryAfter: "9", count: 0)
        for (action, more) in [("query", ""), ("update", #","bits":{"banned":true}"#)] {
            let answer = try post(gateway, action, try body(more))
            #expect(answer.status == expected)
            #expect(answer.bodyText.contains("\"error\":\"\(label)\""))
            if status == 429 { #expect(answer["Retry-After"] == "9") }
        }
        try apple.clearFaults()
        #expect(try post(gateway, "query", try body()).status == 200)
    }
}
