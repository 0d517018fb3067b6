import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// A disk without room. It is a small tmpfs in a mount namespace of the gateway's own, so that it
/// is a real one and goes away with the gateway.
@Suite(
    "A gateway whose disk is full", .enabled(if: SmallDisk.isAllowed), .timeLimit(.minutes(30)))
struct StoreDiskTests {}

extension StoreDiskTests {
    @Test("answers 503 to enrolments, loses nothing, and resumes when there is room")
    func registry() throws {
        let site = try FaultSite()
        let disk = try SmallDisk(kibibytes: 1024, in: site.directory)
        site.configuration.registryPath = disk.path + "/registry.db"
        // The read of a key must not be hidden by the cache.
        site.configuration.more.append("key_cache: { records: 1 }")
        let gateway = try GatewayProcess(
            site.configuration, directory: site.directory, launcher: disk.launcher)
        var known = try (0..<3).map { _ in try site.enrolledDevice(at: gateway) }

        try disk.fill(of: gateway)
        var stranger = try site.device()
        var refusals = 0
        for _ in 0..<40 {
            // Some may still fit into what the log has reserved.
            let answer = try site.enrol(stranger, at: gateway)
            if answer.status == 200 {
                known.append(stranger)
                stranger = try site.device()
                continue
            }
            #expect(answer.verdict == "503 store_unavailable")
            #expect(answer["Retry-After"] == "1")
            refusals += 1
            if refusals == 3 { break }
        }
        #expect(refusals == 3)
        for device in known {
            let answer = try device.call("window", at: gateway).exchange(with: gateway)
            #expect(answer.status == 200, "reading goes on: \(answer.verdict)")
        }
        let durable = try known[0].call("durable")
        let verdict = try durable.exchange(with: gateway).verdict
        #expect(verdict == "503 store_unavailable" || verdict == "200")
        #expect(try gateway.exchange("GET", "/open/x").status == 200)

        try disk.free(of: gateway)
        let answer = try site.enrol(stranger, at: gateway)
        #expect(answer.status == 200, "\(answer.bodyText)")
        known.append(stranger)
        // What was refused for want of room was not counted; what was accepted is a replay.
        let again = try durable.exchange(with: gateway).verdict
        #expect(again == (verdict == "200" ? "401 assertion_replayed" : "200"))
        let listed = try keys(disk, gateway)
        #expect(listed == Set(known.map { $0.keyID.base64 }))
        #expect(gateway.isUnharmed)
    }

    @Test("is backed up to another disk, though the audit log has no room for the entry")
    func backup() throws {
        let site = try FaultSite()
        let disk = try SmallDisk(kibibytes: 1024, in: site.directory)
        site.configuration.registryPath = disk.path + "/registry.db"
        let gateway = try GatewayProcess(
            site.configuration, directory: site.directory, launcher: disk.launcher)
        _ = try site.enrolledDevice(at: gateway)
        try disk.fill(of: gateway)
        // What the log has reserved takes some entries.
        for number in 0..<1000 {
            let copy = site.directory.path(of: "copy-\(number).db")
            let words =
                disk.joining(gateway)
                + [BuiltProgram.sallyport, "keys", "backup", "-c", gateway.configurationPath, copy]
            let outcome = try ChildProcess.run(words[0], Array(words.dropFirst()))
            #expect(outcome.status == .exited(0), "\(outcome.standardError)")
            #expect(outcome.standardOutput == "\(copy): 1 key\n")
            if outcome.standardError.isEmpty { continue }
            #expect(
                outcome.standardError.hasPrefix(
                    "sallyport: the copy \(copy) is whole, but the audit log has no entry of it: "
                        + "registry \(disk.path)/registry.db: the disk is full"),
                "\(outcome.standardError)")
            return
        }
        Issue.record("the disk was never full")
    }

    /// The key ids that `sallyport keys list` finds on the disk of the running gateway.
    private func keys(_ disk: SmallDisk, _ gateway: GatewayProcess) throws -> Set<String> {
        let words =
            disk.joining(gateway)
            + [BuiltProgram.sallyport, "keys", "list", "-c", gateway.configurationPath]
        let outcome = try ChildProcess.run(words[0], Array(words.dropFirst()))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        return Set(KeyLines(outcome.standardOutput).keyIDs)
    }

    @Test("does not start without room for a registry, and says so")
    func start() throws {
        let site = try FaultSite()
        let disk = try SmallDisk(kibibytes: 16, in: site.directory)
        let configuration = """
            listeners: [{ bind: "127.0.0.1:\(FreePort.find())" }]
            registry: { sqlite: \(disk.path)/registry.db }
            upstreams: { api: { servers: ["127.0.0.1:9"] } }
            routes: [{ name: all, path: /*, upstream: api, attest: { mode: off } }]

            """
        let file = try site.directory.write(configuration, to: "small.yaml")
        let words = disk.launcher + [BuiltProgram.sallyport, "run", "-c", file]
        let outcome = try ChildProcess.run(words[0], Array(words.dropFirst()))
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.contains("registry"))
        #expect(outcome.standardError.contains("full"), "\(outcome.standardError)")
    }

    @Test("answers 503 to a body that its directory for bodies has no room for, and lives")
    func bodies() throws {
        let site = try FaultSite()
        let disk = try SmallDisk(kibibytes: 256, in: site.directory)
        site.configuration.more += [
            "limits: { temporary_directory: \(disk.path), body_memory: 1KiB, body: 4MiB }"
        ]
        let gateway = try GatewayProcess(
            site.configuration, directory: site.directory, launcher: disk.launcher)
        // Warm: what is opened once and stays open is open now.
        let small = [UInt8](repeating: 0x61, count: 100 * 1024)
        // Each of the threads for bodies has some of its own.
        for _ in 0..<4 {
            #expect(try gateway.exchange("POST", "/open/x", body: small).status == 200)
        }
        let descriptors = try gateway.fileDescriptorCount()
        let large = [UInt8](repeating: 0x62, count: 1024 * 1024)
        for _ in 0..<5 {
            #expect(try gateway.exchange("POST", "/open/x", body: small).status == 200)
            let refused = try gateway.exchange("POST", "/open/x", body: large)
            #expect(refused.verdict == "503 gateway_busy")
            #expect(refused["Retry-After"] == "1")
        }
        let seen = site.upstream.requests.map(\.body.count)
        #expect(seen == [Int](repeating: small.count, count: 9))
        try gateway.waitForEvent("body_file_failed")
        // The refused ones have given their files back.
        let after = try gateway.poll { _ in
            try gateway.fileDescriptorCount() <= descriptors + 4 ? true : nil
        }
        #expect(after)
        #expect(gateway.isUnharmed)
    }

    @Test("goes on serving when its access log has no room, counts the lines, and tears none")
    func log() throws {
        let site = try FaultSite()
        let disk = try SmallDisk(kibibytes: 64, in: site.directory)
        site.configuration.more.append("log: { access: \(disk.path)/access.log }")
        let gateway = try GatewayProcess(
            site.configuration, directory: site.directory, launcher: disk.launcher)
        let client = try gateway.connect()
        for _ in 0..<50 { #expect(try client.exchange("GET", "/open/x").status == 200) }
        try disk.fill(of: gateway)
        for _ in 0..<50 { #expect(try client.exchange("GET", "/open/x").status == 200) }
        let lostCount = try gateway.poll { _ in
            let count = try gateway.metric(#"sallyport_log_lines_dropped_total{log="access"}"#)
            return count.flatMap { $0 > 0 ? $0 : nil }
        }
        #expect(lostCount <= 100)
        try disk.free(of: gateway)
        #expect(try client.exchange("GET", "/open/last").status == 200)
        let text = try gateway.poll { _ in
            let text = try disk.text(of: gateway, "access.log")
            return text.contains("/open/last") ? text : nil
        }
        for line in text.split(separator: "\n") {
            #expect(try JSONValue.parse(String(line))["path"] != nil)
        }
        #expect(gateway.isUnharmed)
        #expect(try gateway.terminate() == .exited(0))
    }
}

/// A tmpfs that only the gateway sees, and this test through `/proc`.
struct SmallDisk {
    /// Where the gateway finds it.
    let path: String
    private let kibibytes: Int

    init(kibibytes: Int, in directory: ScratchDirectory) throws {
        path = directory.path(of: "disk")
        self.kibibytes = kibibytes
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
    }

    /// Mounts the disk in a namespace of its own and becomes the command that it is given.
    var launcher: [String] {
        Self.unshare + [
            "sh", "-c",
            "mount -t tmpfs -o size=\(kibibytes)k tmpfs '\(path)' && exec \"$@\"", "sh",
        ]
    }

    private static var unshare: [String] {
        getuid() == 0 ? ["unshare", "--mount"] : ["unshare", "--map-root-user", "--mount"]
    }

    static let isAllowed: Bool = {
        guard let directory = try? ScratchDirectory(),
            let disk = try? SmallDisk(kibibytes: 64, in: directory)
        else { return false }
        let words = disk.launcher + ["true"]
        return (try? ChildProcess.run(words[0], Array(words.dropFirst())))?.status == .exited(0)
    }()

    /// Runs the command that it is given where the gateway's files are.
    func joining(_ gateway: GatewayProcess) -> [String] {
        ["nsenter", "--target", "\(gateway.current.processID)", "--mount"]
            + (getuid() == 0 ? [] : ["--user", "--preserve-credentials"])
    }

    private func outsidePath(of gateway: GatewayProcess) -> String {
        "/proc/\(gateway.current.processID)/root\(path)"
    }

    /// Takes all the room there is.
    func fill(of gateway: GatewayProcess) throws {
        let descriptor = open(
            outsidePath(of: gateway) + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FaultSiteError("filler: errno \(errno)") }
        defer { close(descriptor) }
        let page = [UInt8](repeating: 0, count: 4096)
        while write(descriptor, page, page.count) > 0 {}
    }

    func text(of gateway: GatewayProcess, _ name: String) throws -> String {
        try String(contentsOfFile: outsidePath(of: gateway) + "/" + name, encoding: .utf8)
    }

    func free(of gateway: GatewayProcess) throws {
        try FileManager.default.removeItem(atPath: outsidePath(of: gateway) + "/filler")
    }
}
