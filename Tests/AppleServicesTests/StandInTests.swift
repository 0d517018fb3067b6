import AppAttest
import AppAttestTesting
import AppleServices
import Attestation
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import HTTPSClient
import TLS
import Testing

@Suite(
    "Apple's services, as a stand-in has them", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct StandInTests {
    private static let appID = AppleServer.teamID + ".com.example.app"
    private let loop: EventLoop

    init() throws { loop = try EventLoop() }
}

extension StandInTests {
    private func client(
        _ server: AppleServer, keys: [String] = [AppleServer.keyID],
        authorization: AppleAuthorization = .bare, timeout: Duration = .seconds(60)
    ) throws -> AppleClient {
        let authority = try Data(contentsOf: URL(fileURLWithPath: server.tlsAuthorityPath))
        var https = HTTPSConfiguration(authorities: try TLSAuthorities(pem: [UInt8](authority)))
        https.proxy = .direct
        https.connectTimeout = .seconds(20)
        https.timeout = timeout
        var configuration = AppleConfiguration(
            keys: try keys.map { keyID in
                let pem = try Data(contentsOf: URL(fileURLWithPath: server.keyPath(keyID)))
                return AppleKey(
                    teamID: AppleServer.teamID, keyID: keyID,
                    key: try P256PrivateKey(pem: [UInt8](pem)))
            }, https: https)
        configuration.attestationData = AppleHosts(
            production: "https://127.0.0.1:\(server.productionPort)",
            development: "https://127.0.0.1:\(server.developmentPort)")
        configuration.deviceCheck = configuration.attestationData
        configuration.authorization = authorization
        return try AppleClient(loop: loop, configuration)
    }

    private func renew(
        _ client: AppleClient, _ receipt: [UInt8],
        environment: AttestEnvironment = .production
    ) throws -> AttestationData.Answer {
        var found: AttestationData.Answer?
        client.renew(
            receipt: receipt, teamID: AppleServer.teamID, environment: environment
        ) { [loop] answer in
            found = answer
            loop.stop()
        }
        loop.run()
        return try #require(found)
    }

    private func ask(
        _ client: AppleClient, _ question: DeviceCheck.Question, _ token: String,
        environment: AttestEnvironment = .production
    ) throws -> DeviceCheck.Answer {
        var found: DeviceCheck.Answer?
        client.ask(
            question, deviceToken: token, teamID: AppleServer.teamID, environment: environment
        ) { [loop] answer in
            found = answer
            loop.stop()
        }
        loop.run()
        return try #require(found)
    }

    private func receipt(_ device: SimulatedDevice) throws -> [UInt8] {
        try TestApple.shared.receipt(
            SimulatedReceipt(
                kind: .attest, appID: device.appID, attestedKey: device.publicKey.x963,
                clientHash: [1], environment: device.environment,
                createdAt: Int64(Date().timeIntervalSince1970) - 10))
    }

    @Test("a receipt is renewed, and renewed again when its time has come")
    func renewal() throws {
        let server = try AppleServer()
        let client = try client(server)
        let device = try SimulatedDevice(appID: Self.appID)
        guard case .receipt(let first) = try renew(client, try receipt(device)) else {
            Issue.record("no receipt")
            return
        }
        let verifier = ReceiptVerifier(roots: [TestApple.shared.receiptRoot])
        let fields = try verifier.verify(
            first, appID: Self.appID, publicKey: device.publicKey, environment: .production
        ).fields
        #expect(fields.riskMetric == 1)
        #expect(try renew(client, first) == .tooEarly)
        #expect(try renew(client, first, environment: .development) == .incorrectEnvironment)
        #expect(try renew(client, [1, 2, 3]) == .badPayload)
        try server.setRisk(9, of: device.keyID)
        try server.setClock(offset: 86400)
        guard case .failed(.unauthorized) = try renew(client, first) else {
            Issue.record("a token of yesterday signs in")
            return
        }
        try server.setClock(offset: 0)
        try server.forget(device.keyID)
        #expect(try renew(client, first) == .notFound)
        #expect(
            try server.requests.last
                == "attestation_data production /v1/attestationData \(AppleServer.keyID) 404")
    }

    @Test("each status that Apple may answer with is told as what it is")
    func statuses() throws {
        let server = try AppleServer()
        let client = try client(server)
        let expected: [(Int, String, AttestationData.Answer)] = [
            (200, "", .failed(.malformed("200 without a receipt in base64"))),
            (304, "", .tooEarly), (400, "Incorrect Environment", .incorrectEnvironment),
            (400, "Bad Payload", .badPayload),
            (401, "", .failed(.unauthorized)), (403, "", .failed(.forbidden)),
            (404, "", .notFound), (429, "", .failed(.throttled(retryAfter: .seconds(7)))),
            (500, "", .failed(.serverError(status: 500, retryAfter: .seconds(7)))),
            (503, "", .failed(.serverError(status: 503, retryAfter: .seconds(7)))),
        ]
        for (status, body, answer) in expected {
            try server.fail(.attestationData, status: status, body: body, retryAfter: "7")
            #expect(try renew(client, [1]) == answer)
        }
        try server.fail(.deviceCheck, status: 200, body: "Bit State Not Found")
        #expect(try ask(client, .query, "AAAA") == .neverSet)
    }

    @Test(
        "an answer that goes wrong on its way is no answer",
        arguments: [
            (StandInReply.Conduct.cut, "unreachable"), (.close, "unreachable"),
            (.garbage, "unreachable"), (.endless, "unreachable"), (.silent, "timeout"),
        ])
    func conduct(conduct: StandInReply.Conduct, label: String) throws {
        let server = try AppleServer()
        let token = try #require(try server.deviceTokens(device: "phone").first)
        let client = try client(
            server, timeout: conduct == .silent ? .milliseconds(400) : .seconds(60))
        // libcurl may try once more where a connection ended before any answer.
        try server.fail(.deviceCheck, conduct: conduct, count: 0)
        let answer = try ask(client, .validate, token)
        #expect(answer.label == label, "\(answer)")
        guard case .failed(.unanswered) = answer else {
            Issue.record("\(answer)")
            return
        }
    }

    @Test("a slow answer is waited for")
    func slow() throws {
        let server = try AppleServer()
        let token = try #require(try server.deviceTokens(device: "phone").first)
        try server.fail(.deviceCheck, delayMilliseconds: 200)
        #expect(try ask(try client(server), .validate, token) == .done)
    }

    @Test("bits are never set, then what they were set to, in each environment apart")
    func bits() throws {
        let server = try AppleServer()
        let client = try client(server)
        let tokens = try server.deviceTokens(device: "phone", count: 4)
        #expect(try ask(client, .query, tokens[0]) == .neverSet)
        #expect(try ask(client, .update(bit0: false, bit1: true), tokens[1]) == .done)
        guard case .bits(let bits) = try ask(client, .query, tokens[2]) else {
            Issue.record("no bits")
            return
        }
        #expect(!bits.bit0 && bits.bit1)
        #expect(bits.lastUpdate?.utf8.count == 7)
        guard
            case .badToken = try ask(client, .query, tokens[3], environment: .development)
        else {
            Issue.record("a token of the other environment is taken")
            return
        }
        #expect(try server.bits(device: "phone") ?? (true, false) == (false, true))
    }

    @Test("a key that Apple revokes lets the next one sign in, in the same request")
    func rotation() throws {
        let server = try AppleServer(
            keys: ["AAAAAAAAA1", "AAAAAAAAA2"], options: ["--authorization", "bearer"])
        let client = try client(
            server, keys: ["AAAAAAAAA1", "AAAAAAAAA2"], authorization: .bearer)
        let tokens = try server.deviceTokens(device: "phone", count: 3)
        #expect(try ask(client, .validate, tokens[0]) == .done)
        try server.revoke("AAAAAAAAA1")
        #expect(try ask(client, .validate, tokens[1]) == .done)
        #expect(try ask(client, .validate, tokens[2]) == .done)
        let device = try SimulatedDevice(appID: Self.appID)
        guard case .receipt = try renew(client, try receipt(device)) else {
            Issue.record("no receipt")
            return
        }
        let path = "/v1/validate_device_token"
        #expect(
            try server.requests == [
                "device_check production \(path) AAAAAAAAA1 200",
                "device_check production \(path) - 401",
                "device_check production \(path) AAAAAAAAA2 200",
                "device_check production \(path) AAAAAAAAA2 200",
                "attestation_data production /v1/attestationData AAAAAAAAA2 200",
            ])
    }

    @Test("the command mints device tokens that the service takes, and starts again as the same")
    func command() throws {
        let server = try AppleServer()
        let client = try client(server)
        let outcome = try ChildProcess.run(
            BuiltProgram.lab,
            [
                "apple", "token", "--directory", server.path, "--team", AppleServer.teamID,
                "--name", "minted", "--environment", "development", "--count", "2",
            ])
        let tokens = outcome.standardOutput.split(separator: "\n").map(String.init)
        try #require(tokens.count == 2)
        #expect(try ask(client, .validate, tokens[0], environment: .development) == .done)
        guard case .badToken = try ask(client, .validate, tokens[1]) else {
            Issue.record("a token of the other environment is taken")
            return
        }
        for words in [["apple"], ["apple", "--directory", server.path, "--keys", "x"]] {
            let outcome = try ChildProcess.run(BuiltProgram.lab, words)
            #expect(outcome.status == .exited(2))
        }
    }

    @Test("a receipt of the stand-in is explained as one of Apple's, under its own root")
    func explained() throws {
        let server = try AppleServer()
        let device = try SimulatedDevice(appID: Self.appID)
        guard case .receipt(let bytes) = try renew(try client(server), try receipt(device)) else {
            Issue.record("no receipt")
            return
        }
        let directory = try ScratchDirectory()
        let path = try directory.write(bytes, to: "receipt")
        func explain(_ more: [String]) throws -> ChildProcess.Outcome {
            try BuiltProgram.run(
                ["explain", "receipt", "--app-id", Self.appID] + more + [path])
        }
        let own = try explain(["--root", server.receiptRootPath])
        #expect(own.status == .exited(0), "\(own.standardOutput)")
        #expect(try explain([]).status == .exited(1))
    }
}
