import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Judgement
import Policy
import Settings
import Testing

@testable import Gateway

/// One key whose requests look as if its device signs for many.
@Suite("Signals of one key's use")
struct KeyUseTests {}

extension KeyUseTests {
    private static func users(
        _ countMax: Int, header: String? = nil, cookie: String? = nil
    ) -> SignalSettings.KeyUsers {
        var users = SignalSettings.KeyUsers(rule: .atMost(countMax))
        users.header = header
        users.cookie = cookie
        return users
    }

    private static func gateway(
        events: String? = nil, _ configure: (inout SignalSettings) -> Void
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest(
            upstream: { request in
                .response(fields: request["X-Test-User"].map { [("X-User-Id", $0)] } ?? [])
            }
        ) { settings in
            settings.rateLimits.append(.suspects)
            if let events { settings.log.events = .file(path: events) }
            configure(&settings.signals)
        }
    }

    /// A signed request that comes by a trusted proxy from `address`.
    private func request(
        _ device: EnrolledDevice, from address: String = "192.0.2.1",
        path: String = "/attested/x", more: [(String, String)] = []
    ) throws -> HTTPMessage {
        let fields = try device.signedFields("GET", path, challenge: device.fetchChallenge())
        return try send(device, fields + more, from: address, path: path)
    }

    private func send(
        _ device: EnrolledDevice, _ fields: [(String, String)], from address: String,
        path: String = "/attested/x"
    ) throws -> HTTPMessage {
        let proxy = try RawClient(port: device.gateway.trustedPort)
        return try proxy.exchange(
            "GET", path, fields: fields + [("X-Forwarded-For", address)])
    }

    @Test("addresses are counted once each, an IPv6 one by its /64, and networks apart from them")
    func addresses() throws {
        let gateway = try Self.gateway {
            $0.keyAddresses = .atMost(3)
            $0.keyNetworks = .atMost(2)
        }
        let device = try EnrolledDevice(gateway)
        for (address, addresses, networks, raised) in [
            ("192.0.2.1", "1", "1", "none"), ("192.0.2.2", "2", "1", "none"),
            ("192.0.2.1", "2", "1", "none"), ("2001:db8:1:2::1", "3", "2", "none"),
            ("2001:db8:1:2:ffff::9", "3", "2", "none"),
            ("2001:db8:9::1", "4", "2", "addresses_per_key"),
            ("203.0.113.7", "5", "3", "addresses_per_key, networks_per_key"),
        ] {
            #expect(try request(device, from: address).status == 200)
            #expect(gateway.told("X-Attest-Key-Addresses") == addresses, "\(address)")
            #expect(gateway.told("X-Attest-Key-Networks") == networks, "\(address)")
            #expect(gateway.told("X-Attest-Signals") == raised, "\(address)")
        }
        let other = try EnrolledDevice(gateway)
        #expect(try request(other).status == 200)
        #expect(gateway.told("X-Attest-Key-Addresses") == "1")
        let page = try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
        #expect(page.contains(#"sallyport_signals_total{signal="addresses_per_key"} 2"#))
        #expect(page.contains(#"sallyport_signals_total{signal="networks_per_key"} 1"#))
        let lines = try gateway.logLines()
        #expect(
            lines.contains {
                $0.contains(#""signals":["addresses_per_key","networks_per_key"]"#)
            })
    }

    @Test("deny refuses the address too many, which changes nothing for the ones before it")
    func deny() throws {
        let gateway = try Self.gateway { $0.keyAddresses = .atMost(2, .deny) }
        let device = try EnrolledDevice(gateway)
        for number in 1...2 {
            #expect(try request(device, from: "192.0.2.\(number)").status == 200)
        }
        for number in 3...5 {
            let refused = try request(device, from: "192.0.2.\(number)")
            #expect(refused.status == 403 && refused.code == "abuse_suspected")
        }
        #expect(try request(device, from: "192.0.2.2").status == 200)
        #expect(gateway.told("X-Attest-Key-Addresses") == "2")
        #expect(try request(device, from: "192.0.2.6", path: "/observed/x").status == 200)
        #expect(gateway.outcomes(of: "observed")["observed abuse_suspected"] == 1)
    }

    @Test("the log tells all signals that a request raises: once, or each minute it is refused")
    func events() throws {
        let names = ["users_per_key", "addresses_per_key", "networks_per_key"]
        for (action, expected) in [
            (SignalSettings.Action.observe, names), (.deny, [names.joined(separator: ", ")]),
        ] {
            let path = NSTemporaryDirectory() + "sallyport-signals-\(UUID().uuidString).log"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let gateway = try Self.gateway(events: path) {
                $0.keyUsers = Self.users(1, header: "authorization")
                $0.keyAddresses = .atMost(1, action)
                $0.keyNetworks = .atMost(1)
            }
            let device = try EnrolledDevice(gateway)
            for number in [1, 2, 3, 3] {
                let answer = try request(
                    device, from: "192.\(number).2.1", more: [("Authorization", "\(number)")])
                #expect(answer.status == (action == .deny && number > 1 ? 403 : 200))
            }
            gateway.stop()
            gateway.hub.logs.close()
            let told = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
                .map { try JSONValue.parse(String($0)) }
                .filter { $0["event"]?.stringValue == "signal_raised" }
                .compactMap { $0["message"]?.stringValue?.split(separator: ":").first }
            #expect(told.map(String.init) == expected, "\(action)")
        }
    }

    @Test("limit has requests count against its limit")
    func limit() throws {
        let gateway = try Self.gateway { $0.keyNetworks = .atMost(1, .limit) }
        let device = try EnrolledDevice(gateway)
        #expect(try request(device, from: "192.0.2.1").status == 200)
        #expect(try request(device, from: "198.51.100.1").status == 200)
        let limited = try request(device, from: "198.51.100.1")
        #expect(limited.status == 429 && limited.code == "rate_limited")
    }

    @Test("a captured request that others send again raises nothing against its key")
    func replay() throws {
        let gateway = try Self.gateway {
            $0.keyAddresses = .atMost(2, .deny)
            $0.keyUsers = Self.users(2, header: "authorization")
            $0.counterGaps = .atMost(1)
        }
        let device = try EnrolledDevice(gateway)
        let fields = try device.signedFields("GET", "/attested/x")
        #expect(try send(device, fields, from: "192.0.2.1").status == 200)
        for number in 2..<9 {
            let stolen = fields + [("Authorization", "Bearer \(number)")]
            let answer = try send(device, stolen, from: "198.51.100.\(number)")
            #expect(answer.code == "assertion_replayed")
        }
        // Nor do requests that prove nothing.
        let bare = try send(device, [("Authorization", "Bearer x")], from: "198.51.100.99")
        #expect(bare.status == 401)
        #expect(try request(device, from: "192.0.2.2").status == 200)
        #expect(gateway.told("X-Attest-Key-Addresses") == "2")
        #expect(gateway.told("X-Attest-Key-Users") == "0")
        #expect(gateway.told("X-Attest-Counter-Gaps") == "0")
    }

    @Test("users are told apart by a header, and one beside another does not hide it")
    func header() throws {
        let gateway = try Self.gateway { $0.keyUsers = Self.users(2, header: "authorization") }
        let device = try EnrolledDevice(gateway)
        for (values, count) in [
            ([], "0"), (["Bearer ann"], "1"), (["Bearer ann"], "1"), (["Bearer bob"], "2"),
            ([""], "2"), (["Bearer ann", "Bearer eve"], "3"), (["Bearer ann", "Bearer kim"], "4"),
        ] {
            let fields = values.map { ("Authorization", $0) }
            #expect(try request(device, more: fields).status == 200)
            #expect(gateway.told("X-Attest-Key-Users") == count, "\(values)")
        }
        #expect(gateway.told("X-Attest-Signals") == "users_per_key")
        #expect(gateway.told("Authorization") != nil)
        let lines = try gateway.logLines().joined()
        for name in ["ann", "bob", "eve", "kim"] { #expect(!lines.contains("Bearer \(name)")) }
    }

    @Test("users are told apart by a cookie")
    func cookie() throws {
        let gateway = try Self.gateway { $0.keyUsers = Self.users(2, cookie: "session") }
        let device = try EnrolledDevice(gateway)
        for (value, count) in [
            ("a=1; session=ann", "1"), ("session=ann; a=2", "1"), ("Session=x; xsession=y", "1"),
            ("a=session=z", "1"), ("session=bob", "2"), ("session=", "2"),
            ("session=ann; session=eve", "3"),
        ] {
            #expect(try request(device, more: [("Cookie", value)]).status == 200)
            #expect(gateway.told("X-Attest-Key-Users") == count, "\(value)")
        }
    }

    @Test("users are those whom the upstream names, or a trusted proxy, or the client")
    func namedUsers() throws {
        for source in SignalSettings.UserSource.allCases {
            let gateway = try Self.gateway {
                $0.user = SignalSettings.User(header: "x-user-id")
                $0.user?.source = source
                $0.keyUsers = Self.users(1)
            }
            let device = try EnrolledDevice(gateway)
            let name = source == .response ? "X-Test-User" : "X-User-Id"
            for user in ["ann", "bob", "bob"] {
                #expect(try request(device, more: [(name, user)]).status == 200)
            }
            #expect(gateway.told("X-Attest-Key-Users") == "2", "\(source)")
            #expect(gateway.told("X-Attest-Signals") == "users_per_key", "\(source)")
        }
    }

    @Test("counters that did not come are gaps, late ones are none, nor is the first one")
    func gaps() throws {
        let gateway = try Self.gateway { $0.counterGaps = .atMost(4) }
        let device = try EnrolledDevice(gateway)
        device.device.counter = 1000
        #expect(try request(device).status == 200)
        var late: [[(String, String)]] = []
        for _ in 0..<3 {
            late.append(
                try device.signedFields(
                    "GET", "/window/x", challenge: device.fetchChallenge()))
        }
        device.device.counter += 3
        #expect(try request(device).status == 200)
        // It is judged by what was known before it.
        #expect(gateway.told("X-Attest-Counter-Gaps") == "0")
        #expect(try request(device).status == 200)
        #expect(gateway.told("X-Attest-Counter-Gaps") == "6")
        #expect(gateway.told("X-Attest-Signals") == "counter_gaps")
        #expect(gateway.hub.meters[0].raisedCount(.counterGaps) == 1)
        for fields in late {
            #expect(try send(device, fields, from: "192.0.2.1", path: "/window/x").status == 200)
        }
        #expect(try request(device).status == 200)
        #expect(gateway.told("X-Attest-Counter-Gaps") == "3")
        #expect(gateway.told("X-Attest-Signals") == "none")
    }

    @Test("a gap too many has the requests after it refused, and no other key's")
    func deniedGaps() throws {
        let gateway = try Self.gateway { $0.counterGaps = .atMost(4, .deny) }
        let device = try EnrolledDevice(gateway)
        #expect(try request(device).status == 200)
        device.device.counter += 500
        #expect(try request(device).status == 200)
        #expect(try request(device).code == "abuse_suspected")
        let other = try EnrolledDevice(gateway)
        #expect(try request(other).status == 200)
    }
}
