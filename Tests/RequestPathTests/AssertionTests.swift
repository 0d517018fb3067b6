import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("An asserted request", .enabled(if: BuiltProgram.isBuilt))
struct AssertionTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess
    private let client: SimulatedClient

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        client = try SimulatedClient.enrolled(gateway)
    }
}

extension AssertionTests {
    @Test("reaches the upstream byte for byte, with the gateway's verdict")
    func passes() throws {
        let body = Array(#"{"amount": 10}"#.utf8)
        let answer = try client.request("POST", "/api/transfer?a=%2f&b", body: body)
        #expect(answer.status == 200)
        #expect(answer.bodyText == "hello\n")
        #expect(answer.nextChallenge != nil)
        let seen = try #require(upstream.requests.first)
        #expect(seen.message.startLine == "POST /api/transfer?a=%2f&b HTTP/1.1")
        #expect(seen.body == body)
        #expect(seen["X-Attest-Result"] == "verified")
        #expect(seen["X-Attest-Key"] == client.device.keyID.base64)
        #expect(seen["X-Attest-App"] == GatewayConfiguration.appID)
        #expect(seen["X-Attest-Environment"] == "production")
        #expect(seen["X-Attest-Tier"] != nil)
        #expect(seen["X-App-Attest-Assertion"] == nil)
        #expect(seen["X-App-Attest-Client-Data"] == nil)
        #expect(seen["X-App-Attest-Key-Id"] == nil)
    }

    @Test("tells the upstream what the system says of the app", arguments: [SimulatedSystem.iOS27])
    func extensions(system: SimulatedSystem) throws {
        let device = try SimulatedDevice(
            appID: GatewayConfiguration.appID, system: system, bundleVersion: "41.2",
            validationCategory: 2)
        let modern = try SimulatedClient.enrolled(gateway, device: device)
        #expect(try modern.request("GET", "/api/x").status == 200)
        let seen = try #require(upstream.requests.first)
        #expect(seen["X-Attest-Version"] == "41.2")
        #expect(seen["X-Attest-Category"] == "2")
    }

    @Test("is not accepted twice, nor with a spent challenge")
    func replay() throws {
        let challenge = try client.challenge()
        let fields = try client.signature("GET", "/api/x", challenge: challenge)
        #expect(try client.raw.exchange("GET", "/api/x", fields: fields).status == 200)
        let again = try client.raw.exchange("GET", "/api/x", fields: fields)
        #expect(again.outcome == "401 assertion_replayed")
        #expect(again.action == "sign_again")
        #expect(again["WWW-Authenticate"] == #"AppAttest error="assertion_replayed""#)
        #expect(again.nextChallenge != nil)
        let spent = try client.request("GET", "/api/x", challenge: challenge)
        #expect(spent.outcome == "401 challenge_expired")
        #expect(upstream.requests.count == 1)
    }

    @Test("is bound to method, path, query and body")
    func binding() throws {
        let body = Array("{}".utf8)
        let fields = try client.signature("POST", "/api/x", body: body)
        let outcomes = try [
            client.raw.exchange("PUT", "/api/x", fields: fields, body: body),
            client.raw.exchange("POST", "/api/y", fields: fields, body: body),
            client.raw.exchange("POST", "/api/X", fields: fields, body: body),
            client.raw.exchange("POST", "/api/x/", fields: fields, body: body),
            client.raw.exchange("POST", "/api/x", fields: fields, body: body + body),
            client.raw.exchange("POST", "/api/x", fields: fields),
        ].map(\.outcome)
        let mismatch = "401 request_mismatch"
        #expect(
            outcomes == [
                mismatch, mismatch, mismatch, mismatch, "401 body_mismatch", "401 body_mismatch",
            ])
        // None of these spent anything.
        #expect(try client.raw.exchange("POST", "/api/x", fields: fields, body: body).status == 200)
        let withQuery = try client.signature("GET", "/api/x", query: "a=1")
        let changed = try client.raw.exchange("GET", "/api/x?a=2", fields: withQuery)
        #expect(changed.outcome == mismatch)
        #expect(try client.raw.exchange("GET", "/api/x?a=1", fields: withQuery).status == 200)
    }

    @Test("may sign its path decoded once, as Swift's url.path is, and no other way")
    func decodedPath() throws {
        for (target, path, isAccepted) in [
            ("/api/a%20b", "/api/a b", true), ("/api/a%20b", "/api/a%20b", true),
            ("/api/a%2520b", "/api/a b", false), ("/api/%61", "/api/a", true),
            ("/api/a", "/api/%61", false),
        ] {
            let fields = try client.signature("GET", target, path: path)
            let answer = try client.raw.exchange("GET", target, fields: fields)
            #expect((answer.status == 200) == isAccepted, "\(target) signed as \(path)")
        }
    }

    @Test("has one public code for every cryptographic fault")
    func everyFault() throws {
        for fault in AssertionFault.allCases {
            let answer = try client.request("GET", "/api/x", fault: fault)
            #expect(answer.status == 401, "\(fault): \(answer.outcome)")
            #expect(
                ["assertion_invalid", "assertion_malformed", "assertion_required"]
                    .contains(answer.code ?? ""), "\(fault): \(answer.outcome)")
        }
        #expect(upstream.requests.isEmpty)
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("carries its key id in a header, in the client data, or in its challenge")
    func keyIDPlaces() throws {
        for place in [KeyIDPlace.header, .clientData] {
            let fields = try client.signature("GET", "/api/x", keyIDPlace: place)
            #expect(try client.raw.exchange("GET", "/api/x", fields: fields).status == 200)
        }
        let unbound = try client.signature("GET", "/api/x", keyIDPlace: .nowhere)
        let answer = try client.raw.exchange("GET", "/api/x", fields: unbound)
        #expect(answer.outcome == "401 assertion_malformed")
        // The next challenge is bound to the key that the last answer was for.
        let bound = try #require(try client.request("GET", "/api/x").nextChallenge)
        let fields = try client.signature(
            "GET", "/api/x", challenge: bound, keyIDPlace: .nowhere)
        #expect(try client.raw.exchange("GET", "/api/x", fields: fields).status == 200)
    }

    @Test("is of no use to another key")
    func otherKey() throws {
        let other = try SimulatedClient.enrolled(gateway)
        var fields = try client.signature("GET", "/api/x")
        fields.removeAll { $0.0.lowercased() == "x-app-attest-key-id" }
        fields.append(("X-App-Attest-Key-Id", other.device.keyID.base64))
        let answer = try client.raw.exchange("GET", "/api/x", fields: fields)
        #expect(answer.outcome == "401 assertion_invalid")
    }

    @Test("is refused by name when something is missing or is no base64")
    func malformed() throws {
        #expect(try client.raw.exchange("GET", "/api/x").outcome == "401 assertion_required")
        let whole = try client.signature("GET", "/api/x")
        for (index, code) in [(0, "401 assertion_required"), (1, "401 assertion_malformed")] {
            var fields = whole
            fields.remove(at: index)
            #expect(try client.raw.exchange("GET", "/api/x", fields: fields).outcome == code)
        }
        for index in 0..<3 {
            var fields = whole
            fields[index].1 = "*not base64*"
            let answer = try client.raw.exchange("GET", "/api/x", fields: fields)
            #expect(answer.outcome == "401 assertion_malformed", "\(fields[index].0)")
            fields[index].1 = whole[index].1
            fields.append(whole[index])
            let twice = try client.raw.exchange("GET", "/api/x", fields: fields)
            #expect([400, 401].contains(twice.status), "twice \(fields[index].0)")
        }
        #expect(upstream.requests.isEmpty)
    }

    @Test("needs a challenge of this gateway that has not expired")
    func challenges() throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.more = ["challenge: { ttl: 1s }"]
        let hasty = try GatewayProcess(configuration)
        let other = try SimulatedClient.enrolled(hasty, device: client.device)
        let foreign = try other.request("GET", "/api/x", challenge: try client.challenge())
        #expect(foreign.outcome == "401 challenge_expired")
        let early = try other.challenge()
        // Time has to pass for this one: polling the gateway is the event.
        let limit = ChildProcess.deadline
        var answer = try other.request("GET", "/api/x", fault: .otherKey)
        while Date() < limit {
            let fields = try other.signature("GET", "/api/x", challenge: early, fault: .otherKey)
            answer = try other.raw.exchange("GET", "/api/x", fields: fields)
            if answer.code == "challenge_expired" { break }
        }
        #expect(answer.outcome == "401 challenge_expired")
        // On a busy machine the next one may expire unused, too.
        try repeatWhile(answer.outcome == "401 challenge_expired") {
            let next = try #require(answer.nextChallenge)
            answer = try other.request("GET", "/api/x", challenge: next)
        }
        #expect(answer.status == 200)
    }

    @Test("is verified whole before its first byte goes on, however large")
    func largeBody() throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.routes[0].more = ["body_max: 4MiB"]
        let large = try GatewayProcess(configuration)
        let uploader = try SimulatedClient.enrolled(large)
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let fields = try uploader.signature("POST", "/api/x", body: body)
        var changed = body
        changed[2_999_999] ^= 1
        let refused = try uploader.raw.exchange("POST", "/api/x", fields: fields, body: changed)
        #expect(refused.outcome == "401 body_mismatch")
        #expect(upstream.connectionCount == 0)
        #expect(
            try uploader.raw.exchange("POST", "/api/x", fields: fields, body: body).status == 200)
        #expect(upstream.requests.first?.body == body)
        // Refused by what the head announces, while the body is still on its way.
        let beyond =
            try uploader.signature("POST", "/api/x")
            + [("Content-Length", "\(4 * 1024 * 1024 + 1)")]
        try uploader.raw.send("PUT", "/api/x", fields: beyond)
        try uploader.raw.send([UInt8](repeating: 0, count: 200_000))
        #expect(try uploader.raw.receive().outcome == "413 body_too_large")
    }
}
