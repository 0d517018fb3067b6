import Foundation
import GatewayTesting
import JSON
import Testing

/// `conf/examples/ai-service.yaml`, in front of a stand-in for the service.
@Suite("The example for an AI service", .enabled(if: BuiltProgram.isBuilt))
struct AIServiceTests {
    private static let host = "api.example.com"
    private static let json = [("Content-Type", "application/json")]

    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension AIServiceTests {
    /// The stand-in, with a certificate for `name`, and the gateway before it. An installation has
    /// as many tokens as one request uses.
    private func start(
        certificateFor name: String = host
    ) throws -> (model: ModelServer, gateway: RecipeGateway, base: String) {
        let certificate = try TestCertificate(in: directory, "model", names: [name])
        let model = try ModelServer(
            in: directory,
            [
                "--certificate", certificate.certificatePath, "--certificate-key",
                certificate.keyPath, "--show", "Api-Key,X-Attest-Result",
            ])
        let port = FreePort.find()
        let example = try Repository.text(of: "conf/examples/ai-service.yaml")
        let text = try example.moved([
            "127.0.0.1:8080": "127.0.0.1:\(port)", "127.0.0.1:9464": "127.0.0.1:\(FreePort.find())",
            "/var/lib/sallyport": directory.path, "/etc/sallyport/provider-key": model.keyPath,
            "\(Self.host):443": "127.0.0.1:\(model.port)",
            "tls: {}": "tls: { ca: \(certificate.certificatePath), server_name: \(Self.host) }",
            "limit: 50k": "limit: 20",
            // So that the end of a day does not fall between two requests.
            "per: day": "per: month",
        ])
        let gateway = try RecipeGateway(text, in: directory)
        return (model, gateway, "http://127.0.0.1:\(port)")
    }

    private static func chat(streamed: Bool = false) -> [UInt8] {
        ModelServer.chat(
            "Say it again please", tokenCountMax: 16, streamed: streamed, tellsUsage: streamed)
    }

    @Test(
        "gives the service the operator's key, and each installation its tokens",
        arguments: [false, true])
    func tokens(streamed: Bool) throws {
        let (model, gateway, base) = try start()
        let body = Self.chat(streamed: streamed)
        for index in 0..<2 {
            let app = try App.enrolled(base)
            let answer = try app.request(
                "POST", ModelServer.target, body: body,
                fields: Self.json + [("Authorization", "Bearer mine"), ("Api-Key", "mine")])
            #expect(answer.status == 200)
            #expect(answer.body.contains(#""total_tokens":20"#), "\(answer.body)")
            // The service accepted its own key. The client's keys did not come.
            let line = try model.line(index)
            #expect(line["status"]?.integerValue == 200)
            #expect(
                line["fields"]
                    == .object(["Api-Key": .null, "X-Attest-Result": .string("verified")]))
            let next = try app.request(
                "POST", ModelServer.target, body: body, fields: Self.json)
            #expect(next.outcome == "429 quota_exhausted")
        }
        try gateway.stop()
    }

    @Test("lets nothing past that is not signed, or asks for more than the route allows")
    func rules() throws {
        let (model, gateway, base) = try start()
        let app = try App.enrolled(base)
        let bodies = [
            #"{"model":"gpt-z","max_tokens":16}"#, #"{"model":"gpt-x"}"#,
            #"{"model":"gpt-x","max_tokens":1025}"#,
            #"{"model":"gpt-x","max_tokens":16,"max_completion_tokens":1025}"#,
            #"{"model":"gpt-x","max_tokens":16,"n":2}"#,
        ]
        for body in bodies {
            let answer = try app.request(
                "POST", ModelServer.target, body: Array(body.utf8), fields: Self.json)
            #expect(answer.outcome == "403 body_refused", "\(body)")
        }
        let unsigned = try app.exchange(
            "POST", ModelServer.target, fields: Self.json, body: Self.chat())
        #expect(unsigned.outcome == "401 assertion_required")
        #expect(
            try app.request("POST", ModelServer.target, body: Self.chat(), fields: Self.json).status
                == 200)
        // That one was the first to come.
        #expect(try model.line(0)["status"]?.integerValue == 200)
        try gateway.stop()
    }

    @Test("gives the key to no server that proves another name")
    func otherName() throws {
        let (model, gateway, base) = try start(certificateFor: "other.example.com")
        let answer = try App.enrolled(base).request(
            "POST", ModelServer.target, body: Self.chat(), fields: Self.json)
        #expect(answer.status == 502)
        try gateway.stop()
        #expect(model.text.split(separator: "\n").count == 1)
    }
}
