import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import SQLite
import Testing

/// The log of a registry that another process reads and does not let go.
@Suite("A held log of the registry", .timeLimit(.minutes(30)))
struct RegistryLogTests {}

extension RegistryLogTests {
    @Test("takes no durable counters beyond limits.registry_log; all else is served, and told")
    func held() throws {
        let site = try FaultSite()
        site.configuration.more.append("limits: { registry_log: 64MiB }")
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        #expect(try device.call("durable").exchange(with: gateway).verdict == "200")
        // This process, which is another than the gateway.
        let path = site.directory.path(of: "registry.db")
        let reader = try Connection(path: path)
        try reader.begin(.deferred)
        _ = try reader.integer("SELECT count(*) FROM keys")
        try Connection(path: path).execute(
            "CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(\(70 << 20)))")
        let event = try gateway.waitForEvent("registry_log_full")
        let words = "process \(ProcessInfo.processInfo.processIdentifier) ("
        #expect(event["level"]?.stringValue == "error")
        #expect(event["message"]?.stringValue?.contains(words) == true, "\(event)")
        #expect(try #require(try gateway.metric("sallyport_registry_log_bytes")) > Double(70 << 20))
        let index = gateway.accessLineCount
        let refused = try device.call("durable").exchange(with: gateway)
        #expect(refused.verdict == "503 store_unavailable")
        #expect(refused["Retry-After"] != nil)
        let line = try gateway.accessLine(from: index) {
            $0["reason"]?.stringValue == "store_unavailable"
        }
        #expect(line["detail"]?.stringValue == "registry_log")
        #expect(try gateway.admin("/status.json").bodyText.contains(#""registry_log""#))
        #expect(try gateway.admin("/readyz").status == 200)
        #expect(try device.call("strict", at: gateway).exchange(with: gateway).verdict == "200")
        _ = try site.enrolledDevice(at: gateway)
        reader.rollback()
        try gateway.waitForEvent("registry_log_short")
        try gateway.waitForMetric("sallyport_registry_log_bytes", 0)
        #expect(try device.call("durable").exchange(with: gateway).verdict == "200")
        #expect(try !gateway.admin("/status.json").bodyText.contains(#""registry_log""#))
    }
}
