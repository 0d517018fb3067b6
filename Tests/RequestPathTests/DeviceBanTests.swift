import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// Bits that are set, or asked for, in the name of a key that is enrolled already.
@Suite("Bits told of a key", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct DeviceBanTests {
    private let site: DeviceBitSite
    private var upstream: RecordingUpstream { site.upstream }
    private var apple: AppleServer { site.apple }

    init() throws { site = try DeviceBitSite() }
}

extension DeviceBanTests {
    private func configuration() throws -> GatewayConfiguration {
        try site.configuration("bits: { banned: { action: deny }, trial_used: {} }")
    }

    private func post(
        _ action: String, _ more: String, key: String?, at gateway: GatewayProcess
    ) throws -> HTTPMessage { try site.post(action, more, key: key, at: gateway) }

    private func keyID(_ client: SimulatedClient) -> String { client.device.keyID.base64 }

    /// A moment later every cache has heard; a request tells.
    private func wait(
        _ client: SimulatedClient, _ isReached: (HTTPMessage) -> Bool
    ) throws {
        let limit = ChildProcess.deadline
        while Date() < limit {
            if isReached(try client.request("GET", "/api/x")) { return }
        }
        Issue.record("never reached")
    }

    private func show(_ client: SimulatedClient, _ gateway: GatewayProcess) throws -> String {
        try BuiltProgram.run(["keys", "show", "-c", gateway.configurationPath, keyID(client)])
            .standardOutput
    }

    private static let ban = #","bits":{"banned":true}"#

    @Test("a ban reaches the next requests of a key in use, and so does its end")
    func ban() throws {
        let gateway = try GatewayProcess(try configuration())
        let client = try SimulatedClient.enrolled(gateway)
        let neighbour = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("GET", "/api/x").status == 200)
        let answer = try post("update", Self.ban, key: keyID(client), at: gateway)
        #expect(answer.status == 200)
        #expect(
            answer.bodyText == #"{"ever_set":true,"bits":{"trial_used":false,"banned":true}}"#)
        try wait(client) { $0.outcome == "403 abuse_suspected" }
        #expect(try neighbour.request("GET", "/api/x").status == 200)
        let bits = #""device_bits":{"trial_used":false,"banned":true}"#
        #expect(try show(client, gateway).contains(bits))
        #expect(try gateway.terminate() == .exited(0))
        try gateway.start()
        try client.connect()
        #expect(try client.request("GET", "/api/x").outcome == "403 abuse_suspected")
        let end = #","bits":{"banned":false}"#
        #expect(try post("update", end, key: keyID(client), at: gateway).status == 200)
        try wait(client) { $0.status == 200 }
        #expect(upstream.requests.last?["X-Attest-Device-Bits"] == "none")
    }

    @Test("what is asked for is kept as well; without a key nothing is")
    func query() throws {
        let gateway = try GatewayProcess(try configuration())
        let client = try SimulatedClient.enrolled(gateway)
        #expect(
            try post("update", #","bits":{"trial_used":true}"#, key: nil, at: gateway).status == 200
        )
        #expect(try post("query", "", key: nil, at: gateway).status == 200)
        #expect(!(try show(client, gateway).contains("device_bits")))
        #expect(try post("query", "", key: keyID(client), at: gateway).status == 200)
        try wait(client) { _ in upstream.requests.last?["X-Attest-Device-Bits"] == "trial_used" }
        #expect(upstream.requests.last?["X-Attest-Device-Bit-Keys"] == "trial_used=1")
    }

    @Test("of a key that is not there Apple is asked nothing")
    func unknown() throws {
        let gateway = try GatewayProcess(try configuration())
        let client = try SimulatedClient.enrolled(gateway)
        let erased = try SimulatedClient.enrolled(gateway)
        let outcome = try BuiltProgram.run(
            ["keys", "erase", "-c", gateway.configurationPath, keyID(erased)])
        #expect(outcome.status == .exited(0))
        let stranger = try SimulatedDevice(appID: GatewayConfiguration.appID).keyID.base64
        for key in [stranger, keyID(erased)] {
            for (action, more) in [("query", ""), ("update", Self.ban)] {
                let answer = try post(action, more, key: key, at: gateway)
                #expect(answer.status == 404)
                #expect(answer.bodyText.contains("\"error\":\"key_unknown\""))
            }
        }
        for key in ["", "AAAA", "no base64!"] {
            #expect(try post("query", "", key: key, at: gateway).status == 400)
        }
        #expect(try post("query", #","key_id":7"#, key: nil, at: gateway).status == 400)
        #expect(try post("validate", "", key: keyID(client), at: gateway).status == 400)
        #expect(try apple.requests.isEmpty)
        #expect(try apple.bits(device: "phone") == nil)
    }

    @Test("what Apple did not do is not kept")
    func failure() throws {
        let gateway = try GatewayProcess(try configuration())
        let client = try SimulatedClient.enrolled(gateway)
        try apple.fail(.deviceCheck, status: 500, count: 0)
        #expect(try post("update", Self.ban, key: keyID(client), at: gateway).status == 502)
        #expect(try post("query", "", key: keyID(client), at: gateway).status == 502)
        #expect(!(try show(client, gateway).contains("device_bits")))
        try apple.clearFaults()
        // A revoked key is one all the same.
        let outcome = try BuiltProgram.run(
            ["keys", "revoke", "-c", gateway.configurationPath, keyID(client)])
        #expect(outcome.status == .exited(0))
        #expect(try post("update", Self.ban, key: keyID(client), at: gateway).status == 200)
        #expect(try show(client, gateway).contains(#""banned":true"#))
    }

    @Test(
        "a ban told to one gateway reaches a key in use at another; keys are counted together",
        .enabled(if: PostgresServer.isInstalled && RedisServer.isInstalled))
    func twoGateways() throws {
        let server = try PostgresServer.shared.get()
        let redis = try RedisServer()
        let database = try server.makeDatabase()
        let keys = try site.directory.write(
            Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
            to: "challenge-keys")
        let gateways = try (0..<2).map { _ in
            var configuration = try configuration()
            configuration.registry = "postgres: \"\(server.url(database))\", pool: 2"
            configuration.counters = redis.counters
            configuration.more.append("secrets: { challenge_key_file: \(keys) }")
            let gateway = try GatewayProcess(configuration)
            try gateway.waitForReadiness(200)
            return gateway
        }
        #expect(
            try post("update", #","bits":{"trial_used":true}"#, key: nil, at: gateways[0]).status
                == 200)
        let clients = try gateways.map { gateway in
            let client = try SimulatedClient(gateway)
            let body = try client.enrolmentBody(challenge: client.attestationChallenge())
            let fields = [(DeviceBitSite.tokenName, try site.token("phone"))]
            #expect(try client.enrol(body, fields: fields).status == 200)
            return client
        }
        // What the first has counted the second hears.
        try wait(clients[1]) { _ in
            upstream.requests.last?["X-Attest-Device-Bit-Keys"] == "trial_used=2"
        }
        // The first one's key, at both.
        let elsewhere = try SimulatedClient(gateways[1], device: clients[0].device)
        for client in [clients[0], elsewhere] {
            #expect(try client.request("GET", "/api/x").status == 200)
        }
        let answer = try post("update", Self.ban, key: keyID(clients[0]), at: gateways[0])
        #expect(answer.status == 200, "\(answer.bodyText)")
        for client in [clients[0], elsewhere] {
            try wait(client) { $0.outcome == "403 abuse_suspected" }
        }
        #expect(try clients[1].request("GET", "/api/x").status == 200)
    }
}
