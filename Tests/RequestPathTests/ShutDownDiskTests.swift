import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import Testing

@Suite(
    "A gateway whose registry's file system shuts down",
    .enabled(if: BuiltProgram.isBuilt && LoopFileSystem.isAllowed(.xfs)),
    .timeLimit(.minutes(30)))
struct ShutDownDiskTests {}

extension ShutDownDiskTests {
    @Test("goes on for cached keys, answers 503 for the rest, and does not start again")
    func shutDown() throws {
        let disk = try LoopFileSystem(.xfs)
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        site.configuration.registryPath = disk.path + "/registry.db"
        // Each worker has keys in a cache of its own, and only one is asked for the key before.
        site.configuration.workers = 1
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        func answer(_ route: String) throws -> HTTPMessage {
            try device.call(route, at: gateway).exchange(with: gateway)
        }
        #expect(try answer("strict").status == 200)
        #expect(try answer("durable").status == 200)
        try disk.shutDown()
        // The first requests meet the index of the log, which cannot be written any more.
        for _ in 0..<3 {
            #expect(try answer("durable").verdict == "503 store_unavailable")
            #expect(try site.enrol(site.device(), at: gateway).verdict == "503 store_unavailable")
        }
        for _ in 0..<10 { #expect(try answer("strict").status == 200) }
        try gateway.waitForReadiness(503)
        try gateway.waitForEvent("store_down")
        #expect(try answer("window").status == 200)
        _ = try gateway.terminate()
        let outcome = try BuiltProgram.run(["run", "-c", gateway.configurationPath])
        #expect(outcome.status != .exited(0))
        #expect(outcome.standardError.contains("Input/output error"), "\(outcome.standardError)")
    }

    @Test("goes on and loses nothing if the index of its log is cut short")
    func cutShort() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let devices = try (0..<2).map { _ in try site.enrolledDevice(at: gateway) }
        let registry = site.directory.path(of: "registry.db")
        #expect(truncate(registry + "-shm", 0) == 0)
        let isEnrolling = try gateway.poll { _ in
            try site.enrol(site.device(), at: gateway).status == 200 ? true : nil
        }
        #expect(isEnrolling)
        for device in devices {
            let answer = try device.call("durable", at: gateway).exchange(with: gateway)
            #expect(answer.status == 200)
        }
        _ = try gateway.terminate()
        try gateway.start()
        for device in devices {
            let answer = try device.call("durable", at: gateway).exchange(with: gateway)
            #expect(answer.status == 200)
        }
    }
}
