import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

/// What becomes of accepted counters that the registry does not have yet, on disks that fail and
/// beside gateways of other users.
@Suite("Accepted counters and their disk", .timeLimit(.minutes(30)))
struct FloorDiskTests {}

extension FloorDiskTests {
    private static let mounts = Comment(rawValue: LoopFileSystem.needs)

    private static func accept(
        _ counters: [UInt32], _ device: SimulatedDevice, at gateway: GatewayProcess
    ) throws -> [String] {
        try counters.map { counter in
            device.counter = counter - 1
            return try device.call("strict", at: gateway).exchange(with: gateway).verdict
        }
    }

    /// A site whose registry is on a disk of its own.
    private static func site(
        on disk: LoopFileSystem, counters: String = "embedded"
    ) throws -> FaultSite {
        let site = try FaultSite(counters: counters)
        site.configuration.registryPath = disk.path + "/registry.db"
        return site
    }

    @Test(
        "a frozen disk holds up neither signed requests nor probes, and the gateway says so",
        .enabled(if: LoopFileSystem.isAllowed(), mounts), arguments: [false, true])
    func frozen(isInRedis: Bool) throws {
        let disk = try LoopFileSystem()
        let redis = isInRedis ? try RedisServer() : nil
        let site = try Self.site(
            on: disk, counters: redis?.counters ?? "embedded")
        let gateway = try site.start()
        defer { disk.thaw() }
        let device = try site.enrolledDevice(at: gateway)
        #expect(try Self.accept([1], device, at: gateway) == ["200"])
        try disk.freeze()
        // Past the moment at which the kernel begins to write what was stored.
        let accepted = try Self.accept(Array(2...200), device, at: gateway)
        #expect(accepted.allSatisfy { $0 == "200" })
        let told = try gateway.waitForEvent("floors_unkept")
        #expect(told["message"]?.stringValue?.contains("does not answer") == true)
        #expect(try gateway.metric("sallyport_floors_lag_seconds") ?? 0 > 1)
        #expect(try gateway.admin("/livez").status == 200)
        #expect(try Self.accept([201], device, at: gateway) == ["200"])
        disk.thaw()
        try gateway.waitForEvent("floors_kept")
        // Nothing is accepted again, whatever ended the process.
        try gateway.kill()
        try redis?.command("FLUSHALL")
        try gateway.start()
        #expect(
            try Self.accept([1, 100, 201], device, at: gateway)
                == Array(repeating: "401 assertion_replayed", count: 3))
        #expect(try Self.accept([202], device, at: gateway) == ["200"])
    }

    @Test(
        "a kill while the disk is frozen loses nothing that is in memory",
        .enabled(if: LoopFileSystem.isAllowed(), mounts))
    func killedFrozen() throws {
        let disk = try LoopFileSystem()
        let memory = try ScratchDirectory(inMemory: true)
        let site = try Self.site(
            on: disk, counters: "{ embedded: true, floors_directory: \(memory.path) }")
        let gateway = try site.start()
        defer { disk.thaw() }
        let device = try site.enrolledDevice(at: gateway)
        #expect(try Self.accept([1], device, at: gateway) == ["200"])
        try disk.freeze()
        #expect(try Self.accept([5, 9], device, at: gateway) == ["200", "200"])
        try gateway.waitForEvent("floors_unkept")
        gateway.current.kill()
        // The kernel lets the process go when the thread that writes can.
        disk.thaw()
        try gateway.current.waitForExit()
        // Without the copy on the disk: what is there may be all.
        for name in try FileManager.default.contentsOfDirectory(atPath: disk.path)
        where name.contains(".floors-") {
            try FileManager.default.removeItem(atPath: disk.path + "/" + name)
        }
        try gateway.start()
        #expect(
            try Self.accept([1, 5, 9], device, at: gateway)
                == Array(repeating: "401 assertion_replayed", count: 3))
    }

    @Test(
        "with on_floors_unkept: refuse, assertions get 503 while the disk is behind",
        .enabled(if: LoopFileSystem.isAllowed(), mounts))
    func refused() throws {
        let disk = try LoopFileSystem()
        let site = try Self.site(
            on: disk, counters: "{ embedded: true, on_floors_unkept: refuse }")
        let gateway = try site.start()
        defer { disk.thaw() }
        let device = try site.enrolledDevice(at: gateway)
        #expect(try Self.accept([1], device, at: gateway) == ["200"])
        try disk.freeze()
        #expect(try Self.accept([2], device, at: gateway) == ["200"])
        try gateway.waitForEvent("floors_unkept")
        let index = gateway.accessLineCount
        #expect(try Self.accept([3], device, at: gateway) == ["503 store_unavailable"])
        let line = try gateway.accessLine(from: index) {
            $0["reason"]?.stringValue == "store_unavailable"
        }
        #expect(line["detail"]?.stringValue == "floors_unkept")
        disk.thaw()
        try gateway.waitForEvent("floors_kept")
        #expect(try Self.accept([3], device, at: gateway) == ["200"])
    }

    @Test("a file of floors that is removed is made again, and a kill loses nothing")
    func removed() throws {
        let site = try FaultSite(counters: "{ embedded: true, floors_directory: off }")
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        #expect(try Self.accept([4], device, at: gateway) == ["200"])
        try gateway.waitForMetric("sallyport_floors_lag_seconds", 0)
        let path = try #require(Self.floorPaths(in: site.directory.path).first)
        try FileManager.default.removeItem(atPath: path)
        #expect(try Self.accept([7], device, at: gateway) == ["200"])
        try gateway.waitForMetric("sallyport_floors_lag_seconds", 0)
        #expect(try Self.floorPaths(in: site.directory.path) == [path])
        try gateway.restart(byKill: true)
        #expect(
            try Self.accept([4, 7], device, at: gateway)
                == Array(repeating: "401 assertion_replayed", count: 2))
    }

    private static func floorPaths(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory)
            .filter { $0.contains(".floors-") }.sorted().map { directory + "/" + $0 }
    }

    // MARK: two users

    private static let group = 4712
    private static func launcher(_ user: Int) -> [String] {
        ["setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups"]
    }

    /// False if other users cannot reach the program, as below a home directory.
    private static let canRunAsOthers: Bool = {
        guard geteuid() == 0, RedisServer.isInstalled else { return false }
        let words = launcher(4711) + ["test", "-x", BuiltProgram.sallyport]
        let outcome = try? ChildProcess.run(words[0], Array(words.dropFirst()))
        return outcome?.status == .exited(0)
    }()

    @Test(
        "two gateways of two users on one registry leave each other's floors alone",
        .enabled(if: canRunAsOthers, "needs root, Redis and a program that all may run"))
    func twoUsers() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        // A user who is not there may pass and write, by the group that the directory hands on.
        let directory = site.directory
        #expect(chown(directory.path, 0, gid_t(Self.group)) == 0)
        #expect(chmod(directory.path, 0o2775) == 0)
        let secrets = try ["challenge", "pseudonym"].map { name in
            let bytes = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) })
            let path = try directory.write(bytes.base64EncodedString() + "\n", to: name + ".key")
            #expect(chmod(path, 0o644) == 0)
            return "\(name)_key_file: \(path)"
        }
        site.configuration.more.append("secrets: { \(secrets.joined(separator: ", ")) }")
        func start(_ user: Int) throws -> GatewayProcess {
            try GatewayProcess(
                site.configuration, directory: directory, launcher: Self.launcher(user))
        }
        let first = try start(4711)
        try first.terminate()
        #expect(chmod(directory.path(of: "registry.db"), 0o660) == 0)
        try first.start()
        let device = try site.enrolledDevice(at: first)
        #expect(try Self.accept([1, 4], device, at: first) == ["200", "200"])
        let second = try start(4713)
        #expect(try Self.accept([8, 12], device, at: first) == ["200", "200"])
        try first.waitForMetric("sallyport_floors_lag_seconds", 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(names.count { $0.contains(".floors-") } == 2)
        #expect(!names.contains { $0.hasSuffix(".unread") })
        try first.kill()
        try redis.command("FLUSHALL")
        // The second takes over what the first has accepted, and then knows it.
        try waitWhile(Self.floorPaths(in: directory.path).count > 1)
        #expect(
            try Self.accept([1, 8, 12], device, at: second)
                == Array(repeating: "401 assertion_replayed", count: 3))
    }
}
