import AppAttestTesting
import Attestation
import EventLoop
import GatewayTesting
import GatewayTokens
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Several apps on one gateway")
struct AppTests {}

extension AppTests {
    private static let bank = GatewayUnderTest.appID
    private static let game = GatewayUnderTest.otherAppID

    private static func gateway() throws -> GatewayUnderTest {
        try GatewayUnderTest { settings in
            func add(_ name: String, _ apps: [String], _ configure: (inout RoutePolicy) -> Void) {
                var route = GatewayUnderTest.route(name, "/\(name)/") {
                    $0.mode = .enforce
                    configure(&$0)
                }
                if !apps.isEmpty { route.attest.apps = .named(Set(apps), areAll: false) }
                settings.routes.append(route)
            }
            add("bank", [bank]) { _ in }
            add("game", [game]) { $0.onInvalid = .pass }
            add("both", []) { $0.accept = [.assertion, .token, .developer] }
            add("watched", [bank]) { $0.mode = .observe }
            add("banktoken", [bank]) { policy in
                policy.accept = [.assertion, .token, .developer]
                policy.onStoreFailure = .tokensOnly
            }
        }
    }

    private func token(
        _ device: EnrolledDevice, routes: String? = nil
    ) throws -> HTTPMessage {
        let body = Array((routes.map { #"{"routes":["\#($0)"]}"# } ?? "").utf8)
        return try device.request("POST", "/assert/token", body: body)
    }

    private func use(
        _ token: String, _ path: String, by device: EnrolledDevice
    ) throws -> HTTPMessage {
        try device.send("GET", path, fields: [("X-App-Attest-Token", token)])
    }

    @Test("a key of one app opens no route of another, and spends nothing there")
    func keys() throws {
        let gateway = try Self.gateway()
        let bank = try EnrolledDevice(gateway, appID: Self.bank)
        let game = try EnrolledDevice(gateway, appID: Self.game)
        #expect(try bank.request("POST", "/bank/pay").status == 200)
        #expect(gateway.upstream.requests.last?["X-Attest-App"] == Self.bank)
        let fields = try game.signedFields("POST", "/bank/pay")
        for _ in 0..<2 {
            let refused = try game.send("POST", "/bank/pay", fields: fields)
            #expect(refused.status == 403 && refused.code == "distribution_not_allowed")
            #expect(refused.member("action") == "none")
        }
        // A good proof of the wrong app is not a bad proof: `on_invalid` has no say in it.
        #expect(try bank.request("POST", "/game/x").code == "distribution_not_allowed")
        for device in [bank, game] {
            #expect(try device.request("POST", "/both/x").status == 200)
            #expect(gateway.upstream.requests.last?["X-Attest-App"] == device.device.appID)
        }
        #expect(try game.request("GET", "/watched/x").status == 200)
        #expect(gateway.upstream.requests.last?["X-Attest-Result"] == "unverified")
        #expect(gateway.upstream.requests.last?["X-Attest-App"] == nil)
        #expect(
            gateway.outcomes(of: "watched") == ["observed distribution_not_allowed": 1])
        let page = try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
        for line in [
            #"{app="\#(Self.bank)",platform="apple",version="unknown",bucket="verified"} 2"#,
            #"{app="\#(Self.bank)",platform="apple",version="unknown",bucket="invalid"} 1"#,
            #"{app="\#(Self.game)",platform="apple",version="unknown",bucket="verified"} 1"#,
            #"{app="\#(Self.game)",platform="apple",version="unknown",bucket="invalid"} 3"#,
        ] { #expect(page.contains("\nsallyport_app_requests_total\(line)\n"), "\(line)") }
        let lines = try gateway.logLines()
        let refused = lines.filter { $0.contains(#""path":"/bank/pay","#) }.last
        #expect(refused?.contains(#""detail":"app_mismatch""#) == true)
        #expect(refused?.contains(#""app":"\#(Self.game)""#) == true)
    }

    @Test("a session token of one app opens no route of another, nor is one made for it")
    func sessionTokens() throws {
        let gateway = try Self.gateway()
        let bank = try EnrolledDevice(gateway, appID: Self.bank)
        let game = try EnrolledDevice(gateway, appID: Self.game)
        let ofBank = try #require(try token(bank).member("token"))
        #expect(try use(ofBank, "/banktoken/x", by: bank).status == 200)
        let answer = try token(game)
        #expect(answer.bodyText.contains(#""routes":["both"]"#))
        let ofGame = try #require(answer.member("token"))
        #expect(try use(ofGame, "/both/x", by: game).status == 200)
        #expect(try use(ofGame, "/banktoken/x", by: game).code == "token_invalid")
        #expect(try token(game, routes: "banktoken").code == "distribution_not_allowed")
        // Made before the route said whose it is, or by another gateway.
        let now = WallClock.now().seconds
        var session = SessionToken(
            keyID: game.device.keyID, appID: Self.game, environment: .production, issuedAt: now,
            expiresAt: now + 60, audience: ["banktoken"])
        let sealer = try #require(SessionTokenSealer(keys: [GatewayUnderTest.challengeKey]))
        let old = String(decoding: sealer.token(of: session), as: UTF8.self)
        #expect(try use(old, "/banktoken/x", by: game).code == "distribution_not_allowed")
        // Nor where only the token can say which app it is.
        let stranger = try EnrolledDevice(gateway, appID: Self.game, isKnown: false)
        session.keyID = stranger.device.keyID
        let unjudged = String(decoding: sealer.token(of: session), as: UTF8.self)
        gateway.registry.fail("down")
        #expect(try use(unjudged, "/banktoken/x", by: stranger).code == "distribution_not_allowed")
        session.appID = Self.bank
        let bankers = String(decoding: sealer.token(of: session), as: UTF8.self)
        #expect(try use(bankers, "/banktoken/x", by: stranger).status == 200)
        #expect(gateway.upstream.requests.last?["X-Attest-App"] == Self.bank)
    }

    @Test("a developer token opens a route of some apps only where it was made for one of them")
    func developerTokens() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway, isKnown: false)
        let sealer = try #require(DeveloperTokenSealer(keys: [GatewayUnderTest.challengeKey]))
        let now = WallClock.now().seconds
        func token(_ appID: String?) -> String {
            let developer = DeveloperToken(
                name: "ci", id: "0123456789abcdef", issuedAt: now, expiresAt: now + 60,
                audience: [], worth: .token, appID: appID)
            return String(decoding: sealer.token(of: developer), as: UTF8.self)
        }
        for appID in [nil, Self.game] {
            #expect(try use(token(appID), "/both/x", by: device).status == 200)
            #expect(
                try use(token(appID), "/banktoken/x", by: device).code
                    == "distribution_not_allowed")
        }
        #expect(try use(token(Self.bank), "/banktoken/x", by: device).status == 200)
    }
}
