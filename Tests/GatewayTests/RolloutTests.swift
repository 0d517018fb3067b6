import AppAttestTesting
import Attestation
import Background
import Bytes
import GatewayTesting
import Judgement
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("A rollout on the request path")
struct RolloutTests {}

extension RolloutTests {
    private static let plan = RolloutPlan(start: 1)

    /// A gateway whose attested route has a share that moves.
    private func gateway(
        _ configure: (inout Settings) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest { settings in
            let index = settings.routes.firstIndex { $0.name == "attested" }
            if let index { settings.routes[index].rollout = Self.plan }
            configure(&settings)
        }
    }

    private func put(_ percent: Int, _ gateway: GatewayUnderTest, _ subject: RolloutSubject) {
        var state = RolloutState(beginning: Self.plan, at: 1)
        state.set(percent, at: 1)
        _ = gateway.rollouts.share(of: PlannedRollout(subject: subject, plan: Self.plan))
            .follow(state)
    }

    /// Counts by `side bucket`.
    private func buckets(_ gateway: GatewayUnderTest, _ route: String) -> [String: UInt64] {
        guard let meter = gateway.hub.meters[0].routeMeters[route] else { return [:] }
        var counts: [String: UInt64] = [:]
        for side in RolloutSide.allCases {
            for bucket in RequestBucket.allCases where meter.count(bucket, side) > 0 {
                counts["\(side.name) \(bucket.name)"] = meter.count(bucket, side)
            }
        }
        return counts
    }

    @Test("a share that moves is obeyed by the next request")
    func moving() throws {
        let gateway = try gateway()
        let client = try gateway.client()
        for (percent, status) in [(0, 200), (100, 401), (0, 200), (100, 401)] {
            put(percent, gateway, .route("attested"))
            #expect(try client.exchange("GET", "/attested/x").status == status)
        }
        gateway.stop()
        #expect(
            buckets(gateway, "attested")
                == ["enforced unknown_origin": 2, "observed unknown_origin": 2])
        #expect(
            gateway.hub.meters[0].routeMeters["attested"]?.cohort
                == RolloutCounts(judged: 2, refused: 2))
    }

    @Test("as long as nobody knows the share the gateway is not ready, and no client is at fault")
    func unknown() throws {
        let gateway = try gateway()
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/x").status == 200)
        let answer = try device.send("GET", "/attested/x")
        #expect(answer.status == 503)
        #expect(answer.code == "store_unavailable")
        #expect(
            try RawClient(port: gateway.adminPort, host: "127.0.0.1").exchange("GET", "/readyz")
                .status == 503)
        gateway.stop()
        #expect(
            buckets(gateway, "attested") == ["enforced verified": 1, "enforced unjudged": 1])
        #expect(
            gateway.hub.meters[0].routeMeters["attested"]?.cohort
                == RolloutCounts(judged: 1, refused: 0))
    }

    /// Sends what falls into each bucket, and gives what the upstream was told of it.
    private func sendAll(to route: String, _ gateway: GatewayUnderTest) throws -> [String?] {
        let device = try EnrolledDevice(gateway)
        let path = "/\(route)/x"
        let spent = try device.fetchChallenge()
        let fields = try device.signedFields("GET", path, challenge: spent)
        for _ in 0..<2 { _ = try device.send("GET", path, fields: fields) }
        _ = try device.request("GET", path, challenge: spent)
        _ = try device.request("GET", path, fault: .otherKey)
        _ = try device.send("GET", path)
        for field in [
            ("User-Agent", "Example/1 CFNetwork/1490.0.4 Darwin/23.2.0"),
            ("X-App-Attest-Key-Id", "x"),
        ] { _ = try device.send("GET", path, fields: [field]) }
        _ = try device.send("GET", path, fields: [("User-Agent", "curl/8.0 (CFNetwork)")])
        let stranger = try EnrolledDevice(gateway, isKnown: false)
        _ = try stranger.request("GET", path)
        #expect(stranger.challenge != nil)
        gateway.registry.fail("down")
        _ = try EnrolledDevice(gateway).request("GET", path)
        gateway.registry.fail(nil)
        return gateway.upstream.requests.filter { $0.target == path }.map { $0["X-Attest-Result"] }
    }

    @Test("what a route finds wrong is counted by its bucket; what only observes forwards it")
    func buckets() throws {
        let gateway = try GatewayUnderTest()
        #expect(try sendAll(to: "attested", gateway) == ["verified"])
        #expect(
            try sendAll(to: "observed", gateway)
                == ["verified"] + [String](repeating: "unverified", count: 9))
        gateway.stop()
        for (route, side) in [("attested", "enforced"), ("observed", "observed")] {
            #expect(
                buckets(gateway, route) == [
                    "\(side) verified": 1, "\(side) replayed": 1, "\(side) stale": 1,
                    "\(side) invalid": 1, "\(side) unknown_origin": 3,
                    "\(side) outdated_client": 2, "\(side) unjudged": 1,
                ])
        }
        let meters = gateway.hub.meters[0].routeMeters
        #expect(meters["attested"]?.cohort == RolloutCounts(judged: 8, refused: 7))
        #expect(meters["observed"]?.cohort == RolloutCounts())
        #expect(
            gateway.outcomes(of: "observed") == [
                "verified ok": 1, "observed assertion_replayed": 1,
                "observed assertion_required": 4, "observed assertion_invalid": 1,
                "observed challenge_expired": 1, "observed key_unknown": 1,
                "observed store_unavailable": 1,
            ])
        #expect(buckets(gateway, "assert/challenge") == [:])
    }

    @Test("an upstream that fails is no fault of the proof")
    func upstreamFails() throws {
        let gateway = try GatewayUnderTest(upstream: { _ in .raw("", then: .close) })
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/x").status == 502)
        #expect(try device.send("GET", "/observed/x").status == 502)
        gateway.stop()
        #expect(buckets(gateway, "attested") == ["enforced verified": 1])
        #expect(buckets(gateway, "observed") == ["observed unknown_origin": 1])
    }

    @Test("one line of the log tells why a request was refused, or was not")
    func lines() throws {
        let gateway = try gateway { settings in
            settings.routes += [
                GatewayUnderTest.route("both", "/both/") {
                    $0.mode = .enforce
                    $0.accept = [.assertion, .token]
                    $0.minTier = .attested
                },
                GatewayUnderTest.route("cut", "/cut/") { $0.mode = .enforce },
            ]
            let index = settings.routes.firstIndex { $0.name == "cut" }
            if let index { settings.routes[index].attest.environments = .development }
        }
        put(40, gateway, .route("attested"))
        var devices: [Bool: EnrolledDevice] = [:]
        while devices.count < 2 {
            let device = try EnrolledDevice(gateway)
            devices[Rollout.cohort(of: device.device.keyID.digest) < 40] = device
        }
        let inside = try #require(devices[true])
        let outside = try #require(devices[false])
        let signed = try inside.signedFields("POST", "/assert/token")
        let issued = try inside.send("POST", "/assert/token", fields: signed)
        let token = [("X-App-Attest-Token", try #require(issued.member("token")))]
        _ = try inside.request("GET", "/attested/x", fault: .otherKey)
        _ = try outside.request("GET", "/attested/x", fault: .otherKey)
        _ = try outside.request("GET", "/attested/x")
        _ = try inside.send("GET", "/both/x", fields: token)
        _ = try inside.request("GET", "/cut/x")
        _ = try inside.send("GET", "/observed/x")
        let lines = try gateway.logLines()
        func expect(_ parts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(
                lines.contains { line in parts.allSatisfy(line.contains) },
                "\(parts)\n\(lines.joined(separator: "\n"))", sourceLocation: sourceLocation)
        }
        func cohort(_ device: EnrolledDevice) -> String {
            #""rollout":40,"cohort":\#(Rollout.cohort(of: device.device.keyID.digest))"#
        }
        expect(#""path":"/assert/token""#, #""decision":"verified""#, #""token_routes":["both"]"#)
        let refused = #""decision":"refused","reason":"assertion_invalid""#
        expect(refused, #""tier":"none","bucket":"invalid",\#(cohort(inside))"#)
        let observed = #""decision":"observed","reason":"assertion_invalid""#
        expect(observed, #""tier":"none","bucket":"invalid",\#(cohort(outside))"#)
        expect(
            #""route":"attested","decision":"verified""#,
            #""tier":"attested","bucket":"verified",\#(cohort(outside))"#)
        expect(
            #""reason":"assertion_required","detail":"tier""#,
            #""tier":"token","bucket":"lower_tier","key""#)
        expect(
            #""reason":"distribution_not_allowed","detail":"environment""#,
            #""tier":"attested","bucket":"invalid","key""#)
        expect(
            #""route":"observed","decision":"observed""#, #""bucket":"unknown_origin","upstream""#)
    }

    @Test("a request is counted on the side on which it was judged, however long it takes")
    func latched() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in
            gate.wait()
            return .response()
        }) { settings in
            let index = settings.routes.firstIndex { $0.name == "attested" }
            if let index { settings.routes[index].rollout = Self.plan }
        }
        put(100, gateway, .route("attested"))
        let device = try EnrolledDevice(gateway)
        let fields = try device.signedFields("GET", "/attested/x")
        let head = (["GET /attested/x HTTP/1.1", "Host: a"] + fields.map { "\($0.0): \($0.1)" })
            .joined(separator: "\r\n")
        try device.client.send(head + "\r\n\r\n")
        try gateway.upstream.waitForRequests(1)
        put(0, gateway, .route("attested"))
        gate.open()
        #expect(try device.client.receive().status == 200)
        gateway.stop()
        #expect(buckets(gateway, "attested") == ["enforced verified": 1])
    }

    @Test("only the share may attest: by the name it gives itself, by key, by address")
    func attestRollout() throws {
        let gateway = try GatewayUnderTest { $0.endpoints.attestRollout.percent = 30 }
        let client = try gateway.client()
        func check(_ query: String, _ cohort: Int) throws {
            let answer = try client.exchange("GET", "/attest/challenge" + query)
            guard cohort >= 30 else {
                #expect(answer.status == 200)
                return
            }
            #expect(answer.status == 429)
            #expect(answer.code == "rate_limited")
            #expect(answer.member("action") == "retry_later")
            #expect(answer["Retry-After"] == "\(3600 + 36 * cohort)")
        }
        for index in 0..<20 {
            let key = KeyID(digest: Bytes32(word0: UInt64(index), word1: 1, word2: 2, word3: 3))
            try check("?key_id=\(key.base64)", Rollout.cohort(of: key.digest))
            let name = Array("installation-\(index)".utf8)
            try check("?installation=installation-\(index)", Rollout.cohort(ofName: name.span))
            // A key that takes the place of another one changes nothing.
            try check(
                "?key_id=\(key.base64)&installation=installation-\(index)",
                Rollout.cohort(ofName: name.span))
        }
        let address: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1]
        try check("", Rollout.cohort(ofAddress: address.span))
        for query in ["?installation=", "?installation=" + String(repeating: "a", count: 129)] {
            let answer = try client.exchange("GET", "/attest/challenge" + query)
            #expect(answer.status == 400)
        }
        // Challenges for assertions are for everybody.
        #expect(try client.exchange("GET", "/assert/challenge").status == 200)
    }

    @Test("who may attest moves too, and nobody may while nobody knows")
    func movingAttestRollout() throws {
        let gateway = try GatewayUnderTest { $0.endpoints.attestRollout.plan = Self.plan }
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/attest/challenge").status == 429)
        put(100, gateway, .attestation)
        #expect(try client.exchange("GET", "/attest/challenge").status == 200)
        put(0, gateway, .attestation)
        #expect(try client.exchange("GET", "/attest/challenge").status == 429)
    }

    @Test("metrics and the status page tell how far it is")
    func pages() throws {
        let gateway = try gateway()
        let admin = try RawClient(port: gateway.adminPort, host: "127.0.0.1")
        func page(_ path: String) throws -> String { try admin.exchange("GET", path).bodyText }
        #expect(
            try page("/metrics").contains(
                #"sallyport_rollout_status{route="attested",status="unknown"} 1"#))
        #expect(try page("/").contains("<td>attested</td><td>unknown</td>"))
        put(40, gateway, .route("attested"))
        _ = try gateway.client().exchange("GET", "/observed/x")
        let metrics = try page("/metrics")
        for line in [
            #"sallyport_rollout_percent{route="attested"} 40"#,
            #"sallyport_rollout_percent{route="nobody"} 0"#,
            #"sallyport_rollout_percent{route="attest_rollout"} 100"#,
            #"sallyport_rollout_status{route="attested",status="held_by_operator"} 1"#,
            #"sallyport_rollout_changed_timestamp_seconds{route="attested",cause="set"} 0"#,
        ] { #expect(metrics.contains(line + "\n"), "\(line)") }
        #expect(!metrics.contains(#"sallyport_rollout_percent{route="observed"}"#))
        #expect(try page("/").contains("set, held_by_operator"))
    }

    @Test("a key is in one cohort, whatever is wrong with its request, and wherever it comes from")
    func cohortOfNamedKey() throws {
        let gateway = try gateway()
        let client = try gateway.client()
        let addressCohort = Rollout.cohort(ofAddress: Self.loopback.span)
        for isKeyFirst in [true, false] {
            // One of the two cohorts is refused, the other is not.
            var device = try EnrolledDevice(gateway)
            while (Rollout.cohort(of: device.device.keyID.digest) < addressCohort) != isKeyFirst
                || Rollout.cohort(of: device.device.keyID.digest) == addressCohort
            { device = try EnrolledDevice(gateway) }
            let cohort = Rollout.cohort(of: device.device.keyID.digest)
            put(max(cohort, addressCohort), gateway, .route("attested"))
            // Its challenge is nobody's: that is found before the key is read.
            let foreign = try device.device.sign(
                method: "GET", path: "/attested/x", challenge: "nobody's")
            let answer = try client.exchange(
                "GET", "/attested/x", fields: foreign.headers.map { ($0.name, $0.value) })
            #expect(answer.status == (isKeyFirst ? 401 : 200))
        }
    }

    /// What is hashed of 127.0.0.1.
    private static let loopback: [UInt8] =
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1]
}
