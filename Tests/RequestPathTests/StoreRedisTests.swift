import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// What a gateway does while its Redis is away, and when it comes back.
@Suite(
    "A gateway without its Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct StoreRedisTests {}

extension StoreRedisTests {
    enum Absence: CaseIterable, Sendable {
        case terminated
        case killed
        case standingStill
    }

    /// A gateway on a Redis of its own, and a device that it knows.
    private struct Scene {
        let redis: RedisServer
        let site: FaultSite
        let gateway: GatewayProcess
        let device: SimulatedDevice
        private let prober: SimulatedDevice

        /// `timeout` is how long the gateway waits for Redis.
        init(timeout: String = "1m") throws {
            redis = try RedisServer()
            site = try FaultSite(redis: redis)
            let timeouts = "command_timeout: \(timeout), connect_timeout: \(timeout)"
            site.configuration.counters = "{ redis: \"\(redis.url)\", \(timeouts) }"
            gateway = try site.start()
            device = try site.enrolledDevice(at: gateway)
            prober = try site.enrolledDevice(at: gateway)
        }

        func accept(_ routes: [String]) throws -> [SignedCall] {
            try routes.map { route in
                let call = try device.call(route, at: gateway)
                let answer = try call.exchange(with: gateway)
                try #require(answer.status == 200, "\(answer.verdict)")
                return call
            }
        }

        /// Sends newly signed requests of another device until one passes, and returns the refusals
        /// on the way.
        func acceptAgain() throws -> Set<String> {
            var refusals: Set<String> = []
            _ = try gateway.poll { client in
                let challenge = try client.exchange("GET", "/assert/challenge").bodyText
                let call = try prober.call("window", challenge: challenge)
                let answer = try call.exchange(on: client)
                if answer.status != 200 { refusals.insert(answer.verdict) }
                return answer.status == 200 ? answer : nil
            }
            return refusals
        }
    }

    @Test(
        "answers 503 at once on attested routes, serves the others, and resumes",
        arguments: Absence.allCases)
    func absence(_ absence: Absence) throws {
        // Where the connection ends nobody waits for a time-out: so long a one would be noticed.
        let scene = try Scene(timeout: absence == .standingStill ? "1s" : "1m")
        let (redis, gateway, device) = (scene.redis, scene.gateway, scene.device)
        let accepted = try scene.accept(["strict", "window", "strict"])
        let unused = try device.call("window", at: gateway)
        switch absence {
        case .terminated: _ = try? redis.command("SHUTDOWN", "NOSAVE")
        case .killed: try redis.kill()
        case .standingStill: redis.stop()
        }
        // Nobody has told the gateway yet: what is under way when it finds out is unknown.
        for _ in 0..<8 {
            for route in ["strict", "window"] {
                let call = try device.call(route, at: gateway)
                let answer = try call.exchange(with: gateway)
                #expect(answer.verdict == "503 store_unavailable")
                #expect(answer["Retry-After"] == "1")
                #expect(answer["WWW-Authenticate"] == nil)
            }
            #expect(try gateway.exchange("GET", "/open/x").status == 200)
            let durable = try device.call("durable").exchange(with: gateway)
            #expect(durable.status == 200, "needs no counter store: \(durable.verdict)")
        }
        try gateway.waitForReadiness(503)
        #expect(try gateway.admin("/livez").status == 200)

        if absence == .standingStill { redis.resume() } else { try redis.start() }
        let refusals = try scene.acceptAgain()
        #expect(
            refusals.isSubset(of: ["503 store_unavailable", "401 challenge_expired"]),
            "\(refusals)")
        try gateway.waitForReadiness(200)
        let isSameLife = absence == .standingStill
        for call in accepted {
            let verdict = try call.exchange(with: gateway).verdict
            #expect(
                verdict == (isSameLife ? "401 assertion_replayed" : "401 challenge_expired"))
        }
        let late = try unused.exchange(with: gateway).verdict
        #expect(late == (isSameLife ? "200" : "401 challenge_expired"))
        #expect(scene.site.seenBodies.values.allSatisfy { $0 == 1 })
        #expect(gateway.isUnharmed)
    }

    @Test("refuses old assertions after FLUSHALL, and nobody attests again")
    func flushed() throws {
        let scene = try Scene()
        let (gateway, site) = (scene.gateway, scene.site)
        let accepted = try scene.accept(["strict", "window"])
        try scene.redis.command("FLUSHALL")
        for call in accepted {
            #expect(try call.exchange(with: gateway).verdict == "401 challenge_expired")
        }
        #expect(try scene.acceptAgain().isSubset(of: ["401 challenge_expired"]))
        for call in accepted {
            #expect(try call.exchange(with: gateway).verdict == "401 challenge_expired")
        }
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
    }

    @Test("refuses old assertions after Redis went back to an older dump")
    func olderDump() throws {
        let redis = try RedisServer(["--dbfilename", "old.rdb"])
        let site = try FaultSite(redis: redis)
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let first = try device.call("window", at: gateway)
        #expect(try first.exchange(with: gateway).status == 200)
        try redis.command("SAVE")
        let second = try device.call("window", at: gateway)
        #expect(try second.exchange(with: gateway).status == 200)
        try redis.restart()
        _ = try gateway.poll { client in
            let challenge = try client.exchange("GET", "/assert/challenge").bodyText
            let answer = try device.call("window", challenge: challenge).exchange(on: client)
            return answer.status == 200 ? true : nil
        }
        for call in [first, second] {
            #expect(try call.exchange(with: gateway).verdict == "401 challenge_expired")
        }
    }

    @Test("that was never there: starts, serves what needs none, and begins when it comes")
    func neverThere() throws {
        let redis = try RedisServer()
        try redis.kill()
        let site = try FaultSite(redis: redis)
        let gateway = try site.start()
        #expect(try gateway.exchange("GET", "/open/x").status == 200)
        let refused = try gateway.exchange("GET", "/assert/challenge")
        #expect(refused.verdict == "503 store_unavailable")
        try gateway.waitForReadiness(503)
        try redis.start()
        let device = try site.enrolledDevice(at: gateway)
        let call = try device.call("strict", at: gateway)
        #expect(try call.exchange(with: gateway).status == 200)
    }

    @Test("is ready once every one of its workers has reached Redis")
    func readiness() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        site.configuration.workers = 4
        let gateway = try site.start()
        for round in 0..<3 {
            try gateway.waitForReadiness(200)
            for _ in 0..<24 {
                #expect(try gateway.exchange("GET", "/assert/challenge").status == 200)
            }
            guard round < 2 else { break }
            try redis.kill()
            try gateway.waitForReadiness(503)
            try redis.start()
        }
    }

    @Test("that is full makes the gateway unready, and says why, until there is room")
    func full() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        try gateway.waitForReadiness(200)
        try redis.command("CONFIG", "SET", "maxmemory", "1")
        // Nobody asks for anything.
        try gateway.waitForReadiness(503)
        let event = "\(try gateway.waitForEvent("store_down"))"
        #expect(event.contains("the server refuses: OOM"), "\(event)")
        let refused = try device.call("strict", at: gateway).exchange(with: gateway)
        #expect(refused.verdict == "503 store_unavailable")
        try redis.command("CONFIG", "SET", "maxmemory", "0")
        try gateway.waitForReadiness(200)
        #expect(try device.call("strict", at: gateway).exchange(with: gateway).status == 200)
    }

    @Test("that may throw keys away is not used, and says why")
    func eviction() throws {
        let redis = try RedisServer(["--maxmemory", "64mb", "--maxmemory-policy", "volatile-lru"])
        let site = try FaultSite(redis: redis)
        let gateway = try site.start()
        let refused = try gateway.exchange("GET", "/assert/challenge")
        #expect(refused.verdict == "503 store_unavailable")
        let event = "\(try gateway.waitForEvent("store_down"))"
        #expect(event.contains("set noeviction"), "\(event)")
        try redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        let device = try site.enrolledDevice(at: gateway)
        let call = try device.call("strict", at: gateway)
        #expect(try call.exchange(with: gateway).status == 200)
        // Switched on while the gateway runs.
        try redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
        let verdict = try gateway.poll { client in
            let challenge = try client.exchange("GET", "/assert/challenge").bodyText
            let answer = try device.call("window", challenge: challenge).exchange(on: client)
            return answer.status == 200 ? nil : answer.verdict
        }
        #expect(verdict == "503 store_unavailable")
    }

    @Test(
        "that answers garbage, errors, or a password's refusal: 503, and never a crash",
        arguments: [
            "?what\r\n", "$-5\r\n", ":99999999999999999999999\r\n", "*100000000\r\n", "+OK\r\n",
            "-LOADING Redis is loading\r\n", "-NOAUTH Authentication required.\r\n",
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n", "$4\r\nab",
            "HTTP/1.1 400 Bad Request\r\n\r\n", "\0\0\0\0\r\n\r\n", "$536870912\r\n",
        ])
    func garbage(answer: String) throws {
        let server = try ScriptedRedisServer { _, _ in .bytes(answer) }
        let site = try FaultSite(counters: "{ redis: \"redis://127.0.0.1:\(server.port)/0\" }")
        let gateway = try site.start()
        for _ in 0..<3 {
            let refused = try gateway.exchange("GET", "/assert/challenge")
            #expect(refused.verdict == "503 store_unavailable")
        }
        #expect(try gateway.exchange("GET", "/open/x").status == 200)
        #expect(gateway.isUnharmed)
    }

    @Test("loses replies: what is unknown is 503 and never asked twice")
    func lostReplies() throws {
        // A relay in front of the real server would hide which side lost the answer; this one
        // answers the handshake by the real server's words and swallows every script call.
        let calls = CallCount()
        let server = try ScriptedRedisServer { words, _ in
            switch words.first {
            case "EVAL":
                let history = String(repeating: "a", count: 40)
                let time = ":1800000000000\r\n"
                return .bytes(
                    "*5\r\n$16\r\n00000000000000ab\r\n$40\r\n\(history)\r\n\(time)\(time)"
                        + "$0\r\n\r\n")
            case "SCRIPT":
                let digest = String(repeating: "0", count: 40)
                return .bytes("$40\r\n\(digest)\r\n")
            case "EVALSHA" where words.contains("trial"): return .bytes(":14\r\n")
            case "EVALSHA":
                calls.add()
                return .last("")
            default: return .bytes("+OK\r\n")
            }
        }
        let site = try FaultSite(counters: "{ redis: \"redis://127.0.0.1:\(server.port)/0\" }")
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        for count in 1...3 {
            let call = try device.call("strict", at: gateway)
            // Until the connection is made again the script is not even sent.
            _ = try gateway.poll { client in
                let answer = try call.exchange(on: client)
                #expect(answer.verdict == "503 store_unavailable")
                return calls.count >= count ? true : nil
            }
        }
        #expect(site.upstream.requests.isEmpty)
    }
}

private final class CallCount: @unchecked Sendable {
    private let lock = NSLock()
    private var value = 0

    var count: Int { lock.withLock { value } }
    func add() { lock.withLock { value += 1 } }
}
