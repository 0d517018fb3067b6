import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Judgement
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Signals")
struct SignalTests {}

extension SignalTests {
    /// The upstream says who the user is: whom the test named in a header of its own.
    private static func gateway(
        from source: SignalSettings.UserSource = .response,
        _ configure: (inout SignalSettings) -> Void
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest(
            upstream: { request in
                let user = request["X-Test-User"].map { [("X-User_Id", $0)] } ?? []
                return .response(fields: source == .response ? user : [])
            }
        ) { settings in
            var user = SignalSettings.User(header: "x-user-id")
            user.source = source
            settings.signals.user = user
            var twice = RateLimitSettings.suspects
            twice.name = "twice"
            twice.burst = 2
            settings.rateLimits += [.suspects, twice]
            configure(&settings.signals)
        }
    }

    private func request(
        _ device: EnrolledDevice, user: String?, path: String = "/attested/x",
        more: [(String, String)] = []
    ) throws -> HTTPMessage {
        let fields = try device.signedFields("GET", path)
        let names = user.map { [("X-Test-User", $0)] } ?? []
        return try device.send("GET", path, fields: fields + names + more)
    }

    /// Asks again until what came of it is as `isTrue` says: what the registry notes is known a
    /// moment later.
    @discardableResult
    private func ask(
        _ device: EnrolledDevice, user: String?, until isTrue: (HTTPMessage) -> Bool
    ) throws -> HTTPMessage {
        let limit = ChildProcess.deadline
        while true {
            let answer = try request(device, user: user)
            if isTrue(answer) { return answer }
            try #require(Date() < limit, "\(answer.startLine)")
        }
    }

    @Test("keys of a user are counted by the upstream's word, and told to it")
    func userKeys() throws {
        let gateway = try Self.gateway {
            $0.userKeys = .atMost(1)
            $0.newUserKey = .atMost(0)
        }
        let first = try EnrolledDevice(gateway)
        let answer = try request(first, user: "ann")
        #expect(answer.status == 200)
        // The name is for the gateway alone, in whichever spelling.
        #expect(answer["X-User_Id"] == nil)
        // Nobody was known yet.
        #expect(gateway.told("X-Attest-Signals") == "none")
        #expect(gateway.told("X-Attest-User-Keys") == nil)
        try ask(first, user: "ann") { _ in gateway.told("X-Attest-User-Keys") == "1" }
        #expect(gateway.told("X-Attest-Signals") == "none")
        let second = try EnrolledDevice(gateway)
        try ask(second, user: "ann") { _ in gateway.told("X-Attest-User-Keys") == "2" }
        #expect(gateway.told("X-Attest-Signals") == "keys_per_user, new_key_per_user")
        // Another user's first key is nothing new.
        let third = try EnrolledDevice(gateway)
        try ask(third, user: "bob") { _ in gateway.told("X-Attest-User-Keys") == "1" }
        #expect(gateway.told("X-Attest-Signals") == "none")
        #expect(gateway.hub.meters[0].value(.newUserKeys) == 1)
        #expect(gateway.hub.meters[0].raisedCount(.userKeys) >= 1)
        // One for each of the signals that the second device has raised.
        #expect(gateway.hub.logs.eventCounts["signal_raised"] == 2)
        let page = try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
        #expect(page.contains(#"sallyport_signals_total{signal="keys_per_user"}"#))
        #expect(page.contains("\nsallyport_user_keys_new_total 1\n"))
        let lines = try gateway.logLines()
        #expect(lines.contains { $0.contains(#""signals":["keys_per_user","new_key_per_user"]"#) })
        #expect(!lines.joined().contains("ann"))
    }

    @Test("a signal that denies refuses what enforces, is observed where a route observes")
    func deny() throws {
        let gateway = try Self.gateway { $0.userKeys = .atMost(1, .deny) }
        let devices = try (0..<2).map { _ in try EnrolledDevice(gateway) }
        for device in devices { #expect(try request(device, user: "ann").status == 200) }
        let refused = try ask(devices[1], user: "ann") { $0.status == 403 }
        #expect(refused.code == "abuse_suspected")
        #expect(refused.member("action") == "none")
        let observed = try request(devices[1], user: "ann", path: "/observed/x")
        #expect(observed.status == 200)
        #expect(gateway.told("X-Attest-Result") == "unverified")
        // What was refused has changed no counter.
        #expect(gateway.outcomes(of: "observed")["observed abuse_suspected"] == 1)
    }

    @Test("a replay takes nothing from the limit of what is raised on it")
    func limitedReplay() throws {
        let gateway = try Self.gateway {
            $0.addressKeys = .atMost(1, .limit)
            $0.addressKeys?.rateLimit = "twice"
        }
        let devices = try (0..<2).map { _ in try EnrolledDevice(gateway) }
        #expect(try request(devices[0], user: nil).status == 200)
        let fields = try devices[1].signedFields("GET", "/attested/x")
        #expect(try devices[1].send("GET", "/attested/x", fields: fields).status == 200)
        #expect(gateway.told("X-Attest-Signals") == "keys_per_address")
        for _ in 0..<3 {
            let replay = try devices[1].send("GET", "/attested/x", fields: fields)
            #expect(replay.code == "assertion_replayed")
        }
        #expect(try request(devices[1], user: nil).status == 200)
        #expect(try request(devices[1], user: nil).code == "rate_limited")
    }

    @Test("a signal that limits has the request count against its limit")
    func limit() throws {
        let gateway = try Self.gateway { $0.userKeys = .atMost(1, .limit) }
        let devices = try (0..<2).map { _ in try EnrolledDevice(gateway) }
        for device in devices { #expect(try request(device, user: "ann").status == 200) }
        let limited = try ask(devices[1], user: "ann") { $0.status == 429 }
        #expect(limited.code == "rate_limited" && limited["Retry-After"] != nil)
    }

    @Test("a client names a user only where the configuration takes its word")
    func sources() throws {
        for source in SignalSettings.UserSource.allCases {
            let gateway = try Self.gateway(from: source) { $0.userKeys = .atMost(1) }
            let device = try EnrolledDevice(gateway)
            let named = [("X-User-Id", "ann")]
            for _ in 0..<3 { #expect(try request(device, user: nil, more: named).status == 200) }
            let notes = gateway.registry.calls.count { $0 == .note(device.device.keyID) }
            // The test's listener trusts nobody.
            #expect(notes == (source == .client ? 1 : 0), "\(source)")
            // It is the client's own header, and goes on.
            #expect(gateway.told("X-User-Id") == "ann")
        }
    }

    @Test("a trusted proxy's word is taken where the configuration says so")
    func proxy() throws {
        let gateway = try Self.gateway(from: .proxy) { $0.userKeys = .atMost(1) }
        let device = try EnrolledDevice(gateway)
        let fields = try device.signedFields("GET", "/attested/x") + [("X-User-Id", "ann")]
        let proxy = try RawClient(port: gateway.trustedPort)
        #expect(try proxy.exchange("GET", "/attested/x", fields: fields).status == 200)
        #expect(gateway.registry.calls.contains(.note(device.device.keyID)))
    }

    @Test("two names are none, nor is an empty one; a refused request names nobody")
    func noNames() throws {
        let gateway = try Self.gateway(from: .client) { $0.userKeys = .atMost(1) }
        let device = try EnrolledDevice(gateway)
        let two = [("X-User-Id", "ann"), ("X_User_Id", "bob")]
        #expect(try request(device, user: nil, more: two).status == 200)
        #expect(try request(device, user: nil, more: [("X-User-Id", "")]).status == 200)
        let long = String(repeating: "a", count: 513)
        #expect(try request(device, user: nil, more: [("X-User-Id", long)]).status == 200)
        let unsigned = try device.send("GET", "/attested/x", fields: [("X-User-Id", "ann")])
        #expect(unsigned.status == 401)
        #expect(!gateway.registry.calls.contains(.note(device.device.keyID)))
    }

    @Test("where the registry does not answer the user is unknown, and known keys go on")
    func storeDown() throws {
        let gateway = try Self.gateway { $0.userKeys = .atMost(1, .deny) }
        let device = try EnrolledDevice(gateway)
        // Its record is in the cache, and for whom it was used is not.
        #expect(try request(device, user: nil).status == 200)
        gateway.post(.keysChanged(.keys([])))
        gateway.hub.signals.forget(.everything)
        gateway.registry.fail("down")
        #expect(try request(device, user: nil).status == 200)
        #expect(gateway.told("X-Attest-User-Keys") == nil)
    }

    @Test("keys of an address and enrolments from it are counted, and refused where configured")
    func addresses() throws {
        let gateway = try Self.gateway {
            $0.user = nil
            $0.addressKeys = .atMost(1)
            $0.addressAttestations = .atMost(2, .deny)
        }
        let first = try EnrolledDevice(gateway, isKnown: false, enrols: true)
        #expect(try request(first, user: nil).status == 200)
        #expect(gateway.told("X-Attest-Address-Keys") == "1")
        #expect(gateway.told("X-Attest-Address-Attestations") == "1")
        let second = try EnrolledDevice(gateway, isKnown: false, enrols: true)
        #expect(try request(second, user: nil).status == 200)
        #expect(gateway.told("X-Attest-Address-Keys") == "2")
        #expect(gateway.told("X-Attest-Signals") == "keys_per_address")
        let third = try EnrolledDevice(gateway, isKnown: false)
        let refused = try third.attest()
        #expect(refused.status == 403 && refused.code == "abuse_suspected")
        #expect(gateway.registry.recordCount == 2)
    }

    @Test("conflicts of a key raise a signal on its requests, not on others'")
    func conflicts() throws {
        let gateway = try Self.gateway {
            $0.user = nil
            $0.keyConflicts = .atMost(1)
        }
        let device = try EnrolledDevice(gateway)
        #expect(try request(device, user: nil).status == 200)
        for _ in 0..<2 {
            device.device.counter -= 1
            #expect(try request(device, user: nil).code == "assertion_replayed")
        }
        #expect(try request(device, user: nil).status == 200)
        #expect(gateway.told("X-Attest-Key-Conflicts") == "2")
        #expect(gateway.told("X-Attest-Signals") == "conflicts_per_key")
        let other = try EnrolledDevice(gateway)
        #expect(try request(other, user: nil).status == 200)
        #expect(gateway.told("X-Attest-Key-Conflicts") == "0")
    }

    @Test("without signals nothing is counted or told, and what a client says of them is removed")
    func off() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let lies = [("X-Attest-Signals", "none"), ("x_attest_user_keys", "1")]
        #expect(try request(device, user: "ann", more: lies).status == 200)
        for name in ["X-Attest-Signals", "x_attest_user_keys"] {
            #expect(gateway.told(name) == nil)
        }
        #expect(
            !gateway.registry.calls.contains { [.findUser(device.device.keyID)].contains($0) })
        let page = try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
        #expect(!page.contains("sallyport_signals_total"))
    }
}
