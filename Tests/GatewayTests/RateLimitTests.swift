import AppAttestTesting
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import HTTP
import Judgement
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Rate limits")
struct RateLimitTests {}

extension RateLimitTests {
    static func limit(
        _ name: String, by subject: RateLimitSettings.Subject, burst: Int = 2,
        except exempt: [AddressBlock] = []
    ) -> RateLimitSettings {
        // So slow that no test sees a token come back.
        RateLimitSettings(
            name: name, subject: subject, rate: .init(count: 1, period: .hour), burst: burst,
            exempt: exempt)
    }

    private func limit(_ name: String, on route: String, in settings: inout Settings) {
        for index in settings.routes.indices where settings.routes[index].name == route {
            settings.routes[index].rateLimits = [name]
        }
    }

    @Test("what is beyond the burst is refused, told when to come again, and goes nowhere")
    func refused() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.rateLimits.append(Self.limit("few", by: .address))
            limit("few", on: "open", in: &settings)
        }
        let client = try gateway.client()
        for _ in 0..<2 { #expect(try client.exchange("GET", "/x").status == 200) }
        let answer = try client.exchange("POST", "/x", body: Array("abc".utf8))
        #expect(answer.status == 429)
        // Less by the seconds that have passed since the second request.
        #expect((3000...3600).contains(answer["Retry-After"].flatMap { Int($0) } ?? 0))
        #expect(answer["Content-Type"] == "application/problem+json")
        #expect(answer.bodyText.contains(#""code":"rate_limited","action":"retry_later""#))
        // Another connection, another route.
        #expect(try gateway.client().exchange("GET", "/x").status == 429)
        #expect(try gateway.client().exchange("GET", "/observed/x").status == 200)
        let lines = try gateway.logLines()
        #expect(gateway.upstream.requests.count == 3)
        #expect(gateway.outcomes(of: "open") == ["passed ok": 2, "refused rate_limited": 2])
        #expect(lines.filter { $0.contains(#""detail":"rate: few""#) }.count == 2)
    }

    @Test("a listener's limit counts what is no request", arguments: [false, true])
    func malformed(isTrusted: Bool) throws {
        let gateway = try GatewayUnderTest {
            $0.rateLimits.append(Self.limit("listener", by: .address))
        }
        let port = isTrusted ? gateway.trustedPort : gateway.port
        for text in ["GET / HTTP/1.1\r\nX Y: 1\r\n", "\u{16}\u{3}\u{1}", "GET / HTTP/9.9\r\n\r\n"] {
            let client = try RawClient(port: port)
            try client.send(text)
            #expect(try client.receive().status == (text.hasSuffix("9\r\n\r\n") ? 429 : 400))
        }
        #expect(try RawClient(port: port).exchange("GET", "/x").status == 429)
    }

    @Test("a listener's limit counts who leaves before the head is whole")
    func unfinished() throws {
        let stepped = try SteppedWorker()
        var settings = ListenerSettings(bind: .unix(path: ""))
        settings.rateLimits = ["all"]
        let listener = ListenerContext(
            settings, rateLimits: [Self.limit("all", by: .global, burst: 1)])
        let connection = stepped.connection
        connection.listener = listener
        func isUsedUp() -> Bool {
            stepped.worker.services.hub.rateLimiter.take(
                listener.rateLimits[0], Bytes16(word0: 0, word1: 0),
                now: stepped.worker.services.loop.now,
                isTrial: true) != nil
        }
        stepped.send("GET / HT")
        connection.descriptorIsReadable()
        #expect(!isUsedUp())
        stepped.closeClient()
        connection.descriptorIsReadable()
        #expect(connection.state == .closed)
        #expect(isUsedUp())
    }

    @Test("a listener's limit counts what no route takes, and not the admin's pages")
    func listener() throws {
        let gateway = try GatewayUnderTest {
            $0.rateLimits.append(Self.limit("listener", by: .global))
            $0.routes.removeAll { $0.name == "open" }
        }
        let client = try gateway.client()
        for status in [404, 404, 429, 429] {
            #expect(try client.exchange("GET", "/nowhere").status == status)
        }
        let admin = try RawClient(port: gateway.adminPort)
        for _ in 0..<4 { #expect(try admin.exchange("GET", "/livez").status == 200) }
    }

    @Test(
        "behind a trusted proxy the client's address counts, and a stranger's word changes nothing")
    func forwarded() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.rateLimits.append(Self.limit("few", by: .address))
            limit("few", on: "open", in: &settings)
        }
        let proxy = try RawClient(port: gateway.trustedPort)
        for (name, value, status) in [
            ("X-Forwarded-For", "203.0.113.1", 200),
            ("X-Forwarded-For", "1.1.1.1, 203.0.113.1", 200),
            ("Forwarded", "for=203.0.113.1", 429), ("X-Forwarded-For", "203.0.113.2", 200),
        ] {
            let answer = try proxy.exchange("GET", "/x", fields: [(name, value)])
            #expect(answer.status == status, "\(value)")
        }
        let stranger = try gateway.client()
        for (index, status) in [200, 200, 429].enumerated() {
            let fields = [("X-Forwarded-For", "203.0.113.\(10 + index)")]
            #expect(try stranger.exchange("GET", "/x", fields: fields).status == status)
        }
    }

    @Test("a proxy that names two clients is limited itself, although it is exempt")
    func contradiction() throws {
        let proxies = AddressBlock(address: [127, 0, 0, 0], prefixBitCount: 8)
        let gateway = try GatewayUnderTest { settings in
            settings.rateLimits.append(Self.limit("few", by: .address, except: [proxies]))
            limit("few", on: "open", in: &settings)
        }
        let proxy = try RawClient(port: gateway.trustedPort)
        for _ in 0..<3 { #expect(try proxy.exchange("GET", "/x").status == 200) }
        for (index, status) in [200, 200, 429].enumerated() {
            let fields = [
                ("X-Forwarded-For", "9.9.9.\(index)"), ("Forwarded", "for=1.1.1.\(index)"),
            ]
            #expect(try proxy.exchange("GET", "/x", fields: fields).status == status)
        }
    }

    @Test("the gateway's own endpoints are limited, but not for private addresses by default")
    func endpoints() throws {
        let own = try GatewayUnderTest { settings in
            settings.rateLimits = [
                Self.limit("challenge", by: .address), Self.limit("attestation", by: .address),
            ]
        }
        let client = try own.client()
        for status in [200, 200, 429] {
            #expect(try client.exchange("GET", "/assert/challenge").status == status)
        }
        #expect(try client.exchange("GET", "/attest/challenge").status == 429)
        for status in [400, 400, 429] {
            let answer = try client.exchange("POST", "/attest/verify", body: Array("{}".utf8))
            #expect(answer.status == status)
        }
        let builtIn = RateLimitSettings.builtIn.map { RateLimit($0) }
        for text in ["127.0.0.1", "10.9.8.7", "192.168.1.1", "100.64.0.1", "::1", "fd00::1"] {
            let address = try #require(SocketAddress.numeric(host: text, port: 0)?.ipv6Form)
            #expect(builtIn.allSatisfy { $0.exempts(address) }, "\(text)")
        }
        for text in ["192.0.2.1", "172.32.0.1", "100.128.0.1", "2001:db8::1", "::7f00:1"] {
            let address = try #require(SocketAddress.numeric(host: text, port: 0)?.ipv6Form)
            #expect(!builtIn.contains { $0.exempts(address) }, "\(text)")
        }
    }

    @Test("challenges for attestations may have a limit of their own, for all together")
    func attestationChallenges() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.rateLimits.append(Self.limit("all", by: .global))
            settings.endpoints.attestationChallengeRateLimits = ["all"]
        }
        let client = try gateway.client()
        for status in [200, 200, 429] {
            #expect(try client.exchange("GET", "/attest/challenge").status == status)
        }
        #expect(try client.exchange("GET", "/assert/challenge").status == 200)
    }

    @Test("a key's limit counts what was accepted of it, and spares what is refused")
    func key() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.rateLimits.append(Self.limit("each", by: .key))
            limit("each", on: "attested", in: &settings)
        }
        let device = try EnrolledDevice(gateway)
        let path = "/attested/x"
        let first = try device.signedFields("GET", path)
        #expect(try device.send("GET", path, fields: first).status == 200)
        // Replays and strangers take nothing from the key.
        for _ in 0..<3 { #expect(try device.send("GET", path, fields: first).status == 401) }
        #expect(try gateway.client().exchange("GET", path).status == 401)
        #expect(try device.request("GET", path).status == 200)
        let third = try device.signedFields("GET", path)
        #expect(try device.send("GET", path, fields: third).status == 429)
        // Its counter is not spent: later, the same request is good.
        try gateway.reload { $0.rateLimits[2].burst = 3 }
        #expect(try device.send("GET", path, fields: third).status == 200)
        #expect(try EnrolledDevice(gateway).request("GET", path).status == 200)
        gateway.stop()
        // The one beyond the limit was the app's all the same.
        let meter = try #require(gateway.hub.meters[0].routeMeters["attested"])
        #expect(meter.count(.verified, .enforced) == 5)
    }

    @Test("a key's limit holds where a route only observes, for assertions and tokens alike")
    func observedKey() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.rateLimits.append(Self.limit("each", by: .key))
            for name in ["observed", "nobody"] {
                limit("each", on: name, in: &settings)
                let index = settings.routes.firstIndex { $0.name == name }
                if let index { settings.routes[index].attest.accept = [.assertion, .token] }
            }
        }
        for path in ["/observed/x", "/rollout0/x"] {
            let device = try EnrolledDevice(gateway)
            let fields = try device.signedFields("POST", "/assert/token")
            let issued = try device.send("POST", "/assert/token", fields: fields)
            let token = [("X-App-Attest-Token", try #require(issued.member("token")))]
            #expect(try device.request("GET", path).status == 200)
            #expect(try device.send("GET", path, fields: token).status == 200)
            #expect(try device.request("GET", path).code == "rate_limited")
            #expect(try device.send("GET", path, fields: token).code == "rate_limited")
            // What proves nothing is nobody's.
            #expect(try device.request("GET", path, fault: .otherKey).status == 200)
        }
        #expect(
            gateway.outcomes(of: "observed") == [
                "verified ok": 2, "refused rate_limited": 2, "observed assertion_invalid": 1,
            ])
    }

    @Test("an address has so many connections, and a place again when one ends")
    func connections() throws {
        let gateway = try GatewayUnderTest { $0.limits.connectionsPerAddressMax = 2 }
        let clients = try (0..<2).map { _ in try gateway.client() }
        for client in clients { #expect(try client.exchange("GET", "/x").status == 200) }
        let third = try gateway.client()
        let answer = try third.receive()
        #expect(answer.status == 429)
        #expect(answer["Retry-After"] == "1")
        #expect(answer.bodyText.contains("rate_limited"))
        #expect(try third.receiveToEnd().isEmpty)
        // Another address than theirs.
        let proxied = try RawClient(port: gateway.proxiedPort)
        try proxied.send("PROXY TCP4 192.0.2.7 1.1.1.1 1 2\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try proxied.receive().status == 200)
        try clients[0].send("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(try clients[0].receive().status == 200)
        #expect(try clients[0].receiveToEnd().isEmpty)
        clients[0].socket.close()
        var status = 429
        try repeatWhile(status == 429) {
            status = (try? gateway.client().exchange("GET", "/x").status) ?? 429
        }
        #expect(status == 200)
    }
}

@Suite("Token buckets")
struct RateLimiterTests {
    private let second: UInt64 = 1_000_000_000
}

extension RateLimiterTests {
    private func limit(count: Int, burst: Int, name: String = "x") -> RateLimit {
        RateLimit(
            RateLimitSettings(
                name: name, subject: .address, rate: .init(count: count, period: .second),
                burst: burst))
    }

    private func subject(_ number: UInt64) -> Bytes16 { Bytes16(word0: number, word1: 1) }

    @Test("gives the burst at once, then the rate, and says how long to wait")
    func tokens() {
        let limiter = RateLimiter()
        let limit = limit(count: 10, burst: 3)
        func take(_ nanoseconds: UInt64, isTrial: Bool = false) -> UInt64? {
            limiter.take(
                limit, subject(1), now: MonotonicInstant(nanoseconds: nanoseconds),
                isTrial: isTrial)
        }
        let start = 5 * second
        for _ in 0..<5 { #expect(take(start, isTrial: true) == nil) }
        for _ in 0..<3 { #expect(take(start) == nil) }
        #expect(take(start) == second / 10)
        #expect(take(start + second / 20) == second / 20)
        #expect(take(start + second / 10) == nil)
        #expect(take(start + second / 10) == second / 10)
        // A long pause brings the burst back, and no more.
        for _ in 0..<3 { #expect(take(start + 60 * second) == nil) }
        #expect(take(start + 60 * second) != nil)
    }

    @Test("each limit and each subject has a bucket of its own")
    func separate() {
        let limiter = RateLimiter()
        let now = MonotonicInstant(nanoseconds: second)
        let limits = [limit(count: 1, burst: 1), limit(count: 1, burst: 1, name: "y")]
        for limit in limits {
            for number in 0..<100 as Range<UInt64> {
                #expect(limiter.take(limit, subject(number), now: now) == nil)
                #expect(limiter.take(limit, subject(number), now: now) != nil)
            }
        }
    }

    @Test("a flood of addresses does not evict who has taken the most")
    func eviction() {
        let limiter = RateLimiter(shardCount: 1, setsPerShard: 1)
        let limit = limit(count: 1, burst: 100)
        let now = MonotonicInstant(nanoseconds: second)
        for _ in 0..<100 { #expect(limiter.take(limit, subject(0), now: now) == nil) }
        for number in 1..<1000 as Range<UInt64> {
            #expect(limiter.take(limit, subject(number), now: now) == nil)
        }
        #expect(limiter.take(limit, subject(0), now: now) != nil)
    }

    @Test("threads that take at once get no more than there is")
    func threads() async {
        let limiter = RateLimiter()
        let limit = limit(count: 1, burst: 500)
        let taken = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    (0..<500).filter { _ in
                        let now = MonotonicInstant(nanoseconds: 1_000_000_000)
                        return limiter.take(limit, Bytes16(word0: 1, word1: 1), now: now) == nil
                    }.count
                }
            }
            return await group.reduce(0, +)
        }
        #expect(taken == 500)
    }
}
