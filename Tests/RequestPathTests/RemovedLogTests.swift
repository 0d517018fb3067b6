import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import Testing

@Suite(
    "A gateway whose registry's log is removed", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct RemovedLogTests {}

extension RemovedLogTests {
    @Test("says so, loses nothing, and hears of a revocation that comes right after it")
    func removed() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let devices = try (0..<2).map { _ in try site.enrolledDevice(at: gateway) }
        for device in devices {
            #expect(try device.call("strict", at: gateway).exchange(with: gateway).status == 200)
        }
        let registry = site.directory.path(of: "registry.db")
        for suffix in ["-wal", "-shm"] {
            try FileManager.default.removeItem(atPath: registry + suffix)
        }
        let outcome = try BuiltProgram.run(
            ["keys", "revoke", "-c", gateway.configurationPath, devices[0].keyID.base64])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        try gateway.waitForEvent("registry_replaced")
        let verdict = try gateway.poll { client in
            let challenge = try client.exchange("GET", "/assert/challenge").bodyText
            let answer = try devices[0].call("window", challenge: challenge).exchange(on: client)
            return ["200", "503 store_unavailable"].contains(answer.verdict) ? nil : answer.verdict
        }
        #expect(verdict == "403 key_revoked")
        try gateway.waitForReadiness(200)
        #expect(try devices[1].call("strict", at: gateway).exchange(with: gateway).status == 200)
        try gateway.restart()
        let revoked = try devices[0].call("strict", at: gateway).exchange(with: gateway)
        #expect(revoked.verdict == "403 key_revoked")
        #expect(try devices[1].call("strict", at: gateway).exchange(with: gateway).status == 200)
    }
}
