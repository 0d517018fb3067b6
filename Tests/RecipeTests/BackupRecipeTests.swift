import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/recipes/backup.md`.
@Suite("The recipe for backups", .enabled(if: BuiltProgram.isBuilt))
struct BackupRecipeTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream
    private let commands: [String]

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        commands = try Recipe("backup").commands
        for folder in ["backup", "old", "new"] {
            try FileManager.default.createDirectory(
                atPath: directory.path(of: folder), withIntermediateDirectories: false)
        }
    }
}

extension BackupRecipeTests {
    private func configuration(_ registry: String, _ more: String = "") throws -> String {
        """
        listeners: [{ bind: "127.0.0.1:\(FreePort.find())" }]
        apps: [{ id: \(GatewayConfiguration.appID) }]
        registry: \(registry)
        upstreams: { api: { servers: ["127.0.0.1:\(upstream.port)"] } }
        routes: [{ name: api, path: /api/*, upstream: api, attest: { mode: enforce } }]
        \(more)

        """
    }

    private func base(_ gateway: RecipeGateway) throws -> String {
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let address = try #require(text.firstMatch(of: #/bind: "([^"]+)"/#)).output.1
        return "http://\(address)"
    }

    /// `/etc/sallyport`, `/var/lib/sallyport` and `/backup` of a machine.
    private func at(_ machine: String, _ commands: String) throws -> String {
        try commands.replacing("/etc/sallyport", with: directory.path(of: machine))
            .moved(["/backup": directory.path(of: "backup")])
            .replacing("/var/lib/sallyport", with: directory.path(of: machine))
    }

    @Test("a new machine knows the devices of the backup, and accepts nothing twice")
    func sqlite() throws {
        let gateway = try RecipeGateway(
            try configuration("{ sqlite: registry.db }"), in: directory, named: "old/sallyport.yaml"
        )
        // Every name is relative to the configuration, which the backup has elsewhere.
        let root = try String(contentsOfFile: TestApple.rootPath, encoding: .utf8)
        try directory.write(root, to: "old/root.pem")
        try directory.write(
            try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
                .moved(["[\(TestApple.rootPath)]": "[root.pem]"]), to: "old/sallyport.yaml")
        let early = try App.enrolled(try base(gateway))
        let accepted = try early.signature("GET", "/api/x")
        #expect(try early.exchange("GET", "/api/x", fields: accepted).outcome == "200")
        let waiting = try early.signature("GET", "/api/x")
        let shell = Shell(directory: directory, configurationPath: gateway.configurationPath)
        let copied = try shell.run(try at("old", commands[0] + commands[1]))
        #expect(copied.status == .exited(0), "\(copied.standardError)")
        let late = try App.enrolled(try base(gateway))
        gateway.process.kill()
        try gateway.process.waitForExit()

        let restored = try shell.run(try at("new", commands[2]))
        #expect(restored.status == .exited(0), "\(restored.standardError)")
        let path = directory.path(of: "new/sallyport.yaml")
        let text = try String(contentsOfFile: path, encoding: .utf8)
            .moved(["trust: { extra_roots: [root.pem] }\n": ""])
        let successor = try RecipeGateway(text, in: directory, named: "new/sallyport.yaml")
        let address = try base(successor)
        let again = try App(address, device: early.device)
        #expect(
            try again.exchange("GET", "/api/x", fields: accepted).outcome
                == "401 challenge_expired")
        #expect(
            try again.exchange("GET", "/api/x", fields: waiting).outcome == "401 challenge_expired")
        #expect(try again.request("GET", "/api/x").outcome == "200")
        let unknown = try App(address, device: late.device)
        #expect(try unknown.request("GET", "/api/x").outcome == "401 key_unknown")
        #expect(commands.count == 5)
    }

    @Test("a copy that has lost a page of keys is found out")
    func damaged() throws {
        let path = try directory.write(
            try configuration("{ sqlite: registry.db }"), to: "old/sallyport.yaml")
        let shell = Shell(directory: directory, configurationPath: path)
        let name = "directory=\(directory.path(of: "backup"))\n"
        let copied = try shell.run(
            name,
            """
            sallyport-lab seed --count 500 --seed a --app \(GatewayConfiguration.appID) > keys.jsonl
            sallyport keys import keys.jsonl
            sallyport keys backup "$directory/registry.db"

            """)
        #expect(copied.status == .exited(0), "\(copied.standardError)")
        let whole = try shell.run(name, commands[1])
        #expect(whole.status == .exited(0), "\(whole.standardError)")
        let copy = URL(filePath: directory.path(of: "backup/registry.db"))
        let listed = try shell.run("sallyport keys export")
        let line = try #require(listed.standardOutput.split(separator: "\n").last)
        let keyID = try JSONValue.parse(String(line))["key_id"]?.stringValue
        let digest = try Data(#require(keyID.flatMap { Base64.decode($0) }))
        var bytes = try Data(contentsOf: copy)
        let place = try #require(bytes.range(of: digest)).lowerBound / 4096 * 4096
        bytes.replaceSubrange(place..<place + 4096, with: Data(count: 4096))
        try bytes.write(to: copy)
        let broken = try shell.run(name, commands[1])
        #expect(broken.status == .exited(1), "\(broken.standardError)")
        #expect(broken.standardError.contains("malformed"), "\(broken.standardError)")
    }

    @Test(
        "a dump of PostgreSQL brings the devices back, with a Redis that has forgotten all",
        .enabled(if: PostgresServer.isInstalled && RedisServer.isInstalled))
    func postgres() throws {
        let server = try PostgresServer.shared.get()
        let (old, new) = (try server.makeDatabase(), try server.makeDatabase())
        let secret = try ChildProcess.run("openssl", ["rand", "-base64", "32"]).standardOutput
        let keys = try directory.write(secret, to: "challenge-keys")
        let redis = try RedisServer()
        let shared = """
            counters: \(redis.counters)
            secrets: { challenge_key_file: \(keys) }
            """
        let gateway = try RecipeGateway(
            try configuration("{ postgres: \"\(server.url(old))\" }", shared), in: directory,
            named: "old.yaml")
        let app = try App.enrolled(try base(gateway))
        let accepted = try app.signature("GET", "/api/x")
        #expect(try app.exchange("GET", "/api/x", fields: accepted).outcome == "200")
        try gateway.stop()
        let shell = Shell(
            directory: directory, configurationPath: gateway.configurationPath,
            environment: [
                "PGHOST": server.directory.path, "PGPORT": "\(server.port)", "PGUSER": "postgres",
            ])
        let outcome = try shell.run(
            try commands[3].moved([" sallyport\n": " \(old)\n"]),
            try commands[4].moved(["-d sallyport": "-d \(new)"]))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        try redis.command("FLUSHALL")
        let successor = try RecipeGateway(
            try configuration("{ postgres: \"\(server.url(new))\" }", shared), in: directory,
            named: "new.yaml")
        let again = try App(try base(successor), device: app.device)
        _ = try again.challenge()
        #expect(
            try again.exchange("GET", "/api/x", fields: accepted).outcome
                == "401 challenge_expired")
        #expect(try again.request("GET", "/api/x").outcome == "200")
    }
}
