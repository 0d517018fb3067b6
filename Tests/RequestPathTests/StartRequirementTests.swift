import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("What stops a start", .enabled(if: BuiltProgram.isBuilt))
struct StartRequirementTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
    }
}

extension StartRequirementTests {
    private func outcomes(
        _ change: (inout GatewayConfiguration) throws -> Void
    ) throws -> (check: ChildProcess.Outcome, doctor: ChildProcess.Outcome) {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        try change(&configuration)
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "start.yaml")
        let check = try BuiltProgram.run(["check", "-c", path])
        return (check, try BuiltProgram.run(["doctor", "-c", path]))
    }

    @Test("check and doctor find a challenge key file that is missing or malformed")
    func challengeKeys() throws {
        let path = directory.path(of: "keys")
        for text in [nil, "short"] {
            if let text { try directory.write(text, to: "keys") }
            let (check, doctor) = try outcomes {
                $0.more = ["secrets: { challenge_key_file: \(path) }"]
            }
            #expect(check.status == .exited(78))
            #expect(check.standardError.contains("challenge_key_file: \(path)"))
            #expect(doctor.status == .exited(1))
        }
        // One that the gateway has made itself.
        try directory.write("short", to: "registry.db.challenge-key")
        #expect(try outcomes { _ in }.check.status == .exited(78))
    }

    @Test(
        "a challenge key file that only root can read is told with what to do",
        .enabled(if: Self.isRoot))
    func unreadable() throws {
        try directory.write("short", to: "keys")
        chmod(directory.path, 0o777)
        chmod(directory.path(of: "keys"), 0o600)
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.extraRootPaths = []
        configuration.more = ["secrets: { challenge_key_file: \(directory.path(of: "keys")) }"]
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "start.yaml")
        chmod(path, 0o644)
        let start = try ChildProcess.run(
            "setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", BuiltProgram.sallyport]
                + ["run", "-c", path])
        #expect(start.status != .exited(0))
        let words = "keys: permission denied: let the gateway's user read it, `chgrp sallyport`"
        #expect(start.standardError.contains(words), "\(start.standardError)")
    }

    @Test(
        "a port that takes a capability is refused with the two ways to get it",
        .enabled(if: Self.isRoot && Self.lowPort != nil))
    func capability() throws {
        let port = try #require(Self.lowPort)
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.binds = ["127.0.0.1:\(port)"]
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "start.yaml")
        for command in ["run", "doctor"] {
            let outcome = try ChildProcess.run(
                "setpriv",
                ["--bounding-set=-net_bind_service", BuiltProgram.sallyport, command, "-c", path])
            #expect(outcome.status == .exited(1), "\(command)")
            let text = outcome.standardError + outcome.standardOutput
            #expect(
                text.contains(
                    "127.0.0.1:\(port): permission denied: a port below 1024 needs "
                        + "CAP_NET_BIND_SERVICE (systemctl edit sallyport), or sallyport.socket"),
                "\(command): \(text)")
        }
    }

    private static let isRoot = geteuid() == 0

    /// One that nobody listens on, if such ports are reserved here.
    private static let lowPort: UInt16? = {
        let path = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        let first = text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        return first == 1024 ? 1017 : nil
    }()

    @Test("check finds a password file of PostgreSQL that is missing")
    func databasePassword() throws {
        let none = directory.path(of: "none")
        let key = try directory.write(
            Data((0..<32)).base64EncodedString() + "\n", to: "challenge-key")
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.registry = "postgres: 'postgresql://u@127.0.0.1/d', password_file: \(none)"
        configuration.more = ["secrets: { challenge_key_file: \(key) }"]
        let text = configuration.text(
            port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path)
        let check = try BuiltProgram.run(
            ["check", "-c", try directory.write(text, to: "database.yaml")])
        #expect(check.status == .exited(78))
        #expect(
            check.standardError.contains(
                "registry.password_file: \(none): no such file or directory"),
            "\(check.standardError)")
    }

    @Test("check refuses a directory in the place of a file, and says nothing else of it")
    func directories() throws {
        let (check, doctor) = try outcomes {
            $0.registryPath = directory.path
            $0.more = ["log: { access: \(directory.path) }"]
        }
        #expect(check.status == .exited(78) && doctor.status == .exited(1))
        let lines = check.standardError.split(separator: "\n").filter {
            $0.contains(": registry: ") || $0.contains(": log.access: ")
        }
        #expect(lines.count == 2, "\(lines)")
        for setting in ["registry", "log.access"] {
            let words = ": \(setting): \(directory.path) is a directory"
            #expect(lines.contains { $0.hasSuffix(words) && !$0.hasPrefix("warning") }, "\(lines)")
        }
    }

    @Test("check and doctor find places that cannot be written")
    func places() throws {
        let none = directory.path(of: "none")
        let (check, doctor) = try outcomes {
            $0.registryPath = none + "/registry.db"
            $0.more = [
                "log: { access: \(none)/access.log }",
                "limits: { temporary_directory: \(none) }",
            ]
        }
        for setting in ["registry", "log.access", "limits.temporary_directory"] {
            let words = "\(setting): cannot create a file"
            // With its line, a mark below it, and the reason.
            let lines = check.standardError.split(separator: "\n").map(String.init)
            let warning = lines.firstIndex {
                $0.hasPrefix("warning: \(directory.path)/start.yaml:")
                    && $0.contains(words) && $0.hasSuffix(": no such file or directory")
            }
            #expect(
                warning.map { lines.dropFirst($0 + 2).first?.hasSuffix("^") == true } == true,
                "\(check.standardError)")
            #expect(doctor.standardOutput.contains("FAIL  \(words)"), "\(doctor.standardOutput)")
        }
        #expect(check.status == .exited(0))
        #expect(doctor.status == .exited(1))
        #expect(!FileManager.default.fileExists(atPath: none))
    }

    @Test("check and doctor warn of a password in a configuration that others may read")
    func clearText() throws {
        let path = directory.path(of: "start.yaml")
        func warnings(_ mode: Int) throws -> Bool {
            try directory.write("", to: "start.yaml")
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let (check, doctor) = try outcomes {
                $0.counters = "{ redis: \"redis://gateway:opensesame@127.0.0.1:1/0\" }"
            }
            let found = check.standardError.contains("holds a password in clear text")
            #expect(doctor.standardOutput.contains("holds a password in clear text") == found)
            #expect(!check.standardError.contains("opensesame"))
            return found
        }
        #expect(try warnings(0o644))
        #expect(try !warnings(0o640))
        // By a header, too.
        for (value, isSecret) in [("opensesame-opensesame", true), ("Bearer-of-{key_id}", false)] {
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            let (check, _) = try outcomes {
                $0.routes[0].more = ["request_headers: { set: { X-Api-Key: \"\(value)\" } }"]
            }
            #expect(check.standardError.contains("holds a password in clear text") == isSecret)
        }
    }

    @Test("check and doctor find a log without its database, and a directory for no further file")
    func registryPlaces() throws {
        try directory.write("log", to: "registry.db-wal")
        let stray = try outcomes { _ in }
        #expect(stray.check.standardError.contains("registry.db-wal is there without its database"))
        #expect(stray.doctor.standardOutput.contains("FAIL  registry: "))
        #expect(stray.doctor.status == .exited(1))
        #expect(!stray.doctor.standardOutput.contains("will be created"))
        // One that was empty when the database was lost says as much.
        try directory.write("", to: "registry.db-wal")
        let lost = try outcomes { _ in }
        let loss = "registry.db is gone, but \(directory.path(of: "registry.db-wal")) is there"
        #expect(lost.check.standardError.contains(loss), "\(lost.check.standardError)")
        #expect(lost.check.status == .exited(0))
        #expect(lost.doctor.standardOutput.contains("warn  registry: "))
        #expect(lost.doctor.standardOutput.contains(loss))
        #expect(!lost.doctor.standardOutput.contains("will be created"))
        try FileManager.default.removeItem(atPath: directory.path(of: "registry.db-wal"))
        #expect(try outcomes { _ in }.doctor.standardOutput.contains("will be created"))
        let lock = directory.path(of: "registry.db.lock")
        try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
        #expect(
            try outcomes { _ in }.doctor.standardOutput.contains(
                "FAIL  registry: \(lock) is a directory"))
        try FileManager.default.removeItem(atPath: lock)
        let path = directory.path(of: "closed")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try directory.write("", to: "closed/registry.db")
        for (name, mode) in [("closed/registry.db", 0o666), ("closed", 0o555), ("", 0o755)] {
            try FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: directory.path(of: name))
        }
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.registryPath = path + "/registry.db"
        configuration.extraRootPaths = []
        let file = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "closed.yaml")
        // To root every directory is open.
        let launcher =
            geteuid() == 0
            ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
        let words = launcher + [BuiltProgram.sallyport, "check", "-c", file]
        let check = try ChildProcess.run(words[0], Array(words.dropFirst()))
        #expect(
            check.standardError.contains(
                "registry: cannot create a file in \(path)/: permission denied"),
            "\(check.standardError)")
    }

    @Test("check and doctor find a disk without room", .enabled(if: SmallDisk.isAllowed))
    func room() throws {
        let disk = try SmallDisk(kibibytes: 512, in: directory)
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.registryPath = disk.path + "/registry.db"
        configuration.more = ["log: { access: \(disk.path)/access.log }"]
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "room.yaml")
        for (command, status) in [("check", 0), ("doctor", 1)] {
            let words = disk.launcher + [BuiltProgram.sallyport, command, "-c", path]
            let outcome = try ChildProcess.run(words[0], Array(words.dropFirst()))
            let text = outcome.standardOutput + outcome.standardError
            for setting in ["registry", "log.access"] {
                #expect(
                    text.contains(
                        "\(setting): there is no room in \(disk.path)/: 512 KiB are free"),
                    "\(text)")
            }
            #expect(!text.contains("limits.temporary_directory"))
            #expect(outcome.status == .exited(Int32(status)))
        }
    }

    @Test("doctor finds an address that another program has, and one that this machine has not")
    func addresses() throws {
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        let free = FreePort.find()
        let (check, doctor) = try outcomes {
            $0.binds = [
                "127.0.0.1:\(upstream.port)", "127.0.0.1:\(gateway.port)",
                "127.0.0.1:\(free)", "192.0.2.1:\(free)",
            ]
            $0.listenerMore = ["trusted_proxies: [127.0.0.1]"]
        }
        #expect(check.status == .exited(0))
        let lines = doctor.standardOutput.split(separator: "\n").map(String.init)
        let process = ProcessInfo.processInfo.processIdentifier
        #expect(
            lines.contains {
                $0.hasPrefix(
                    "FAIL  address 127.0.0.1:\(upstream.port): address already in use by "
                        + "process \(process) (")
            }, "\(lines)")
        #expect(
            lines.contains(
                "ok    address 127.0.0.1:\(gateway.port): in use by process "
                    + "\(gateway.current.processID) (sallyport)"), "\(lines)")
        #expect(lines.contains("ok    address 127.0.0.1:\(free): free"))
        #expect(
            lines.contains("FAIL  address 192.0.2.1:\(free): cannot assign requested address"),
            "\(lines)")
        #expect(doctor.status == .exited(1))
    }

    @Test("check shows the line of an error, names a missing file once, and speaks JSON")
    func report() throws {
        let text = """
            listeners: [{ bind: 19600 }]
            registry: { sqlite: registry.db }
            trust: { extra_roots: [none.pem] }
            upstreams: { api: { servers: ["127.0.0.1:1"] } }
            routes: [{ name: a, path: /*, upstream: api, attest: { mode: "off" } }]

            """
        let path = try directory.write(text, to: "bad.yaml")
        let check = try BuiltProgram.run(["check", "-c", path])
        #expect(check.status == .exited(78))
        let lines = check.standardError.split(separator: "\n").map(String.init)
        #expect(lines.count == 6)
        #expect(lines[0].hasPrefix("\(path):1:21: listeners[0].bind: \"19600\" is a port"))
        #expect(lines[1] == "  1 | listeners: [{ bind: 19600 }]")
        #expect(lines[2] == "    |                     ^")
        #expect(
            lines[3] == "\(path):3:24: trust.extra_roots[0]: \"\(directory.path)/none.pem\" cannot "
                + "be read: no such file or directory")
        let json = try BuiltProgram.run(["check", "-c", path, "--format", "json"])
        #expect(json.status == .exited(78))
        #expect(json.standardError.isEmpty)
        let report = try JSONValue.parse(json.standardOutput)
        #expect(report["valid"]?.boolValue == false)
        #expect(report["file"]?.stringValue == path)
        let errors = report["errors"]?.arrayValue ?? []
        #expect(errors.map { $0["line"]?.integerValue } == [1, 3])
        #expect(errors.map { $0["column"]?.integerValue } == [21, 24])
        #expect(errors.allSatisfy { $0["message"]?.stringValue?.isEmpty == false })
        let missing = try BuiltProgram.run(["check", "-c", "/none.yaml"])
        #expect(missing.standardError == "/none.yaml: cannot be read: no such file or directory\n")
        #expect(
            try BuiltProgram.run(["check", "-c", path, "--format", "xml"]).status == .exited(2))
        for command in ["check", "run", "doctor"] {
            let bare = try BuiltProgram.run([command, "min.yaml"])
            #expect(bare.status == .exited(2))
            #expect(bare.standardError.contains("-c min.yaml\n"))
        }
        try directory.write(
            text.replacing("19600", with: "'127.0.0.1:1'").replacing("[none.pem]", with: "[]"),
            to: "bad.yaml")
        let good = try BuiltProgram.run(["check", "-c", path, "--format", "json"])
        #expect(good.status == .exited(0))
        let found = try JSONValue.parse(good.standardOutput)
        #expect(found["valid"]?.boolValue == true)
        #expect(found["errors"]?.arrayValue == [])
        let warnings = found["warnings"]?.arrayValue?.compactMap { $0["message"]?.stringValue }
        #expect(warnings == ["routes: every route has attest mode off: nothing is protected"])
    }
}
