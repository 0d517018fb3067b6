import AppAttestTesting
import EventLoop
import GatewayTesting
import KeyStore
import Settings
import Testing

@testable import Gateway

@Suite("A key that was idle")
struct IdleKeyTests {}

extension IdleKeyTests {
    private var now: Int64 { Int64(MonotonicInstant.now().nanoseconds / 1_000_000) }

    @Test("has no counter accepted again, though the counter store has forgotten it")
    func idle() throws {
        var options = EmbeddedCounters.Options()
        options.challengeLifeMilliseconds = 1
        options.graceMilliseconds = 0
        let gateway = try GatewayUnderTest(counters: options) {
            $0.challenge.timeToLive = .seconds(3)
        }
        let device = try EnrolledDevice(gateway)
        func verdict(_ path: String, _ counter: UInt32) throws -> String? {
            let token = try device.fetchChallenge()
            device.device.counter = counter - 1
            let answer = try device.request("GET", path, challenge: token)
            return answer.status == 200 ? "accepted" : answer.code
        }
        for counter: UInt32 in 1...4 {
            #expect(try verdict("/attested/x", counter) == "accepted")
        }
        func expectAllRefused() throws {
            for path in ["/attested/x", "/window/x"] {
                for counter: UInt32 in 1...4 {
                    #expect(try verdict(path, counter) == "assertion_replayed", "\(counter)")
                }
            }
        }
        try repeatWhile(gateway.counters.keyCount > 0) {
            gateway.counters.sweep(nowMilliseconds: now)
        }
        try expectAllRefused()
        // The registry takes the floor, and the cache, which has an older record, hears of it.
        try repeatWhile(gateway.hub.floors.keyCount > 0) {
            gateway.hub.floors.raise(in: gateway.registry, isWhole: true, now: now)
        }
        try expectAllRefused()
        #expect(try verdict("/attested/x", 5) == "accepted")
    }

    @Test("has a counter refused that a route without challenges has passed long ago")
    func unchallenged() throws {
        var options = EmbeddedCounters.Options()
        options.challengeLifeMilliseconds = 0
        let gateway = try GatewayUnderTest(counters: options)
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/x").status == 200)
        device.device.counter = 20
        let fields = try device.device.sign(method: "GET", path: "/unchallenged/x", challenge: nil)
            .headers.map { ($0.name, $0.value) }
        #expect(try device.send("GET", "/unchallenged/x", fields: fields).status == 200)
        let token = try device.fetchChallenge()
        device.device.counter = 9
        let refused = try device.request("GET", "/attested/x", challenge: token)
        #expect(refused.code == "assertion_replayed")
    }

    @Test("has a counter refused on strict routes as soon as one without challenges has passed it")
    func passed() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/x").status == 200)
        device.device.counter = 20
        let fields = try device.device.sign(method: "GET", path: "/unchallenged/x", challenge: nil)
            .headers.map { ($0.name, $0.value) }
        #expect(try device.send("GET", "/unchallenged/x", fields: fields).status == 200)
        func answer(_ path: String, _ counter: UInt32) throws -> String? {
            let token = try device.fetchChallenge()
            device.device.counter = counter - 1
            let answer = try device.request("GET", path, challenge: token)
            return answer.status == 200 ? "accepted" : answer.code
        }
        for path in ["/attested/x", "/durable/x"] {
            for counter: UInt32 in [9, 20, 21] {
                #expect(try answer(path, counter) == "assertion_replayed", "\(path): \(counter)")
            }
        }
        // What was under way on a route with a window is late, and was never used.
        #expect(try answer("/window/x", 9) == "accepted")
        #expect(try answer("/attested/x", 22) == "accepted")
        #expect(try answer("/window/x", 19) == "accepted")
    }
}
