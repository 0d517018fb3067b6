import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import EventLoop
import GatewayTesting
import GatewayTokens
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Session tokens at the gateway")
struct SessionTokenTests {}

extension SessionTokenTests {
    private static func gateway(
        _ configure: (inout Settings) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest { settings in
            settings.routes += [
                GatewayUnderTest.route("both", "/both/") {
                    $0.mode = .enforce
                    $0.accept = [.assertion, .token]
                },
                GatewayUnderTest.route("only", "/only/") {
                    $0.mode = .enforce
                    $0.accept = .token
                    $0.onStoreFailure = .tokensOnly
                },
            ]
            configure(&settings)
        }
    }

    private func exchange(
        _ device: EnrolledDevice, body: String = "", fields: [(String, String)] = []
    ) throws -> HTTPMessage {
        let bytes = Array(body.utf8)
        let signed = try device.signedFields("POST", "/assert/token", body: bytes)
        return try device.send("POST", "/assert/token", fields: signed + fields, body: bytes)
    }

    private func token(_ device: EnrolledDevice, fields: [(String, String)] = []) throws -> String {
        let answer = try exchange(device, fields: fields)
        try #require(answer.status == 200, "\(answer.bodyText)")
        return try #require(answer.member("token"))
    }

    private func use(
        _ token: String, _ path: String, by device: EnrolledDevice,
        _ fields: [(String, String)] = []
    ) throws -> HTTPMessage {
        try device.send("GET", path, fields: [("X-App-Attest-Token", token)] + fields)
    }

    @Test("one assertion does for many requests to the routes that say so")
    func exchange() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        let answer = try exchange(device)
        #expect(answer.status == 200)
        #expect(answer["Cache-Control"] == "no-store")
        #expect(answer["X-App-Attest-Challenge"] != nil)
        #expect(answer.bodyText.contains(#""expires_in":300,"routes":["both","only"]"#))
        let token = try #require(answer.member("token"))
        for path in ["/both/x", "/only/x", "/both/y"] {
            #expect(try use(token, path, by: device).status == 200)
            let seen = gateway.upstream.requests.last
            #expect(seen?["X-Attest-Result"] == "verified")
            #expect(seen?["X-Attest-Tier"] == "token")
            #expect(seen?["X-Attest-Key"] == device.device.keyID.base64)
            #expect(seen?["X-Attest-App"] == GatewayUnderTest.appID)
            #expect(seen?["X-App-Attest-Token"] == nil)
        }
        // An assertion is still good where it is named, and comes first.
        let fields = try device.signedFields("GET", "/both/x")
        #expect(try use("nonsense", "/both/x", by: device, fields).status == 200)
        #expect(gateway.upstream.requests.last?["X-Attest-Tier"] == "attested")
        // Not on routes that do not take tokens, nor an assertion on one that takes no other thing.
        #expect(try use(token, "/attested/x", by: device).code == "assertion_required")
        #expect(try device.request("GET", "/only/x").code == "token_invalid")
        gateway.stop()
        #expect(gateway.outcomes(of: "both") == ["verified ok": 3])
        #expect(gateway.hub.meters[0].value(.tokens) == 1)
    }

    @Test("the body names the routes that a token shall be good for")
    func audience() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        let answer = try exchange(device, body: #"{"routes":["only"]}"#)
        let token = try #require(answer.member("token"))
        #expect(try use(token, "/only/x", by: device).status == 200)
        let refused = try use(token, "/both/x", by: device)
        #expect(refused.status == 401)
        #expect(refused.code == "token_invalid")
        #expect(refused["WWW-Authenticate"] == #"AppAttest error="token_invalid""#)
        for body in [
            "{}", "[]", #"{"routes":[]}"#, #"{"routes":["attested"]}"#, #"{"routes":[1]}"#,
            #"{"routes":["both","both"]}"#, #"{"routes":["both"],"x":1}"#, "both",
        ] {
            #expect(try exchange(device, body: body).code == "bad_request", "\(body)")
        }
    }

    @Test("the body is not read for routes before the assertion was checked")
    func bodyComesLast() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        let body = Array("no json".utf8)
        let forged = try device.signedFields(
            "POST", "/assert/token", body: body, fault: .otherKey)
        let refused = try device.send("POST", "/assert/token", fields: forged, body: body)
        #expect(refused.code == "assertion_invalid")
        let signed = try device.signedFields("POST", "/assert/token", body: body)
        let answer = try device.send("POST", "/assert/token", fields: signed, body: body)
        #expect(answer.code == "bad_request")
        // And nothing was spent on that.
        #expect(answer.member("assertion") == "unspent")
    }

    @Test("a token is not had without a good assertion")
    func refusals() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        #expect(try device.send("POST", "/assert/token").code == "assertion_required")
        #expect(try device.send("GET", "/assert/token").status == 405)
        let fields = try device.signedFields("POST", "/assert/token")
        #expect(try device.send("POST", "/assert/token", fields: fields).status == 200)
        #expect(
            try device.send("POST", "/assert/token", fields: fields).code == "assertion_replayed")
        let forged = try device.signedFields("POST", "/assert/token", fault: .otherKey)
        #expect(
            try device.send("POST", "/assert/token", fields: forged).code == "assertion_invalid")
        let stranger = try EnrolledDevice(gateway, isKnown: false)
        #expect(try exchange(stranger).code == "key_unknown")
        #expect(try use("a.b.c", "/both/x", by: device).code == "token_invalid")
        #expect(try use("", "/both/x", by: device).code == "token_invalid")
        let token = try token(device)
        #expect(
            try use(token, "/both/x", by: device, [("X-App-Attest-Token", token)]).code
                == "token_invalid")
    }

    @Test("a revoked key's tokens are refused")
    func revoked() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        let token = try token(device)
        #expect(try use(token, "/both/x", by: device).status == 200)
        gateway.registry.set(.revoked, of: device.device.keyID)
        #expect(try use(token, "/both/x", by: device).code == "key_revoked")
    }

    @Test("a token that was used is refused once its key has been taken away")
    func keyTakenAway() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        let token = try token(device)
        let newKey = [UInt8](repeating: 9, count: 32)
        #expect(try use(token, "/both/x", by: device).status == 200)
        try gateway.reload(challengeKeys: [newKey, GatewayUnderTest.challengeKey]) { _ in }
        #expect(try use(token, "/both/x", by: device).status == 200)
        try gateway.reload(challengeKeys: [newKey]) { _ in }
        #expect(try use(token, "/both/x", by: device).code == "token_invalid")
    }

    @Test("a token that was used on one route is not good for another")
    func routeOfUsedToken() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        let answer = try exchange(device, body: #"{"routes":["only"]}"#)
        let token = try #require(answer.member("token"))
        for _ in 0..<2 {
            #expect(try use(token, "/only/x", by: device).status == 200)
            #expect(try use(token, "/both/x", by: device).code == "token_invalid")
        }
    }

    @Test("while the registry is away a token counts where the route says tokens_only")
    func registryAway() throws {
        // No cache to speak of: every look-up asks the registry.
        let gateway = try Self.gateway { $0.keyCache.recordCountMax = 1 }
        let device = try EnrolledDevice(gateway)
        let other = try EnrolledDevice(gateway)
        let token = try token(device)
        #expect(try other.request("GET", "/both/x").status == 200)
        gateway.registry.fail("down")
        #expect(try use(token, "/both/x", by: device).code == "store_unavailable")
        #expect(try use(token, "/only/x", by: device).status == 200)
        #expect(gateway.upstream.requests.last?["X-Attest-Result"] == "verified")
        #expect(gateway.upstream.requests.last?["X-Attest-App"] == GatewayUnderTest.appID)
        #expect(try use(token + "x", "/only/x", by: device).code == "token_invalid")
    }

    @Test("without its key's record a token is still of a configured app, and within its limits")
    func registryAwayBounds() throws {
        let gateway = try Self.gateway { settings in
            settings.keyCache.recordCountMax = 1
            settings.rateLimits.append(RateLimitTests.limit("each", by: .key, burst: 2))
            let index = settings.routes.firstIndex { $0.name == "only" }
            if let index { settings.routes[index].rateLimits = ["each"] }
        }
        let device = try EnrolledDevice(gateway)
        let token = try token(device)
        #expect(try EnrolledDevice(gateway).request("GET", "/both/x").status == 200)
        gateway.registry.fail("down")
        for outcome in [nil, nil, "rate_limited"] {
            #expect(try use(token, "/only/x", by: device).code == outcome)
        }
        let other = try Self.gateway { $0.apps.removeAll { $0.id == GatewayUnderTest.appID } }
        other.registry.fail("down")
        let stranger = try EnrolledDevice(other)
        #expect(try use(token, "/only/x", by: stranger).code == "key_unknown")
        try other.reload { settings in
            settings.apps.append(
                AppIdentity(id: GatewayUnderTest.appID, environments: [.development]))
        }
        #expect(try use(token, "/only/x", by: stranger).code == "key_unknown")
        try other.reload { settings in
            settings.apps[1] = AppIdentity(
                id: GatewayUnderTest.appID, environments: [.production])
        }
        #expect(try use(token, "/only/x", by: stranger).status == 200)
    }

    @Test("a token is bound to the value of a header where the operator names one")
    func binding() throws {
        let gateway = try Self.gateway { $0.sessionTokens.boundHeader = "authorization" }
        let device = try EnrolledDevice(gateway)
        #expect(try exchange(device).code == "bad_request")
        // Everybody can send nothing.
        #expect(try exchange(device, fields: [("Authorization", "")]).code == "bad_request")
        let alice = ("Authorization", "Bearer alice")
        let token = try token(device, fields: [alice])
        #expect(try use(token, "/both/x", by: device, [alice]).status == 200)
        for fields in [[], [("Authorization", "Bearer bob")], [alice, alice]] {
            #expect(try use(token, "/both/x", by: device, fields).code == "token_invalid")
        }
        // What was issued before the setting is bound to nothing, and is no longer good.
        try gateway.reload { $0.sessionTokens.boundHeader = nil }
        let unbound = try self.token(device)
        try gateway.reload { $0.sessionTokens.boundHeader = "authorization" }
        #expect(try use(unbound, "/both/x", by: device, [alice]).code == "token_invalid")
    }

    @Test("without a route that takes tokens the path is like any other")
    func unused() throws {
        let gateway = try GatewayUnderTest()
        #expect(try gateway.client().exchange("POST", "/assert/token").status == 200)
        #expect(gateway.upstream.requests.count == 1)
    }
}
