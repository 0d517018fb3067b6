import Foundation
import GatewayTesting
import Testing

extension Fault {
    static func flush(_ redis: RedisServer) -> Fault {
        Fault("FLUSHALL") { _ in try redis.command("FLUSHALL") }
    }

    static func stop(_ redis: RedisServer) -> Fault {
        Fault("SIGSTOP of Redis") { run in
            redis.stop()
            run.hold()
            redis.resume()
        }
    }

    /// Keys are thrown away while nobody looks, and the policy is right again. What was accepted
    /// comes again at once.
    static func evict(_ redis: RedisServer) -> Fault {
        Fault("eviction") { run in
            try redis.command("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
            try redis.command("CONFIG", "SET", "maxmemory", "1")
            try redis.command("SET", "filler", "x")
            try redis.command("CONFIG", "SET", "maxmemory", "0")
            try redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
            run.replayRecent()
            run.hold()
        }
    }

    static func kill(_ redis: RedisServer, name: String = "kill -9 of Redis") -> Fault {
        Fault(name) { run in
            try redis.kill()
            if Bool.random(using: &run.generator) { run.hold() }
            try redis.start()
        }
    }
}

extension FaultTests {
    @Suite("of one Redis")
    struct Redis {
        @Test("without persistence: killed, flushed, stopped, restored from a backup")
        func forgetful() throws {
            let redis = try RedisServer()
            let site = try FaultSite(counters: impatient(redis.port), admitsPhones: true)
            let empty = try redis.dump()
            site.configuration.workers = 2
            // In a long run what was spent is also forgotten in time.
            site.configuration.more.append("challenge: { ttl: 10s }")
            let gateways = [try site.start(), try site.start()]
            try FaultRun("Redis without persistence", site, gateways).run([
                Fault("kill -9 of Redis") { run in
                    if Bool.random(using: &run.generator) { run.hold() }
                    try redis.restart(from: empty)
                },
                Fault("an older dump") { run in
                    let dump = try redis.dump()
                    run.hold()
                    try redis.restart(from: dump)
                },
                Fault("kill -9 of Redis and a gateway") { run in
                    let gateway = run.anyGateway()
                    try redis.kill()
                    try gateway.kill()
                    try redis.start()
                    try gateway.start()
                },
                .flush(redis), .stop(redis), .evict(redis), .killGateway(), .stopGateway(),
            ])
        }

        @Test("with an append-only file: killed, and its last writes lost")
        func appending() throws {
            let redis = try RedisServer(["--appendonly", "yes", "--appendfsync", "everysec"])
            let site = try FaultSite(counters: impatient(redis.port), admitsPhones: true)
            let gateways = [try site.start(), try site.start()]
            let words = try redis.command("CONFIG", "GET", "dir").split(separator: "\n")
            let directory = "\(try #require(words.last))/appendonlydir"
            try FaultRun("Redis with an append-only file", site, gateways).run([
                .kill(redis),
                Fault("loss of the last writes") { run in
                    try redis.kill()
                    try Self.shorten(directory, using: &run.generator)
                    try redis.start()
                },
                .stop(redis), .killGateway(),
            ])
        }

        @Test("that forgets counters and not its incarnation is found out")
        func canary() throws {
            let redis = try RedisServer()
            let site = try FaultSite(counters: impatient(redis.port), admitsPhones: true)
            let gateways = [try site.start(), try site.start()]
            let violations = try FaultRun("forgotten counters", site, gateways).violations(of: [
                Fault("lost keys") { run in
                    try redis.command("EVAL", Self.forget, "0")
                    run.replayRecent()
                }
            ])
            #expect(violations.contains { $0.hasPrefix("seen twice") }, "\(violations)")
            let challenges = violations.filter { $0.hasPrefix("a challenge came twice") }
            #expect(challenges.contains { $0.contains("counter") }, "of Apple's devices")
            #expect(challenges.contains { !$0.contains("counter") }, "of phones")
        }

        private static let forget = """
            for _, name in ipairs(redis.call('KEYS', '*')) do
                if not name:find('incarnation$') then redis.call('DEL', name) end
            end
            """

        /// Takes up to half of the increments away, as a machine does that loses its power.
        private static func shorten(
            _ directory: String, using generator: inout SeededGenerator
        ) throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            for name in names where name.hasSuffix(".incr.aof") {
                let file = try #require(FileHandle(forUpdatingAtPath: "\(directory)/\(name)"))
                let size = try file.seekToEnd()
                try file.truncate(
                    atOffset: size - UInt64.random(in: 0...(size / 2), using: &generator))
                try file.close()
            }
        }
    }
}
