import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

/// What the event log says of counters that a stop keeps for the next start, or does not.
@Suite("Embedded counters from a stop to the next start", .timeLimit(.minutes(30)))
struct KeptCounterTests {}

extension KeptCounterTests {
    private static func message(_ event: JSONValue) -> String {
        event["message"]?.stringValue ?? ""
    }

    @Test("a clean stop says that it keeps them, and the start after it that they go on")
    func kept() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let call = try device.call("strict", at: gateway)
        #expect(try call.exchange(with: gateway).verdict == "200")
        let unused = try device.call("strict", at: gateway)
        try gateway.terminate()
        let kept = Self.message(try gateway.waitForEvent("counters_kept"))
        #expect(kept.hasPrefix("the counters of 1 key are kept for the next start: "))
        try gateway.start()
        let resumed = Self.message(try gateway.waitForEvent("counters_resumed"))
        #expect(resumed == "the counters of 1 key go on from the last stop")
        #expect(try call.exchange(with: gateway).verdict == "401 assertion_replayed")
        #expect(try unused.exchange(with: gateway).verdict == "200")
    }

    @Test("a stop that cannot keep them says so, and the start after it why apps sign again")
    func unkept() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let unused = try device.call("strict", at: gateway)
        let obstacle = site.directory.path(of: "registry.db.counters.draft")
        try FileManager.default.createDirectory(
            atPath: obstacle + "/full", withIntermediateDirectories: true)
        try gateway.terminate()
        let unkept = try gateway.waitForEvent("counters_unkept")
        #expect(unkept["level"]?.stringValue == "error")
        #expect(Self.message(unkept).contains("registry.db.counters: file exists"))
        try FileManager.default.removeItem(atPath: obstacle)
        try gateway.start()
        let unresumed = Self.message(try gateway.waitForEvent("counters_unresumed"))
        #expect(unresumed.contains("each app signs once more: the last stop could not keep them"))
        #expect(unresumed.contains("registry.db.counters: file exists"))
        #expect(try unused.exchange(with: gateway).verdict == "401 challenge_expired")
        try gateway.restart(byKill: true)
        let killed = Self.message(try gateway.waitForEvent("counters_unresumed"))
        #expect(killed.contains("was killed"))
    }
}
