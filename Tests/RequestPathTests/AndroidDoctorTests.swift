import Foundation
import GatewayTesting
import Testing

@Suite(
    "The doctor and the list of withdrawn Android certificates",
    .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct AndroidDoctorTests {
    private static let list =
        #"{"entries":{"a1":{"status":"REVOKED"},"b2":{"status":"SUSPENDED"}}}"#
    private static let name = "trust.android.revocation: "

    private let directory: ScratchDirectory
    private let server: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        server = try RecordingUpstream { _ in
            .response(body: AndroidDoctorTests.list)
        }
    }
}

extension AndroidDoctorTests {
    private var url: String { "http://127.0.0.1:\(server.port)/status" }

    private func configuration(
        _ revocation: String, apps: [String]? = nil
    ) -> GatewayConfiguration {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: server.port)
        let digest = String(repeating: "ab", count: 32)
        configuration.apps =
            apps ?? ["{ android: com.example.bank, signing_digests: [\(digest)] }"]
        configuration.extraRootPaths = []
        configuration.more = ["trust: { android: { revocation: \(revocation) } }"]
        return configuration
    }

    /// The line of `doctor` about the list, and its exit status.
    private func examine(
        _ revocation: String, apps: [String]? = nil
    ) throws -> (line: String?, status: ChildProcess.ExitStatus) {
        let text = configuration(revocation, apps: apps).text(
            port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path)
        return try examine(path: try directory.write(text, to: "doctor.yaml"))
    }

    private func examine(
        path: String
    ) throws -> (line: String?, status: ChildProcess.ExitStatus) {
        let outcome = try BuiltProgram.run(["doctor", "-c", path])
        let line = outcome.standardOutput.split(separator: "\n").map(String.init)
            .first { $0.contains(Self.name) }
        return (line, outcome.status)
    }

    @Test("it is fetched as the gateway does, and counted")
    func fetched() throws {
        let (line, status) = try examine("{ url: '\(url)', refresh: 30m }")
        #expect(
            line == "ok    \(Self.name)\(url), entries: 2; it is fetched again after 30m")
        #expect(status == .exited(0))
        #expect(server.requests.map(\.target) == ["/status"])
    }

    @Test("a list that a cache has kept for longer than max_age fails")
    func fetchedFromCache() throws {
        server.answer { _ in .response(fields: [("Age", "259200")], body: AndroidDoctorTests.list) }
        let (line, status) = try examine("{ url: '\(url)', max_age: 2d }")
        #expect(
            line?.hasPrefix("FAIL  \(Self.name)\(url), entries: 2, 3d old, which is") == true,
            "\(line ?? "")")
        #expect(status == .exited(1))
    }

    @Test("a list that cannot be fetched, or is none, fails", arguments: [404, 200])
    func unfetched(status: Int) throws {
        server.answer { _ in .response(status, body: "{}") }
        let (line, exit) = try examine("{ url: '\(url)' }")
        let reason =
            status == 404
            ? "the server answered 404"
            : "the answer is no revocation list: the list has no object \"entries\""
        #expect(
            line
                == "FAIL  \(Self.name)\(url): \(reason); a gateway that starts now enrols no "
                + "Android key")
        #expect(exit == .exited(1))
    }

    @Test("while the server is down, the list that the gateway has kept counts on")
    func kept() throws {
        let gateway = try GatewayProcess(
            configuration("{ url: '\(url)' }"), directory: directory)
        let kept = directory.path(of: "registry.db.android-revocations")
        let limit = ChildProcess.deadline
        // No event tells that a file was written.
        while !FileManager.default.fileExists(atPath: kept), Date() < limit {
            _ = try gateway.admin("/readyz")
        }
        try #require(FileManager.default.fileExists(atPath: kept))
        server.answer { _ in .response(503) }
        let (line, status) = try examine(path: gateway.configurationPath)
        let ending = #/the server answered 503; the gateway has kept a list, \dm old$/#
        #expect(line?.contains(ending) == true, "\(line ?? "")")
        #expect(status == .exited(1))
    }

    @Test("a file is read, with its age, and fails when it is too old")
    func file() throws {
        let path = try directory.write(Self.list, to: "status.json")
        let revocation = "{ file: '\(path)', max_age: 2d }"
        func age(_ seconds: Double) throws {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: path)
        }
        try age(3601)
        var (line, status) = try examine(revocation)
        #expect(line == "ok    \(Self.name)\(path), entries: 2, 60m old")
        #expect(status == .exited(0))
        try age(3 * 86_400 + 30)
        (line, status) = try examine(revocation)
        #expect(
            line?.hasPrefix("FAIL  \(Self.name)\(path), entries: 2, 3d old, which is") == true,
            "\(line ?? "")")
        #expect(status == .exited(1))
        try FileManager.default.removeItem(atPath: path)
        (line, status) = try examine(revocation)
        #expect(line?.hasPrefix("FAIL  \(Self.name)\(path)") == true, "\(line ?? "")")
        #expect(status == .exited(1))
    }

    @Test("it is warned of if it is off, and not asked for without an Android app")
    func off() throws {
        var (line, status) = try examine("off")
        #expect(line?.hasPrefix("warn  \(Self.name)off: ") == true, "\(line ?? "")")
        #expect(status == .exited(0))
        (line, status) = try examine(
            "{ url: '\(url)' }", apps: ["{ id: \(GatewayConfiguration.appID) }"])
        #expect(line == nil && status == .exited(0))
        #expect(server.requests.isEmpty)
    }
}
