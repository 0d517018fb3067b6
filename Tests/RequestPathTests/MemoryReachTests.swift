import Foundation
import GatewayTesting
import Testing

/// Keys are in the gateway's memory, which nobody but root has to see.
@Suite("The memory of a gateway", .enabled(if: getuid() == 0), .timeLimit(.minutes(30)))
struct MemoryReachTests {}

extension MemoryReachTests {
    /// Runs a command without any capability, as another user's processes run.
    private static let powerless = ["setpriv", "--bounding-set=-all"]

    /// Whether a process of the same user may look into it. The kernel asks the same before it
    /// writes a core dump.
    private static func isOpen(_ id: Int32) throws -> Bool {
        let outcome = try ChildProcess.run(
            powerless[0], powerless.dropFirst() + ["cat", "/proc/\(id)/environ"])
        #expect(
            outcome.status == .exited(0)
                || outcome.standardError.contains("Permission denied"), "\(outcome)")
        return outcome.status == .exited(0)
    }

    private static func gateway(coreLimit: Int) throws -> GatewayProcess {
        let site = try FaultSite(upstream: RecordingUpstream())
        return try GatewayProcess(
            site.configuration, directory: site.directory,
            launcher: powerless + ["sh", "-c", "ulimit -c \(coreLimit); exec \"$@\"", "sh"])
    }

    @Test("is closed to others and never dumped, unless the limit asks for core files")
    func dumps() throws {
        for (limit, isOpen) in [(0, false), (1, true)] {
            let gateway = try Self.gateway(coreLimit: limit)
            #expect(try Self.isOpen(gateway.current.processID) == isOpen, "limit \(limit)")
        }
    }
}
