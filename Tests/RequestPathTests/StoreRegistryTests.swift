import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// A registry file that is damaged, foreign, not writable, in use or not there.
@Suite("A gateway whose registry is unfit", .timeLimit(.minutes(30)))
struct StoreRegistryTests {}

extension StoreRegistryTests {
    /// The outcome of `sallyport run` on a registry at `path`.
    private static func run(
        registry path: String, in directory: ScratchDirectory, counters: String = "embedded",
        as launcher: [String] = []
    ) throws -> ChildProcess.Outcome {
        let configuration = """
            listeners: [{ bind: "127.0.0.1:\(FreePort.find())" }]
            apps: [{ id: \(GatewayConfiguration.appID) }]
            registry: { sqlite: \(path) }
            counters: \(counters)
            upstreams: { api: { servers: ["127.0.0.1:9"] } }
            routes: [{ name: all, path: /*, upstream: api, attest: { mode: enforce } }]

            """
        let file = try directory.write(configuration, to: "unfit.yaml")
        let words = launcher + [BuiltProgram.sallyport, "run", "-c", file]
        return try ChildProcess.run(words[0], Array(words.dropFirst()))
    }

    /// A registry with a key in it, closed cleanly.
    private static func makeRegistry(in directory: ScratchDirectory) throws -> [UInt8] {
        let site = try FaultSite()
        let gateway = try site.start()
        _ = try site.enrolledDevice(at: gateway)
        try gateway.terminate()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: site.directory.path + "/registry.db"))
        try directory.write(Array(bytes), to: "registry.db")
        return Array(bytes)
    }

    private static func expectRefusal(
        _ outcome: ChildProcess.Outcome, naming words: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(outcome.status == .exited(1), sourceLocation: sourceLocation)
        for word in words {
            #expect(
                outcome.standardError.lowercased().contains(word.lowercased()),
                "\(outcome.standardError)",
                sourceLocation: sourceLocation)
        }
        #expect(
            outcome.standardError.split(separator: "\n").count == 1, "one clear line",
            sourceLocation: sourceLocation)
    }

    @Test(
        "says so and stops, and leaves the file as it is",
        arguments: ["random", "truncated", "cut", "empty", "zeroes", "page", "text", "header"])
    func damaged(kind: String) throws {
        let directory = try ScratchDirectory()
        var bytes = try Self.makeRegistry(in: directory)
        var generator = SeededGenerator(UInt64(kind.utf8.reduce(0) { $0 + Int($1) }))
        switch kind {
        case "random": bytes = bytes.map { _ in UInt8.random(in: 0...255, using: &generator) }
        case "truncated": bytes.removeLast(bytes.count / 2)
        case "cut": bytes.removeLast(100)
        case "empty": bytes = []
        case "zeroes": bytes = [UInt8](repeating: 0, count: bytes.count)
        case "page": for index in 4096..<min(8192, bytes.count) { bytes[index] = 0xA5 }
        case "text": bytes = Array("key_id,public_key\n1,2\n".utf8)
        default: for index in 0..<100 { bytes[index] ^= 0xFF }
        }
        let path = try directory.write(bytes, to: "registry.db")
        let outcome = try Self.run(registry: path, in: directory)
        Self.expectRefusal(outcome, naming: ["sallyport: registry", path])
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
        // Nor does a tool of ours touch it.
        let export = try BuiltProgram.run(
            ["keys", "export", "-c", directory.path(of: "unfit.yaml")])
        #expect(export.status == .exited(1))
        #expect(export.standardError.contains(path))
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
    }

    @Test("refuses the database of another program and of a later version")
    func foreign() throws {
        let directory = try ScratchDirectory()
        let path = directory.path(of: "registry.db")
        _ = try Self.makeRegistry(in: directory)
        for (statement, words) in [
            ("PRAGMA user_version = 99", ["later version"]),
            ("PRAGMA application_id = 7", ["another program"]),
        ] {
            try Self.sqlite(path, statement)
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            Self.expectRefusal(try Self.run(registry: path, in: directory), naming: words)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    private static func sqlite(_ path: String, _ statement: String) throws {
        // The two marks are big-endian words of the first page; nothing else is needed to change
        // them, and no SQLite shell either.
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let isVersion = statement.contains("user_version")
        try handle.seek(toOffset: isVersion ? 60 : 68)
        try handle.write(contentsOf: Data([0, 0, 0, isVersion ? 99 : 7]))
        try handle.close()
    }

    @Test("refuses a path that is a directory, lies in a missing one, or has lost its database")
    func places() throws {
        let directory = try ScratchDirectory()
        let missing = directory.path(of: "missing/registry.db")
        Self.expectRefusal(
            try Self.run(registry: missing, in: directory),
            naming: [directory.path(of: "missing"), "no such file or directory"])
        Self.expectRefusal(
            try Self.run(registry: directory.path, in: directory), naming: ["not a regular file"])
        try directory.write("left behind", to: "registry.db-wal")
        Self.expectRefusal(
            try Self.run(registry: directory.path(of: "registry.db"), in: directory),
            naming: ["registry.db-wal", "without its database"])
        #expect(!FileManager.default.fileExists(atPath: directory.path(of: "registry.db")))
    }

    /// Root may write anything: the gateway runs as somebody else then.
    private static let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    private static let mayBeNobody: Bool = {
        guard getuid() == 0 else { return true }
        let words = nobody + [BuiltProgram.sallyport, "version"]
        return (try? ChildProcess.run(words[0], Array(words.dropFirst())))?.status == .exited(0)
    }()

    @Test(
        "refuses a file or a directory that it may not write",
        .enabled(if: StoreRegistryTests.mayBeNobody))
    func readOnly() throws {
        let directory = try ScratchDirectory()
        let bytes = try Self.makeRegistry(in: directory)
        let path = directory.path(of: "registry.db")
        let launcher = getuid() == 0 ? Self.nobody : []
        for (fileMode, directoryMode) in [(0o444, 0o755), (0o444, 0o777), (0o400, 0o755)] {
            chmod(path, mode_t(fileMode))
            // The configuration is written first: the directory may be closed afterwards.
            try directory.write("", to: "unfit.yaml")
            chmod(directory.path, mode_t(directoryMode))
            let outcome = try Self.run(registry: path, in: directory, as: launcher)
            chmod(directory.path, 0o700)
            Self.expectRefusal(outcome, naming: [path, "write"])
            chmod(path, 0o600)
            #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
        }
        // Nothing there yet, and no right to make it.
        let fresh = try ScratchDirectory()
        try fresh.write("", to: "unfit.yaml")
        chmod(fresh.path, 0o555)
        let outcome = try Self.run(
            registry: fresh.path(of: "registry.db"), in: fresh, as: launcher)
        chmod(fresh.path, 0o700)
        Self.expectRefusal(outcome, naming: [fresh.path, "permission denied"])
    }

    @Test("lets one gateway alone use a registry with embedded counters")
    func second() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let path = site.directory.path(of: "registry.db")
        for _ in 0..<2 {
            let outcome = try Self.run(registry: path, in: site.directory)
            Self.expectRefusal(
                outcome, naming: ["another gateway", "\(gateway.current.processID)", "redis"])
        }
        // The first one has noticed nothing, and a clean stop is still one.
        let call = try device.call("strict", at: gateway)
        #expect(try call.exchange(with: gateway).status == 200)
        let unused = try device.call("strict", at: gateway)
        try gateway.restart()
        #expect(try call.exchange(with: gateway).verdict == "401 assertion_replayed")
        #expect(try unused.exchange(with: gateway).status == 200)
    }

    @Test("that breaks while it runs: known keys go on, the rest is 503, and nothing is unknown")
    func brokenWhileRunning() throws {
        let site = try FaultSite()
        site.configuration.more.append("key_cache: { records: 1 }")
        let gateway = try site.start()
        let devices = [
            try site.enrolledDevice(at: gateway), try site.enrolledDevice(at: gateway),
        ]
        let path = site.directory.path(of: "registry.db")
        let hidden = site.directory.path(of: "hidden.db")
        try FileManager.default.moveItem(atPath: path, toPath: hidden)
        for _ in 0..<3 {
            for device in devices {
                let answer = try device.call("window", at: gateway).exchange(with: gateway)
                #expect(
                    answer.status == 200 || answer.verdict == "503 store_unavailable",
                    "\(answer.verdict)")
            }
            let unknown = try site.device()
            let answer = try unknown.call("window", at: gateway).exchange(with: gateway)
            #expect(answer.verdict == "503 store_unavailable")
            #expect(try site.enrol(unknown, at: gateway).verdict == "503 store_unavailable")
            #expect(try gateway.exchange("GET", "/open/x").status == 200)
        }
        try gateway.waitForReadiness(503)
        #expect(!FileManager.default.fileExists(atPath: path), "no empty registry was made")
        try FileManager.default.moveItem(atPath: hidden, toPath: path)
        try gateway.waitForReadiness(200)
        for device in devices {
            let answer = try device.call("window", at: gateway).exchange(with: gateway)
            #expect(answer.status == 200, "\(answer.verdict)")
        }
        _ = try site.enrolledDevice(at: gateway)
        #expect(gateway.isUnharmed)
    }
}
