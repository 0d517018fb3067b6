import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/openapi.yaml`, held against a running gateway.
@Suite("The OpenAPI document", .enabled(if: BuiltProgram.isBuilt))
struct OpenAPITests {
    private static let document = Repository.path(of: "docs/openapi.yaml")
    private static let isInstalled = PythonInterpreter.environment.has("schemathesis")
    private static let adminToken = "0123456789abcdef0123456789abcdef"
    private static let secret = "fedcba9876543210fedcba9876543210"

    private let upstream: RecordingUpstream
    private let apple: AppleServer
    private let directory: ScratchDirectory
    private let gateway: GatewayProcess
    private let checkPort = FreePort.find()
    private let adminAPIPort = FreePort.find()

    init() throws {
        upstream = try RecordingUpstream()
        apple = try AppleServer()
        directory = try ScratchDirectory()
        let tokens = try directory.write("ops:\(Self.adminToken)\n", to: "tokens")
        let secret = try directory.write("\(Self.secret)\n", to: "secret")
        let identity = directory.path(of: "identity.pem")
        _ = try ChildProcess.run(
            "openssl",
            [
                "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                identity,
            ])
        for file in [tokens, secret, identity] { chmod(file, 0o600) }
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port,
            attest: "mode: enforce, accept: [assertion, token], "
                + "rollout: { start: 100% }")
        configuration.api = "bind: \"127.0.0.1:\(adminAPIPort)\", token_file: \(tokens)"
        configuration.binds = [GatewayConfiguration.checkListener("forward", port: checkPort)]
        configuration.more = [
            try apple.settings, "device_check: { admin_secret_file: \(secret) }",
            "endpoints: { rate_limit: { challenge: off, attestation: off } }",
            "identity: { keys: [\(identity)], issuer: https://gateway.example }",
            "quotas: { daily: { by: key, per: day, limit: 200 }, tokens: { by: installation, "
                + "per: month, limit: 50k, of: { json: /usage/total_tokens } } }",
        ]
        gateway = try GatewayProcess(configuration, directory: directory)
    }
}

extension OpenAPITests {
    private func address(_ listener: String) throws -> String {
        let port =
            switch listener {
            case "app": gateway.port
            case "check": checkPort
            case "admin": gateway.adminPort
            default: adminAPIPort
            }
        return "http://127.0.0.1:\(port)"
    }

    @Test(
        "is what the gateway does, whatever it is sent", .timeLimit(.minutes(30)),
        .enabled(if: isInstalled, "schemathesis is not installed: scripts/install.sh test"),
        arguments: [
            ("app", ["--include-tag", "app"], nil), ("check", ["--include-path", "/check"], nil),
            ("admin", ["--include-tag", "admin"], secret),
            ("api", ["--include-tag", "api"], adminToken),
        ] as [(String, [String], String?)])
    func fuzzed(listener: String, selection: [String], token: String?) throws {
        let authorization = token.map { ["-H", "Authorization: Bearer \($0)"] } ?? []
        let outcome = try ChildProcess.run(
            PythonInterpreter.environment.path,
            [
                "-m", "schemathesis.cli", "--config-file",
                Repository.path(of: "Tests/RecipeTests/schemathesis.toml"), "run", Self.document,
                "--url", try address(listener),
                "--checks",
                "not_a_server_error,status_code_conformance,content_type_conformance,"
                    + "response_headers_conformance,response_schema_conformance",
                "--phases", "examples,coverage,fuzzing", "--max-examples", "10", "--seed", "14",
                "--generation-database", "none", "--no-shrink", "--continue-on-failure",
                "--suppress-health-check", "all", "--no-color", "--warnings", "off",
            ] + selection + authorization, workingDirectory: directory.path,
            within: .seconds(300))
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.contains(#/[1-9]\d* generated/#))
    }

    /// One request whose answer's status is known.
    private func call(
        _ listener: String, _ method: String, _ path: String, target: String? = nil,
        status: Int, fields: [(String, String)] = [], body: String = ""
    ) throws -> JSONValue {
        .object([
            "path": .string(path), "method": .string(method),
            "url": .string(try address(listener) + (target ?? path)),
            "headers": .object(
                Dictionary(fields.map { ($0.0, JSONValue.string($0.1)) }) { $1 }),
            "body": .string(body), "status": .integer(Int64(status)),
        ])
    }

    /// Requests to the admin API, the last of which erase a key.
    private func administered(_ keyID: KeyID) throws -> [JSONValue] {
        let bearer = [("Authorization", "Bearer \(Self.adminToken)")]
        let keys = "{\"key_ids\":[\"\(keyID.base64)\"]}"
        let url = Base64.encodeURL(keyID.digest.array)
        return [
            try call("api", "GET", "/keys", status: 200, fields: bearer),
            try call("api", "GET", "/keys", status: 401),
            try call(
                "api", "GET", "/keys/{key_id}", target: "/keys/\(url)", status: 200,
                fields: bearer),
            try call(
                "api", "GET", "/keys/export", target: "/keys/export?limit=1", status: 200,
                fields: bearer),
            try call("api", "GET", "/quotas", status: 200, fields: bearer),
            try call(
                "api", "GET", "/quotas/{quota}", target: "/quotas/daily?key=\(url)", status: 200,
                fields: bearer),
            try call(
                "api", "GET", "/quotas/{quota}", target: "/quotas/daily?user=a", status: 400,
                fields: bearer),
            try call(
                "api", "POST", "/quotas/{quota}/grant", target: "/quotas/tokens/grant?key=\(url)",
                status: 200, fields: bearer, body: "{\"amount\":5}"),
            try call(
                "api", "POST", "/quotas/{quota}/reset",
                target: "/quotas/tokens/reset?unknown=true", status: 200, fields: bearer),
            try call("api", "POST", "/keys/revoke", status: 200, fields: bearer, body: keys),
            try call("api", "POST", "/keys/erase", status: 200, fields: bearer, body: keys),
            try call("api", "GET", "/rollouts", status: 200, fields: bearer),
            try call("api", "GET", "/audit", status: 200, fields: bearer),
        ]
    }

    @Test(
        "is valid, and what the gateway answers to what is right", .timeLimit(.minutes(30)),
        .enabled(if: isInstalled, "schemathesis is not installed: scripts/install.sh test"))
    func genuine() throws {
        let client = try SimulatedClient.enrolled(gateway)
        let keyID = client.device.keyID
        let body = try client.enrolmentBody(challenge: client.attestationChallenge())
        let secret = [("Authorization", "Bearer \(Self.secret)")]
        let refused = try gateway.exchange("GET", "/api/x")["X-Request-Id"] ?? ""
        let deviceToken = try #require(
            try apple.deviceTokens(device: "phone", environment: .production).first)
        let asked = [
            ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/api/y"),
            ("X-Forwarded-Host", "api.example"),
        ]
        let exchange = try client.signature("POST", "/assert/token")
        let checked = try client.signature("GET", "/api/y")
        var calls = [
            try call(
                "app", "POST", "/attest/verify", status: 200,
                body: String(decoding: body, as: UTF8.self)),
            try call("app", "GET", "/.well-known/app-attest", status: 200),
            try call("app", "POST", "/assert/token", status: 200, fields: exchange),
            try call("app", "POST", "/assert/token", status: 401, fields: exchange),
            try call(
                "app", "GET", "/assert/challenge", status: 200,
                fields: [("Accept", "application/json")]),
            try call("app", "GET", "/identity/jwks.json", status: 200),
            try call("check", "GET", "/check", status: 200, fields: asked + checked),
            try call("check", "GET", "/check", status: 401, fields: asked),
            try call("admin", "GET", "/status.json", status: 200),
            try call(
                "admin", "GET", "/status.json", target: "/status.json?history=day", status: 200),
            try call("admin", "GET", "/refusals.json", status: 200),
            try call(
                "admin", "GET", "/refusals.json", target: "/refusals.json?id=\(refused)",
                status: 200),
            try call("admin", "GET", "/readyz", status: 200),
            try call(
                "admin", "POST", "/device-check/{action}", target: "/device-check/query",
                status: 200, fields: secret, body: "{\"device_token\":\"\(deviceToken)\"}"),
            try call(
                "admin", "POST", "/device-check/{action}", target: "/device-check/query",
                status: 401),
        ]
        calls += try administered(keyID)
        var writer = JSONWriter()
        writer.element(.array(calls))
        let text = writer.finish()
        let file = try directory.write(text.readable.array, to: "calls.json")
        let outcome = try ChildProcess.run(
            PythonInterpreter.environment.path,
            [Repository.path(of: "Tests/RecipeTests/openapi_check.py"), Self.document, file],
            within: .seconds(60))
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("\(calls.count) answers, 0 wrong"))
    }
}
