import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// What a gateway still knows after it went away, politely or not.
@Suite("A gateway that comes back", .timeLimit(.minutes(30)))
struct RestartTests {}

extension RestartTests {
    /// A device with accepted requests behind it, and one challenge that it has not used yet.
    private struct Scene {
        let site: FaultSite
        let gateway: GatewayProcess
        let device: SimulatedDevice
        let accepted: [SignedCall]
        let unused: SignedCall

        init(_ site: FaultSite) throws {
            self.site = site
            gateway = try site.start()
            device = try site.enrolledDevice(at: gateway)
            var accepted: [SignedCall] = []
            for _ in 0..<5 {
                for route in ["strict", "window"] {
                    accepted.append(try device.call(route, at: gateway))
                }
                accepted.append(try device.call("durable"))
                accepted.append(try device.call("body"))
            }
            self.accepted = accepted
            unused = try device.call("window", at: gateway)
            for call in accepted {
                let answer = try call.exchange(with: gateway)
                try #require(answer.status == 200, "\(answer.verdict) \(call.target)")
            }
        }

        /// The verdicts on everything that was accepted before, by route.
        func replay() throws -> [String: Set<String>] {
            var verdicts: [String: Set<String>] = [:]
            let client = try gateway.connect()
            for call in accepted {
                let answer = try call.exchange(on: client)
                verdicts[call.target, default: []].insert(answer.verdict)
                if answer.code == "challenge_expired" {
                    let next = try #require(answer["X-App-Attest-Challenge"])
                    #expect(!next.isEmpty)
                }
            }
            return verdicts
        }

        /// That the device goes on with its key, without attesting again.
        func expectServiceGoesOn() throws {
            for route in ["strict", "window", "durable", "body"] {
                let call = try device.call(route, at: gateway)
                #expect(try call.exchange(with: gateway).verdict == "200")
            }
            let seen = site.seenBodies
            #expect(seen.values.allSatisfy { $0 == 1 })
            let enrolments = try gateway.admin("/metrics").bodyText
                .split(separator: "\n").filter { $0.contains("attest/verify") }
            #expect(
                !enrolments.contains { $0.hasSuffix(" 1") && $0.contains("answered") },
                "nobody has to attest again")
        }
    }

    private static let replayed: Set = ["401 assertion_replayed"]
    private static let expired: Set = ["401 challenge_expired"]

    @Test("after kill -9 knows its keys and refuses everything from before")
    func killed() throws {
        let scene = try Scene(FaultSite())
        try scene.gateway.restart(byKill: true)
        #expect(
            try scene.replay() == [
                "/strict/it": Self.expired, "/window/it": Self.expired,
                "/durable/it": Self.replayed, "/body/it": Self.replayed,
            ])
        // A challenge of the life before is refused with a fresh one, and signing again passes.
        let refused = try scene.unused.exchange(with: scene.gateway)
        #expect(refused.verdict == "401 challenge_expired")
        #expect(refused["WWW-Authenticate"] == #"AppAttest error="challenge_expired""#)
        let next = try #require(refused["X-App-Attest-Challenge"])
        let again = try scene.device.call("strict", challenge: next)
        #expect(try again.exchange(with: scene.gateway).verdict == "200")
        try scene.expectServiceGoesOn()
    }

    @Test("after a clean stop refuses what it accepted, and takes challenges from before")
    func terminated() throws {
        let scene = try Scene(FaultSite())
        #expect(try scene.gateway.terminate() == .exited(0))
        try scene.gateway.start()
        #expect(
            try scene.replay() == [
                "/strict/it": Self.replayed, "/window/it": Self.replayed,
                "/durable/it": Self.replayed, "/body/it": Self.replayed,
            ])
        #expect(try scene.unused.exchange(with: scene.gateway).verdict == "200")
        try scene.expectServiceGoesOn()
    }

    @Test("after a clean stop, and with a longer life of challenges, refuses what it accepted")
    func longerLife() throws {
        let scene = try Scene(FaultSite())
        try scene.gateway.terminate()
        let text = try String(contentsOfFile: scene.gateway.configurationPath, encoding: .utf8)
        try (text + "challenge: { ttl: 1h }\n").write(
            toFile: scene.gateway.configurationPath, atomically: true, encoding: .utf8)
        try scene.gateway.start()
        #expect(try scene.replay()["/window/it"] == Self.replayed)
        try scene.expectServiceGoesOn()
    }

    private func acceptFour(_ device: SimulatedDevice, _ gateway: GatewayProcess) throws {
        for _ in 0..<4 {
            let call = try device.call("strict", at: gateway)
            #expect(try call.exchange(with: gateway).verdict == "200")
        }
    }

    /// Those counters once more, each under a fresh challenge.
    private func refuseFour(_ device: SimulatedDevice, _ gateway: GatewayProcess) throws {
        for counter: UInt32 in 0..<4 {
            device.counter = counter
            let call = try device.call("strict", at: gateway)
            #expect(try call.exchange(with: gateway).verdict == "401 assertion_replayed")
        }
    }

    @Test("after any end accepts no counter from before, under whichever challenge")
    func countersRise() throws {
        let site = try FaultSite()
        site.configuration.workers = 2
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        try acceptFour(device, gateway)
        for isKilled in [true, true, false, true] {
            try gateway.restart(byKill: isKilled)
            try refuseFour(device, gateway)
        }
        let next = try device.call("strict", at: gateway)
        #expect(try next.exchange(with: gateway).verdict == "200")
    }

    @Test(
        "killed and moved to Redis accepts no counter from before",
        .enabled(if: RedisServer.isInstalled))
    func movedToRedis() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        try acceptFour(device, gateway)
        try gateway.kill()
        let redis = try RedisServer()
        let own = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let moved = own.replacingOccurrences(
            of: "counters: embedded", with: "counters: \(redis.counters)")
        try #require(moved != own)
        try moved.write(toFile: gateway.configurationPath, atomically: true, encoding: .utf8)
        try gateway.start()
        try refuseFour(device, gateway)
        let next = try device.call("strict", at: gateway)
        #expect(try next.exchange(with: gateway).verdict == "200")
    }

    @Test(
        "killed together with Redis' memory accepts no counter from before",
        .enabled(if: RedisServer.isInstalled))
    func killedWithRedis() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        try acceptFour(device, gateway)
        try gateway.kill()
        try redis.command("FLUSHALL")
        try gateway.start()
        try refuseFour(device, gateway)
        let next = try device.call("strict", at: gateway)
        #expect(try next.exchange(with: gateway).verdict == "200")
    }

    @Test("accepts no counter from before a copy of its registry that is put in place")
    func backedUp() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        try acceptFour(device, gateway)
        try gateway.restart(byKill: true)
        let copy = site.directory.path(of: "copy.db")
        let backup = try BuiltProgram.run(
            ["keys", "backup", "-c", gateway.configurationPath, copy])
        #expect(backup.status == .exited(0), "\(backup.standardError)")
        try gateway.terminate()
        // As on another machine.
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: site.directory.path)
        where name.hasPrefix("registry.db") {
            try files.removeItem(atPath: site.directory.path(of: name))
        }
        try files.moveItem(atPath: copy, toPath: site.directory.path(of: "registry.db"))
        try gateway.start()
        try refuseFour(device, gateway)
        let next = try device.call("strict", at: gateway)
        #expect(try next.exchange(with: gateway).verdict == "200")
    }

    /// What may lie where a gateway expects its floors.
    private enum Stranger: CaseIterable {
        case garbage, otherVersion, directory, loop

        func take(_ path: String) throws {
            let files = FileManager.default
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try files.removeItem(atPath: path)
            switch self {
            case .garbage: bytes = Data(repeating: 0x5A, count: 1000)
            case .otherVersion: bytes[0] ^= 1
            case .directory:
                return try files.createDirectory(atPath: path, withIntermediateDirectories: false)
            case .loop:
                return try files.createSymbolicLink(
                    atPath: path, withDestinationPath: path)
            }
            try bytes.write(to: URL(fileURLWithPath: path))
        }
    }

    @Test("starts where its floors are no floors, and says so", arguments: Stranger.allCases)
    private func strangeFloors(_ stranger: Stranger) throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        try gateway.kill()
        let path = try #require(try Self.floorPaths(site).first)
        try stranger.take(path)
        try gateway.start()
        try gateway.waitForEvent("floors_unread")
        // Only what was read is known to be no floors.
        let place = stranger == .garbage || stranger == .otherVersion ? path + ".unread" : path
        #expect((try? FileManager.default.attributesOfItem(atPath: place)) != nil)
        device.counter = 9
        let call = try device.call("strict", at: gateway)
        #expect(try call.exchange(with: gateway).verdict == "200")
        // The new file holds it.
        try gateway.restart(byKill: true)
        device.counter = 9
        let again = try device.call("strict", at: gateway)
        #expect(try again.exchange(with: gateway).verdict == "401 assertion_replayed")
    }

    private static func floorPaths(_ site: FaultSite) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: site.directory.path)
            .filter { $0.contains(".floors-") }.map { site.directory.path(of: $0) }
    }

    @Test("starts where it cannot keep its floors, says so, and leaves the old ones as they are")
    func unkeptFloors() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let first = try device.call("strict", at: gateway)
        #expect(try first.exchange(with: gateway).verdict == "200")
        // The copy beside the registry has it.
        try gateway.waitForMetric("sallyport_floors_lag_seconds", 0)
        try gateway.kill()
        // Short enough for the names of files that are there, too long for the one of a new file.
        let long = String(repeating: "r", count: 228)
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: site.directory.path)
        where name.hasPrefix("registry.db") {
            try files.moveItem(
                atPath: site.directory.path(of: name),
                toPath: site.directory.path(of: long + name.dropFirst("registry.db".count)))
        }
        let own = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let moved = own.replacingOccurrences(of: "/registry.db", with: "/" + long)
        try moved.write(toFile: gateway.configurationPath, atomically: true, encoding: .utf8)
        let old = try Self.floorPaths(site)
        #expect(old.count == 1)
        for _ in 0..<2 {
            try gateway.start()
            try gateway.waitForEvent("floors_unkept")
            device.counter = 0
            let again = try device.call("strict", at: gateway)
            #expect(try again.exchange(with: gateway).verdict == "401 assertion_replayed")
            try gateway.kill()
            #expect(try Self.floorPaths(site) == old)
        }
    }

    @Test("after a clean stop and a kill refuses everything from before either")
    func terminatedThenKilled() throws {
        let scene = try Scene(FaultSite())
        try scene.gateway.restart()
        try scene.gateway.restart(byKill: true)
        let verdicts = try scene.replay()
        #expect(verdicts["/strict/it"] == Self.expired)
        #expect(verdicts["/durable/it"] == Self.replayed)
        try scene.expectServiceGoesOn()
    }

    @Test("keeps its counters in Redis through any end", .enabled(if: RedisServer.isInstalled))
    func redis() throws {
        let redis = try RedisServer()
        let scene = try Scene(FaultSite(redis: redis))
        for end in [GatewayProcess.kill, { gateway in { try gateway.terminate() } }] {
            try end(scene.gateway)()
            try scene.gateway.start()
            _ = try scene.gateway.challenge()
            #expect(
                try scene.replay() == [
                    "/strict/it": Self.replayed, "/window/it": Self.replayed,
                    "/durable/it": Self.replayed, "/body/it": Self.replayed,
                ])
        }
        #expect(try scene.unused.exchange(with: scene.gateway).verdict == "200")
        try scene.expectServiceGoesOn()
    }

    @Test("with a registry from a backup refuses what was accepted since, where challenges are")
    func backup() throws {
        let scene = try Scene(FaultSite())
        try scene.gateway.terminate()
        let registry = scene.site.directory.path(of: "registry.db")
        let backup = scene.site.directory.path(of: "backup.db")
        try FileManager.default.copyItem(atPath: registry, toPath: backup)
        try scene.gateway.start()
        let later = try scene.device.call("strict", at: scene.gateway)
        #expect(try later.exchange(with: scene.gateway).verdict == "200")
        try scene.gateway.terminate()

        try FileManager.default.removeItem(atPath: registry)
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: registry + suffix)
        }
        try FileManager.default.moveItem(atPath: backup, toPath: registry)
        try scene.gateway.start()
        #expect(try later.exchange(with: scene.gateway).verdict == "401 challenge_expired")
        #expect(try scene.unused.exchange(with: scene.gateway).verdict == "401 challenge_expired")
        #expect(try scene.replay()["/strict/it"] == Self.expired)
        try scene.expectServiceGoesOn()
    }

    @Test("says that another file was put in the registry's place while it ran")
    func replacedRegistry() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let registry = site.directory.path(of: "registry.db")
        try FileManager.default.copyItem(atPath: registry, toPath: registry + ".copy")
        #expect(rename(registry + ".copy", registry) == 0)
        let event = "\(try gateway.waitForEvent("registry_replaced"))"
        #expect(event.contains("run doctor"), "\(event)")
        try gateway.waitForReadiness(200)
    }

    @Test("killed in the middle of enrolments has every key that it acknowledged")
    func enrolments() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let challenge = try gateway.challenge()
        #expect(!challenge.isEmpty)
        let devices = try (0..<24).map { _ in try site.device() }
        let bodies = try devices.map { try site.attestation($0, gateway) }
        let port = gateway.port
        let process = gateway.current
        let acknowledged = try inParallel(4) { thread in
            var acknowledged: [Int] = []
            guard let client = try? RawClient(port: port) else { return acknowledged }
            for index in stride(from: thread, to: bodies.count, by: 4) {
                // In the middle: some are done, some on their way, some not begun.
                if index == bodies.count / 2 { process.kill() }
                let answer = try? client.exchange("POST", "/attest/verify", body: bodies[index])
                if answer?.status == 200 { acknowledged.append(index) }
            }
            return acknowledged
        }.joined()
        try process.waitForExit()
        try gateway.start()
        #expect(!acknowledged.isEmpty)
        for index in acknowledged {
            let call = try devices[index].call("strict", at: gateway)
            #expect(try call.exchange(with: gateway).verdict == "200")
        }
        // The others attest once more with the same object, and are then known too.
        for index in devices.indices {
            let answer = try gateway.exchange("POST", "/attest/verify", body: bodies[index])
            #expect(answer.status == 200)
        }
    }
}
