import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "The file of crypto.library", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct SignatureLibraryTests {
    private let upstream: RecordingUpstream
    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        directory = try ScratchDirectory()
    }
}

extension SignatureLibraryTests {
    private func configuration(_ library: String) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["crypto: { library: \(library) }"]
        return configuration
    }

    private func outcome(_ command: String, _ library: String) throws -> ChildProcess.Outcome {
        let path = try directory.write(
            configuration(library).text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "\(command).yaml")
        return try BuiltProgram.run([command, "-c", path])
    }

    /// The lines of `doctor` about the library and the signatures.
    private func examine(_ library: String) throws -> [String] {
        try outcome("doctor", library).standardOutput.split(separator: "\n").map(String.init)
            .filter { $0.contains("crypto.library: ") || $0.contains("signatures: ") }
    }

    private func warnings(_ library: String) throws -> [String] {
        try examine(library).filter { $0.hasPrefix("warn  crypto.library: ") }
    }

    private func warning(of place: String) -> String {
        "warn  crypto.library: \(place) can be changed by all users: chmod o-w \(place)"
    }

    private func setMode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func makeFolder(_ name: String) throws -> String {
        let path = directory.path(of: name)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        return path
    }

    @Test("is told of if all users may change it, or if it is none", arguments: [0o646, 0o1666])
    func open(_ mode: Int) throws {
        let path = try directory.write("no library", to: "library.so")
        try setMode(0o644, of: path)
        #expect(try warnings(path) == [])
        try setMode(mode, of: path)
        #expect(try warnings(path) == [warning(of: path)])
        let signatures = try examine(path).first { $0.hasPrefix("warn  signatures: ") }
        #expect(signatures?.contains("\(path): is not a library, or not a whole one") == true)
        let check = try outcome("check", path)
        #expect(check.status == .exited(0))
        #expect(
            check.standardError.contains(
                "crypto.library: \(path): is not a library, or not a whole one; signatures are"))
    }

    /// Also where a library beside it, or a folder above it, is what they may change.
    @Test("is not loaded by the doctor while all users may change what is loaded")
    func openAround() throws {
        let folder = try makeFolder("outer/inner")
        let library = folder + "/library.so"
        // The doctor would end if it loaded this one.
        try FileManager.default.moveItem(
            atPath: StandInLibrary.make(.crashing, in: directory), toPath: library)
        let runtime = folder + "/libimf.so"
        try "".write(toFile: runtime, atomically: false, encoding: .utf8)
        let link = try makeFolder("links") + "/library.so"
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: "../outer/inner/library.so")
        for place in [runtime, folder, directory.path(of: "outer")] {
            try setMode(0o777, of: place)
            for path in [library, link] where place != runtime || path == library {
                #expect(try warnings(path) == [warning(of: place)])
                #expect(
                    try examine(path).last
                        == "warn  signatures: not tried: all users can change what would be loaded")
            }
            try setMode(0o755, of: place)
        }
        // In a sticky directory each user changes what is their own.
        try setMode(0o1777, of: folder)
        #expect(try warnings(library) == [])
    }

    @Test("is named before it is loaded, for it may end or hold whoever loads it")
    func crashing() throws {
        let path = try StandInLibrary.make(.crashing, in: directory)
        let doctor = try outcome("doctor", path)
        #expect(doctor.status == .signalled(SIGILL))
        #expect(
            doctor.standardOutput.split(separator: "\n").last.map(String.init)
                == "ok    crypto.library: \(path) is loaded next; if nothing follows, its code has "
                + "ended or holds this program")
        let run = try outcome("run", path)
        #expect(run.status == .signalled(SIGILL))
        let events = run.standardError.split(separator: "\n").compactMap {
            try? JSONValue.parse(String($0))
        }
        let last = try #require(events.last, "\(run.standardError)")
        #expect(last["event"]?.stringValue == "signature_library_loading")
        #expect(last["message"]?.stringValue?.hasPrefix(path + " ") == true)
    }

    @Test("that cannot be used is a problem of the status page, and counted for the alarm")
    func unusable() throws {
        let path = try StandInLibrary.make(.alwaysValid, in: directory)
        let gateway = try GatewayProcess(configuration(path))
        _ = try gateway.waitForEvent("signature_library_unusable")
        let page = try JSONValue.parse(try gateway.admin("/status.json").bodyText)
        let problem = try #require(
            page["problems"]?.arrayValue?.first {
                $0["name"]?.stringValue == "signature_library_unusable"
            })
        #expect(problem["level"]?.stringValue == "warning")
        #expect("\(problem)".contains("failed the test of known answers"))
        try gateway.waitForMetric(
            "sallyport_events_total{event=\"signature_library_unusable\"}", 1)
    }

    @Test("that needs a damaged library beside it is not said to lack it")
    func damagedRuntime() throws {
        let path = try StandInLibrary.make(in: directory, needing: "libimf.so")
        #expect(try examine(path).last?.hasPrefix("ok    signatures: ") == true)
        let runtime = try directory.write("no library", to: "libimf.so")
        let line = try examine(path).last
        #expect(line?.hasPrefix("warn  signatures: ") == true)
        #expect(
            line?.contains(": \(runtime): is not a library, or not a whole one") == true, "\(line)")
    }
}
