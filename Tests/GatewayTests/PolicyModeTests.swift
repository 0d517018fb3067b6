import AppAttestTesting
import Attestation
import Bytes
import Crypto
import GatewayTesting
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Modes and shapes")
struct PolicyModeTests {}

extension PolicyModeTests {
    @Test("a refusal tells what became of the assertion")
    func assertionOutcome() throws {
        let gateway = try GatewayUnderTest(upstream: {
            $0.target.hasSuffix("/cut") ? .raw("", then: .close) : .response()
        })
        let device = try EnrolledDevice(gateway)
        func outcome(_ answer: HTTPMessage) -> String? { answer.member("assertion") }
        #expect(outcome(try device.send("GET", "/attested/x")) == nil)
        #expect(outcome(try device.request("GET", "/attested/x", fault: .otherKey)) == "unspent")
        let fields = try device.signedFields("GET", "/attested/x")
        #expect(try device.send("GET", "/attested/x", fields: fields).status == 200)
        #expect(outcome(try device.send("GET", "/attested/x", fields: fields)) == "spent")
        let cut = try device.request("GET", "/attested/cut")
        #expect(cut.status == 502)
        #expect(outcome(cut) == "spent")
        #expect(try device.request("GET", "/durable/x").status == 200)
        gateway.registry.fail("down")
        let durable = try device.request("GET", "/durable/x")
        #expect(durable.status == 503)
        // Its hot counter was advanced before the registry was asked.
        #expect(outcome(durable) == "spent")
        let stranger = try EnrolledDevice(gateway)
        #expect(outcome(try stranger.request("GET", "/attested/x")) == "unspent")
    }

    @Test("a registry that does not answer refuses on attested routes, if they do not let it pass")
    func unjudged() throws {
        let gateway = try GatewayUnderTest { settings in
            let index = settings.routes.firstIndex { $0.name == "attested" }
            if let index { settings.routes[index].attest.onStoreFailure = .pass }
        }
        let known = try EnrolledDevice(gateway)
        func result() -> String? { gateway.upstream.requests.last?["X-Attest-Result"] }
        #expect(try known.request("GET", "/attested/x").status == 200)
        gateway.registry.fail("down")
        // Its key is in the cache: the registry is not asked.
        #expect(try known.request("GET", "/attested/x").status == 200)
        #expect(result() == "verified")
        let other = try EnrolledDevice(gateway)
        #expect(try other.request("GET", "/attested/x").status == 200)
        #expect(result() == "unverified")
        #expect(gateway.upstream.requests.last?["X-Attest-Key"] == nil)
        let refused = try other.request("GET", "/window/x")
        #expect(refused.status == 503)
        #expect(refused.code == "store_unavailable")
        #expect(refused.member("action") == "retry_later")
        #expect(refused[challengeField] != nil)
        #expect(try other.send("GET", "/x").status == 200)
        gateway.registry.fail(nil)
        #expect(try other.request("GET", "/window/x").status == 200)
        gateway.stop()
        #expect(
            gateway.outcomes(of: "attested") == ["verified ok": 2, "unjudged store_unavailable": 1])
    }

    @Test("an observed request has its body passed on, whether it is held in memory or not")
    func observedBody() throws {
        let gateway = try GatewayUnderTest { $0.limits.bodyMemoryByteCountMax = 1024 }
        let device = try EnrolledDevice(gateway)
        for byteCount in [0, 10, 100_000] {
            let body = [UInt8](repeating: 0x41, count: byteCount)
            #expect(try device.send("POST", "/observed/x", body: body).status == 200)
            #expect(gateway.upstream.requests.last?.body == body)
        }
    }

    @Test("a route that is durable asks the registry too, and takes its word")
    func durable() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/durable/x").status == 200)
        #expect(gateway.registry.calls.last == .advance(device.device.keyID, 1))
        // Another gateway, with counters of its own, has seen more of this key.
        var record = device.record
        record.counterFloor = 5
        gateway.registry.insert(record)
        #expect(try device.request("GET", "/durable/x").code == "assertion_replayed")
        gateway.registry.fail("down")
        #expect(try device.request("GET", "/durable/x").code == "store_unavailable")
        gateway.registry.fail(nil)
        device.device.counter = 5
        #expect(try device.request("GET", "/durable/x").status == 200)
    }

    @Test("a registry that hangs refuses when its time is over, and what it finds late is kept")
    func registryHangs() throws {
        let gateway = try GatewayUnderTest { $0.timeouts.registry = .milliseconds(100) }
        let gate = Gate()
        let device = try EnrolledDevice(gateway)
        let other = try EnrolledDevice(gateway)
        gateway.registry.hold(until: gate)
        let refused = try device.request("GET", "/attested/1")
        #expect(refused.status == 503)
        #expect(refused.code == "store_unavailable")
        #expect(refused.member("action") == "retry_later")
        try gateway.reload { $0.timeouts.registry = .seconds(60) }
        // The late answer finds the same exchange at another request, half of whose body is here.
        let fields = try device.signedFields("POST", "/attested/2", body: Array("{}".utf8))
        let lines = fields.map { "\($0): \($1)\r\n" }.joined()
        try device.client.send(
            "POST /attested/2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\(lines)\r\n{")
        gate.open()
        #expect(try other.request("GET", "/attested/3").status == 200)
        try device.client.send("}")
        #expect(try device.client.receive().status == 200)
        #expect(gateway.upstream.requests.map(\.target) == ["/attested/3", "/attested/2"])
        #expect(
            gateway.registry.calls == [.find(device.device.keyID), .find(other.device.keyID)])
        #expect(try gateway.logLines().contains { $0.contains(#""detail":"registry_timeout""#) })
    }

    @Test("a registry that hangs holds nothing up where it is only observed")
    func registryHangsObserved() throws {
        let gateway = try GatewayUnderTest { $0.timeouts.registry = .milliseconds(100) }
        let gate = Gate()
        let device = try EnrolledDevice(gateway)
        gateway.registry.hold(until: gate)
        #expect(try device.request("GET", "/observed/x").status == 200)
        #expect(gateway.upstream.requests.first?["X-Attest-Result"] == "unverified")
        gate.open()
        gateway.stop()
        #expect(gateway.outcomes(of: "observed") == ["observed store_unavailable": 1])
    }

    @Test("a counter that the registry has not set in time is unknown: nothing is passed on")
    func durableHangs() throws {
        let gateway = try GatewayUnderTest()
        let gate = Gate()
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/1").status == 200)
        gateway.registry.hold(until: gate)
        try gateway.reload { $0.timeouts.registry = .milliseconds(100) }
        #expect(try device.request("GET", "/durable/2").code == "store_unavailable")
        try gateway.reload { $0.timeouts.registry = .seconds(60) }
        gate.open()
        #expect(try device.request("GET", "/durable/3").status == 200)
        #expect(gateway.upstream.requests.map(\.target) == ["/attested/1", "/durable/3"])
        #expect(try gateway.logLines().contains { $0.contains(#""detail":"registry_unknown""#) })
    }

    @Test(
        "a client that leaves while the registry is asked is recorded once",
        arguments: [true, false])
    func leftWhileWaiting(byReset: Bool) throws {
        let gateway = try GatewayUnderTest { settings in
            for index in settings.routes.indices { settings.routes[index].onClientClose = .cancel }
        }
        let gate = Gate()
        let device = try EnrolledDevice(gateway)
        let fields = try device.signedFields("GET", "/attested/x")
        gateway.registry.hold(until: gate)
        try device.client.send("GET", "/attested/x", fields: fields)
        try gateway.registry.waitForCalls(1)
        if byReset { device.client.socket.reset() } else { device.client.socket.close() }
        // Another connection's exchange may reuse what the lost one gives back.
        let other = try gateway.client()
        #expect(try other.exchange("GET", "/x").status == 200)
        gate.open()
        #expect(try other.exchange("GET", "/x").status == 200)
        gateway.stop()
        #expect(gateway.outcomes(of: "attested") == ["undecided client_closed": 1])
        #expect(gateway.outcomes(of: "open") == ["passed ok": 2])
        #expect(gateway.upstream.requests.count == 2)
    }

    @Test("more requests than may wait for the registry are refused at once")
    func registryQueue() throws {
        let gateway = try GatewayUnderTest { $0.limits.registryQueueCountMax = 1 }
        let gate = Gate()
        let first = try EnrolledDevice(gateway)
        let second = try EnrolledDevice(gateway)
        let fields = try first.signedFields("GET", "/attested/x")
        gateway.registry.hold(until: gate)
        try first.client.send("GET", "/attested/x", fields: fields)
        try gateway.registry.waitForCalls(1)
        #expect(try second.request("GET", "/attested/x").code == "gateway_busy")
        gate.open()
        #expect(try first.client.receive().status == 200)
    }

    // MARK: the body as client data

    private func bodyRequest(
        _ device: EnrolledDevice, _ members: [String: JSONValue],
        fields: [(String, String)] = [], keyIDPlace: KeyIDPlace = .header
    ) throws -> HTTPMessage {
        var writer = JSONWriter()
        writer.element(.object(members))
        let body = writer.finish().readable.array
        let signed = try device.device.sign(body: body, keyIDPlace: keyIDPlace)
        return try device.send(
            "POST", "/body/x", fields: signed.headers.map { ($0.name, $0.value) } + fields,
            body: body)
    }

    @Test("a body that is the client data is verified with the challenge inside it")
    func bodyShape() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let token = try device.fetchChallenge()
        #expect(try bodyRequest(device, ["challenge": .string(token)]).status == 200)
        let encoded = Base64.encode(Array(try device.nextChallenge().utf8))
        let inside = try bodyRequest(
            device,
            ["challenge": .string(encoded), "keyId": .string(device.device.keyID.base64)],
            keyIDPlace: .nowhere)
        #expect(inside.status == 200)
        #expect(gateway.upstream.requests.allSatisfy { $0["X-Attest-Result"] == "verified" })
        let byChallenge = try bodyRequest(
            device, ["challenge": .string(try device.nextChallenge())], keyIDPlace: .nowhere)
        #expect(byChallenge.status == 200)
        let again = try bodyRequest(device, ["challenge": .string(token)])
        #expect(again.code == "challenge_expired")
    }

    @Test("a body without a challenge, or with two key ids that differ, is refused")
    func bodyShapeRefused() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        #expect(try bodyRequest(device, [:]).code == "challenge_required")
        #expect(try bodyRequest(device, ["challenge": .integer(1)]).code == "challenge_required")
        let other = try EnrolledDevice(gateway)
        let differ = try bodyRequest(
            device,
            [
                "challenge": .string(try other.fetchChallenge()),
                "keyId": .string(other.device.keyID.base64),
            ])
        #expect(differ.code == "assertion_malformed")
        let hash = Base64.encode(SHA256.hash(Array("other".utf8)).array)
        let wrongHash = try bodyRequest(
            device, ["challenge": .string(try device.nextChallenge())],
            fields: [("X-App-Attest-Client-Data", hash)])
        #expect(wrongHash.code == "body_mismatch")
        for text in ["", "no json", "[1]", "{\"challenge\":\"a\",\"challenge\":\"b\"}"] {
            let body = Array(text.utf8)
            let signed = try device.device.sign(body: body)
            let answer = try device.send(
                "POST", "/body/x", fields: signed.headers.map { ($0.name, $0.value) }, body: body)
            #expect(answer.code == "challenge_required", "\(text)")
        }
        #expect(gateway.upstream.requests.isEmpty)
    }

    @Test("a challenge is found in a body that goes to a file, wherever in it it stands")
    func bodyShapeInFile() throws {
        let gateway = try GatewayUnderTest { $0.limits.bodyMemoryByteCountMax = 64 }
        let device = try EnrolledDevice(gateway)
        let padding = "\"padding\":[\"" + String(repeating: "x", count: 100_000) + "\"]"
        for isFirst in [true, false] {
            let challenge = "\"\\u0063hallenge\":\"\(try device.nextChallenge())\""
            let text = isFirst ? "{\(challenge),\(padding)}" : "{\(padding),\(challenge)}"
            let body = Array(text.utf8)
            let signed = try device.device.sign(body: body)
            let answer = try device.send(
                "POST", "/body/x", fields: signed.headers.map { ($0.name, $0.value) }, body: body)
            #expect(answer.status == 200)
        }
    }

    @Test("what the headers refuse in the body shape is refused before any of the body has come")
    func bodyShapeHeadersFirst() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let signed = try device.device.sign(body: [])
        let fields = Dictionary(uniqueKeysWithValues: signed.headers.map { ($0.name, $0.value) })
        let assertion = try #require(fields["X-App-Attest-Assertion"])
        for (assertion, keyID) in [
            ("!", device.device.keyID.base64), ("AAAA", device.device.keyID.base64),
            (assertion, "AAAA"),
        ] {
            let client = try gateway.client()
            try client.send(
                "POST /body/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n"
                    + "X-App-Attest-Assertion: \(assertion)\r\n"
                    + "X-App-Attest-Key-Id: \(keyID)\r\n\r\n")
            #expect(try client.receive().code == "assertion_malformed", "\(assertion) \(keyID)")
        }
        #expect(gateway.registry.calls.isEmpty)
    }

    @Test("a member that a route looks for comes once; of the others none is looked at")
    func bodyShapeRepeated() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        func code(_ members: (String) -> String) throws -> String? {
            let body = Array("{\(members(try device.nextChallenge()))}".utf8)
            let signed = try device.device.sign(body: body)
            return try device.send(
                "POST", "/body/x", fields: signed.headers.map { ($0.name, $0.value) }, body: body
            ).code
        }
        let keyID = "\"keyId\":\"\(device.device.keyID.base64)\""
        #expect(
            try code { "\"challenge\":\"\($0)\",\"\\u0063hallenge\":\"\($0)\"" }
                == "challenge_required")
        #expect(
            try code { "\"challenge\":\"\($0)\",\(keyID),\(keyID)" } == "assertion_malformed")
        #expect(gateway.upstream.requests.isEmpty)
        #expect(try code { "\"x\":1,\"x\":[{}],\(keyID),\"challenge\":\"\($0)\"" } == nil)
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test("where no challenge is asked for, more that look like one than any app sends are refused")
    func bodyShapeCandidates() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.routes.append(
                GatewayUnderTest.route("unasked", "/unasked/") {
                    $0.mode = .enforce
                    $0.clientData = .body
                    $0.challenge = .off
                    $0.replay = .durable
                })
        }
        let device = try EnrolledDevice(gateway)
        func send(_ strings: [String]) throws -> HTTPMessage {
            let members = strings.enumerated().map { "\"m\($0)\":\"\($1)\"" }
            let body = Array("{\(members.joined(separator: ","))}".utf8)
            let signed = try device.device.sign(body: body)
            return try device.send(
                "POST", "/unasked/x", fields: signed.headers.map { ($0.name, $0.value) }, body: body
            )
        }
        let own = try device.fetchChallenge()
        // With the form of ours, and not sealed by us.
        let other = own.dropFirst(40).first == "A" ? "B" : "A"
        let foreign = String(own.prefix(40) + other + own.dropFirst(41))
        #expect(try send([foreign, own]).status == 200)
        #expect(try send(["x", own]).code == "challenge_expired")
        #expect(try send([String](repeating: foreign, count: 8)).status == 200)
        #expect(
            try send([String](repeating: foreign, count: 8) + [own]).code == "assertion_malformed")
        #expect(
            try send([own] + [String](repeating: foreign, count: 9)).code == "assertion_malformed")
        // One of two could be sent again with the other.
        let two = [try device.fetchChallenge(), try device.fetchChallenge()]
        for strings in [two, [two[1], Base64.encode(Array(two[1].utf8))]] {
            let refused = try send(strings)
            #expect(refused.code == "assertion_malformed")
        }
        #expect(try send([two[0], two[0]]).status == 200)
        #expect(try send([two[1]]).status == 200)
        let repeated = try send(["\(foreign)\",\"challenge\":\"a\",\"challenge\":\"b"])
        #expect(repeated.code == "assertion_malformed")
        let lines = try gateway.logLines()
        for (detail, count) in [("challenges_too_many", 4), ("challenge_repeated", 1)] {
            #expect(lines.count { $0.contains(#""detail":"\#(detail)""#) } == count, "\(detail)")
        }
    }

    // MARK: what every answer of an attested route has

    @Test("the next challenge comes with every answer of an attested route, and with no other")
    func nextChallenge() throws {
        let gateway = try GatewayUnderTest(upstream: { request in
            request.target.hasSuffix("dies")
                ? .dies : .response(404, fields: [("X-App-Attest-Challenge", "forged")])
        }) { $0.limits.targetByteCountMax = 256 }
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/x").status == 404)
        #expect(device.challenge != nil && device.challenge != "forged")
        #expect(try device.request("GET", "/attested/dies").status == 502)
        #expect(device.challenge != nil)
        #expect(try device.send("GET", "/attested/x").status == 401)
        #expect(device.challenge != nil)
        #expect(try device.send("GET", "/observed/x").status == 404)
        #expect(device.challenge != nil)
        #expect(try device.send("HEAD", "/observed/x").status == 404)
        #expect(device.challenge != nil)
        for target in ["/x", "/x/dies", "/" + String(repeating: "a", count: 300)] {
            _ = try device.send("GET", target)
            #expect(device.challenge == nil)
        }
    }
}
