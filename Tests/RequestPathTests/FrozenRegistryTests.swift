import Foundation
import GatewayTesting
import JSON
import Testing

/// The file system of the registry and its floors, frozen as for a snapshot.
@Suite(
    "A gateway whose registry's disk is frozen",
    .enabled(
        if: BuiltProgram.isBuilt && LoopFileSystem.isAllowed(),
        Comment(rawValue: LoopFileSystem.needs)),
    .timeLimit(.minutes(30)))
struct FrozenRegistryTests {}

extension FrozenRegistryTests {
    @Test("known keys and probes are served all the while, and everything is after it")
    func everything() throws {
        let site = try FaultSite()
        let system = try LoopFileSystem(mebibytes: 64)
        site.configuration.registryPath = system.path + "/registry.db"
        site.configuration.workers = 2
        let gateway = try site.start(
            bodiesOn: system, timeouts: "body_file: 200ms, registry: 3s")
        let device = try site.enrolledDevice(at: gateway)
        #expect(
            try device.call("window", at: gateway).exchange(with: gateway).status == 200)
        // What was written is on the disk: the next write to the same page has to ask for it again.
        sync()
        try system.freeze()
        let large = [UInt8](repeating: 0x62, count: 256 * 1024)
        // Each accepted counter is a floor to be kept.
        for _ in 0..<20 {
            let signed = try device.call("window", at: gateway).exchange(with: gateway)
            #expect(signed.status == 200, "\(signed.verdict)")
            #expect(try gateway.exchange("GET", "/open/x").status == 200)
            #expect(try gateway.admin("/livez").status == 200)
        }
        let refused = try gateway.exchange("POST", "/open/x", body: large)
        #expect(refused.verdict == "503 gateway_busy")
        // A write of the registry has its bound.
        let durable = try device.call("durable", at: gateway).exchange(with: gateway)
        #expect(durable.verdict == "503 store_unavailable")
        // Readiness is the registry's business; the probe is answered in any case.
        #expect([200, 503].contains(try gateway.admin("/readyz").status))
        #expect(try gateway.admin("/metrics").status == 200)
        system.thaw()
        try gateway.waitForReadiness(200)
        let isServed = try gateway.poll { _ in
            let call = try device.call("durable", at: gateway).exchange(with: gateway)
            let body = try gateway.exchange("POST", "/open/x", body: large)
            return call.status == 200 && body.status == 200 ? true : nil
        }
        #expect(isServed)
        #expect(gateway.isUnharmed)
        #expect(try gateway.terminate() == .exited(0))
    }
}
