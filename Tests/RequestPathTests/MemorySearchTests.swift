import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// What a core dump of the gateway would give away, found out by searching it.
@Suite(
    "Secrets in the memory of a gateway", .enabled(if: getuid() == 0), .timeLimit(.minutes(30)))
final class MemorySearchTests {
    private let site: FaultSite
    private let apiPort = FreePort.find()

    init() throws { site = try FaultSite() }
}

extension MemorySearchTests {
    private func secrets() throws -> MemorySecrets {
        let secrets = try MemorySecrets(in: site.directory)
        secrets.add(to: &site.configuration, apiPort: apiPort)
        return secrets
    }

    /// The forms of a secret that are there.
    private func found(
        _ forms: [MemorySecrets.Form], in gateway: GatewayProcess
    ) throws -> [String] {
        let image = try MemoryImage(of: gateway.current)
        return forms.filter { image.contains($0.bytes) }.map(\.name)
    }

    @Test("texts of files and decoded keys are gone once the gateway runs; what it uses is there")
    func started() throws {
        let secrets = try secrets()
        let gateway = try site.start()
        // That the search finds what is there shows that the rest is not.
        #expect(try found(secrets.held, in: gateway) == secrets.held.map(\.name))
        #expect(try found(secrets.passing, in: gateway) == [])
    }

    @Test("what a reload has replaced is gone, used or not")
    func reloaded() throws {
        let old = try secrets()
        let gateway = try site.start()
        try old.use(gateway, apiPort: apiPort)
        site.configuration.more = []
        let new = try secrets()
        #expect(try gateway.reload(site.configuration)["event"]?.stringValue == "reloaded")
        try new.use(gateway, apiPort: apiPort)
        // Workers take the new keys one after another, and the last connection lets go of the old.
        let limit = ChildProcess.deadline
        while try !found(old.held, in: gateway).isEmpty, Date() < limit { _ = poll(nil, 0, 50) }
        #expect(try found(old.held, in: gateway) == [])
        #expect(try found(new.held, in: gateway) == new.held.map(\.name))
    }

    /// Whether a core lands in the working directory: elsewhere a program is given it, or it lies
    /// where other tests would be in the way.
    private static let isCoreHere: Bool = {
        let pattern = try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)
        return pattern.map { !$0.hasPrefix("|") && !$0.contains("/") } ?? false
    }()

    /// Starts a gateway under a limit of core files, has it end as a fault would, and returns the
    /// cores that it left. `raising`: takes the limit away while it runs.
    private func cores(limit: String, raising: Bool) throws -> [String] {
        let folder = site.directory.path(of: "limit-\(limit)")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        let gateway = try GatewayProcess(
            site.configuration, directory: site.directory,
            launcher: [
                // Else a handler of Swift's would outlive a signal that somebody sent.
                "env", "-C", folder, "SWIFT_BACKTRACE=enable=no", "sh", "-c",
                "ulimit -Sc \(limit); exec \"$@\"", "sh",
            ])
        if raising {
            let outcome = try ChildProcess.run(
                "prlimit", ["--core=unlimited:", "--pid", "\(gateway.current.processID)"])
            #expect(outcome.status == .exited(0), "\(outcome)")
        }
        gateway.current.send(signal: SIGABRT)
        #expect(try gateway.current.waitForExit() == .signalled(SIGABRT))
        return try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
    }

    @Test(
        "a gateway that dies leaves no core; the one that the limit asks for has the secrets",
        .enabled(if: isCoreHere, "the kernel puts cores elsewhere"))
    func cores() throws {
        let secrets = try secrets()
        let asked = try cores(limit: "unlimited", raising: false)
        try #require(asked.count == 1)
        let core = try MemoryImage(core: asked[0])
        #expect(secrets.held.allSatisfy { core.contains($0.bytes) })
        #expect(!secrets.passing.contains { core.contains($0.bytes) })
        // The limit alone would not be enough: it does not hold for cores that are piped.
        #expect(try cores(limit: "0", raising: true) == [])
    }
}
