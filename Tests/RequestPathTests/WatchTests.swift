import Foundation
import GatewayTesting
import Testing

/// Files as Kubernetes mounts them: links to links, of which one is replaced for all of them.
@Suite("sallyport run --watch", .enabled(if: BuiltProgram.isBuilt))
struct WatchTests {
    private let directory: ScratchDirectory
    private let port = FreePort.find()
    private var configurationPath: String { directory.path(of: "sallyport.yaml") }

    init() throws {
        directory = try ScratchDirectory()
        for name in ["sallyport.yaml", "motd", "challenge-keys"] {
            try link(name, to: "..data/\(name)")
        }
    }
}

extension WatchTests {
    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: directory.path(of: name), withDestinationPath: target)
    }

    private var text: String {
        """
        workers: 1
        listeners: [{ bind: "127.0.0.1:\(port)" }]
        registry: { sqlite: registry.db }
        secrets: { challenge_key_file: challenge-keys }
        upstreams: { api: { servers: ["127.0.0.1:1"] } }
        routes:
          - name: all
            path: /*
            respond: { status: 200, body: "${file:motd}" }
            attest: { mode: "off" }

        """
    }

    /// What a new version of a ConfigMap does, in one step.
    private func mount(version: Int, text: String? = nil, motd: String) throws {
        let folder = directory.path(of: "..\(version)")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        try directory.write(text ?? self.text, to: "..\(version)/sallyport.yaml")
        try directory.write(motd, to: "..\(version)/motd")
        let key = Data((0..<32).map { UInt8($0 + version) }).base64EncodedString()
        try directory.write(key + "\n", to: "..\(version)/challenge-keys")
        try link("..data_tmp", to: "..\(version)")
        guard rename(directory.path(of: "..data_tmp"), directory.path(of: "..data")) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
    }

    private func motd() throws -> String {
        try RawClient(port: port).exchange("GET", "/").bodyText
    }

    @Test("files that a mount replaces are taken whole, and a bad configuration changes nothing")
    func mounted() throws {
        try mount(version: 1, motd: "one")
        let process = try ChildProcess(
            BuiltProgram.sallyport, ["run", "-c", configurationPath, "--watch"])
        func wait(_ event: String, from index: Int) throws -> String {
            try process.waitForLine(on: .standardError, from: index) {
                $0.contains("\"event\":\"\(event)\"")
            }
        }
        func lineCount() -> Int { process.lines(on: .standardError).count }
        _ = try wait("ready", from: 0)
        #expect(try motd() == "one")
        var index = lineCount()
        try mount(version: 2, motd: "two")
        let changed = try wait("files_changed", from: index)
        for name in ["sallyport.yaml", "motd", "challenge-keys"] {
            #expect(changed.contains(directory.path(of: name)), "\(changed)")
        }
        _ = try wait("reloaded", from: index)
        #expect(try motd() == "two")
        index = lineCount()
        try mount(version: 3, text: "listeners: [", motd: "three")
        _ = try wait("reload_failed", from: index)
        #expect(try motd() == "two")
        index = lineCount()
        try mount(version: 4, motd: "four")
        _ = try wait("reloaded", from: index)
        #expect(try motd() == "four")
        index = lineCount()
        // A file that the configuration names, written in place.
        try directory.write("five", to: "..4/motd")
        _ = try wait("reloaded", from: index)
        #expect(try motd() == "five")
        index = lineCount()
        try directory.write("no key", to: "..4/challenge-keys")
        #expect(try wait("reload_failed", from: index).contains("challenge-keys"))
        #expect(try motd() == "five")
        process.terminate()
        #expect(try process.waitForExit() == .exited(0))
    }
}
