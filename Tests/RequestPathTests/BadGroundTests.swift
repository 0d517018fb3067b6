import Foundation
import GatewayTesting
import Testing

/// What the gateway is given by its machine and its operator, when that is not as it should be.
@Suite("Bad ground", .enabled(if: BuiltProgram.isBuilt))
struct BadGroundTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
    }
}

extension BadGroundTests {
    /// The text of a configuration that is good.
    private func goodText() throws -> String {
        """
        listeners: [{ bind: "127.0.0.1:\(FreePort.find())" }]
        apps: [{ id: \(GatewayConfiguration.appID) }]
        registry: { sqlite: \(directory.path)/registry.db }
        upstreams: { api: { servers: ["127.0.0.1:\(upstream.port)"] } }
        routes: [{ name: all, path: /*, upstream: api, attest: { mode: "off" } }]

        """
    }

    /// Runs the gateway with a configuration that it must not start with.
    private func failure(
        _ change: (inout String) throws -> Void
    ) throws -> ChildProcess.Outcome {
        var text = try goodText()
        try change(&text)
        let path = try directory.write(text, to: "sallyport.yaml")
        return try BuiltProgram.run(["run", "-c", path])
    }

    private func expect(
        _ outcome: ChildProcess.Outcome, code: Int32, words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(outcome.status == .exited(code), sourceLocation: sourceLocation)
        for word in words {
            #expect(
                outcome.standardError.contains(word), "\(outcome.standardError)",
                sourceLocation: sourceLocation)
        }
        #expect(!outcome.standardError.contains("Fatal"), sourceLocation: sourceLocation)
    }

    @Test("a configuration with errors: 78, each with its place")
    func configuration() throws {
        let outcome = try failure { $0 += "lisetners: 1\nworkers: many\n" }
        expect(outcome, code: 78, words: "sallyport.yaml:6:1:", "listeners", "sallyport.yaml:7:")
        expect(try BuiltProgram.run(["run", "-c", directory.path(of: "none")]), code: 78)
        expect(try failure { $0 = "\u{0}\u{1}\u{2}" }, code: 78)
        expect(try failure { $0 = String(repeating: "[", count: 100_000) }, code: 78)
    }

    @Test("a port in use: 1, and which")
    func portInUse() throws {
        let outcome = try failure {
            $0 = $0.replacing(/bind: "[^"]+"/, with: "bind: \"127.0.0.1:\(upstream.port)\"")
        }
        expect(outcome, code: 1, words: "\(upstream.port)")
        #expect(try fileNames() == ["sallyport.yaml"])
        let second = try failure {
            $0 = $0.replacing(
                /listeners: .+/,
                with: """
                    listeners: [{ bind: "unix:\(directory.path)/api.sock" }]
                    admin: { bind: "127.0.0.1:\(upstream.port)" }
                    """)
        }
        expect(second, code: 1, words: "\(upstream.port)")
        #expect(try fileNames() == ["sallyport.yaml"])
    }

    @Test("a registry that cannot be opened: 1, and no listener leaves its socket behind")
    func registryMissing() throws {
        let outcome = try failure {
            $0 = $0.replacing(
                /bind: "[^"]+"/, with: "bind: \"unix:\(directory.path)/api.sock\""
            ).replacing("/registry.db", with: "/none/registry.db")
        }
        expect(outcome, code: 1, words: "registry: cannot make a file")
        #expect(try fileNames() == ["sallyport.yaml"])
    }

    private func fileNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
    }

    @Test("a root file that is missing or holds none: 78")
    func roots() throws {
        let missing = directory.path(of: "none.pem")
        expect(
            try failure { $0 += "trust: { extra_roots: [\(missing)] }\n" }, code: 78,
            words: "none.pem")
        let garbage = try directory.write("not a certificate", to: "garbage.pem")
        expect(
            try failure { $0 += "trust: { extra_roots: [\(garbage)] }\n" }, code: 78,
            words: "extra_roots[0]", "PEM")
    }

    @Test("a registry that is no database, or cannot be made: an error, and the file untouched")
    func registry() throws {
        let garbage = String(repeating: "this is no database. ", count: 500)
        let path = try directory.write(garbage, to: "garbage.db")
        let outcome = try failure {
            $0 = $0.replacing("\(directory.path)/registry.db", with: path)
        }
        expect(outcome, code: 1, words: "garbage.db")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == garbage)
        let nowhere = try failure {
            $0 = $0.replacing("\(directory.path)/registry.db", with: "\(directory.path)/no/r.db")
        }
        #expect(nowhere.status == .exited(1) || nowhere.status == .exited(78))
        #expect(nowhere.standardError.contains("/no"), "\(nowhere.standardError)")
    }

    @Test("a challenge key file that is missing or malformed: 78")
    func challengeKeys() throws {
        for text in [nil, "", "short", String(repeating: "A", count: 43) + "*"] {
            let path = directory.path(of: "keys")
            if let text { try directory.write(text, to: "keys") }
            let outcome = try failure { $0 += "secrets: { challenge_key_file: \(path) }\n" }
            #expect(
                outcome.status == .exited(78) || outcome.status == .exited(1),
                "\(String(describing: text))")
            #expect(outcome.standardError.contains("keys"), "\(outcome.standardError)")
        }
    }

    @Test("no room for a body's temporary file: that request fails, the next does not")
    func noRoomForBodies() throws {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        let gone = directory.path(of: "gone")
        try FileManager.default.createDirectory(atPath: gone, withIntermediateDirectories: false)
        configuration.more = ["limits: { temporary_directory: \(gone), body_memory: 1KiB }"]
        let gateway = try GatewayProcess(configuration)
        try FileManager.default.removeItem(atPath: gone)
        let body = [UInt8](repeating: 0x61, count: 100_000)
        let answer = try gateway.exchange("POST", "/", body: body)
        #expect([500, 503].contains(answer.status))
        #expect(try gateway.exchange("POST", "/", body: [1]).status == 200)
        #expect(upstream.requests.count == 1)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("too many connections wait, and are served in the end")
    func connectionLimit() throws {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["limits: { connections: 2 }"]
        let gateway = try GatewayProcess(configuration)
        let first = try gateway.connect()
        let second = try gateway.connect()
        #expect(try first.exchange("GET", "/1").status == 200)
        #expect(try second.exchange("GET", "/2").status == 200)
        let third = try gateway.connect()
        try third.send("GET", "/3")
        first.socket.close()
        #expect(try third.receive().status == 200)
    }

    @Test("check tells every error at once, print what is in effect, route where a request goes")
    func commands() throws {
        let gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        let path = gateway.configurationPath
        #expect(try BuiltProgram.run(["check", "-c", path]).status == .exited(0))
        let printed = try BuiltProgram.run(["check", "-c", path, "--print"])
        #expect(printed.standardOutput.contains("requests_per_connection"))
        let route = try BuiltProgram.run(["route", "-c", path, "GET", "http://x/api/%61?b"])
        #expect(route.standardOutput.contains("route api"))
        #expect(try BuiltProgram.run(["version"]).standardOutput.hasPrefix("sallyport "))
        #expect(
            try BuiltProgram.run(["doctor", "-c", path]).standardOutput.contains("extra_roots"))
    }

    @Test("a standard stream that is closed becomes no socket, which a log would be written to")
    func closedStreams() throws {
        let path = try directory.write(goodText(), to: "sallyport.yaml")
        let gateway = try ChildProcess(
            "/bin/sh", ["-c", "exec \"$0\" run -c \"$1\" <&- >&-", BuiltProgram.sallyport, path])
        try gateway.waitForLine(on: .standardError, containing: "\"event\":\"started\"")
        for descriptor in 0...1 {
            let target = try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(gateway.processID)/fd/\(descriptor)")
            #expect(target == "/dev/null")
        }
        gateway.terminate()
        #expect(try gateway.waitForExit() == .exited(0))
    }

    @Test("output that a full disk does not take is told")
    func fullOutput() throws {
        let outcome = try ChildProcess.run(
            "/bin/sh", ["-c", "exec \"$0\" schema > /dev/full", BuiltProgram.sallyport])
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.contains("standard output: no space left on device"))
    }
}
