import AppAttestTesting
import Attestation
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// What commands leave in the audit log, and how they print for programs and on terminals.
@Suite("Commands, for auditors and programs", .enabled(if: BuiltProgram.isBuilt))
struct AuditCommandTests {
    private let site: AdminAPISite

    init() throws {
        let site = try FaultSite()
        site.configuration.routes.append(
            .init(
                "growing", path: "/growing/*",
                attest: "mode: enforce, rollout: { start: 10%, step: x2 }"))
        site.configuration.routes.append(
            .init("lab", path: "/lab/*", attest: "mode: enforce, accept: [assertion, developer]"))
        site.configuration.more.append("signals: { user: { header: X-User } }")
        self.site = try AdminAPISite(site)
    }
}

extension AuditCommandTests {
    private func run(
        _ words: [String], input: String = "", expecting status: Int32 = 0,
        environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        let outcome = try site.command(words, environment: environment, input: input)
        #expect(
            outcome.status == .exited(status), "\(outcome.standardError)",
            sourceLocation: sourceLocation)
        return outcome
    }

    private func lines(_ text: String) throws -> [JSONValue] {
        try text.split(separator: "\n").map { try JSONValue.parse(String($0)) }
    }

    @Test("each change leaves one line with the user, the machine and the command's id")
    func changes() throws {
        let device = try site.site.enrolledDevice(at: site.gateway)
        let id = device.keyID.base64
        let exported = try run(["keys", "export"]).standardOutput
        let other = try SimulatedDevice(appID: GatewayConfiguration.appID)
        let added = exported.replacing(id, with: other.keyID.base64)
            .replacing(
                Data(device.publicKey.x963).base64EncodedString(),
                with: Data(other.publicKey.x963).base64EncodedString())
        _ = try run(["keys", "import"], input: added)
        let copy = site.site.directory.path + "/copy.db"
        _ = try run(["keys", "backup", copy])
        // It came without a receipt.
        _ = try run(["keys", "renew", id], expecting: 1)
        _ = try run(["keys", "pseudonym", id])
        _ = try run(["rollout", "set", "growing", "20%"])
        _ = try run(["rollout", "hold", "growing"])
        _ = try run(["rollout", "resume", "growing"])
        let token = try run(["developer-token", "--name", "ci", "--ttl", "1h"])
        _ = try run(["keys", "revoke", id])
        _ = try run(["keys", "erase", id])
        // What reads, and what is refused, leaves none.
        _ = try run(["keys", "list"])
        _ = try run(["keys", "show", id])
        _ = try run(["rollout", "show"])
        _ = try run(["keys", "revoke", "nonsense"], expecting: 2)
        _ = try run(["keys", "revoke"], expecting: 2)
        _ = try run(["rollout", "set", "growing", "200%"], expecting: 2)
        _ = try run(["rollout", "set", "nowhere", "20%"], expecting: 1)
        _ = try run(["developer-token", "--name", "ci", "--ttl", "9000d"], expecting: 2)
        _ = try run(["keys", "backup", copy], expecting: 1)
        _ = try run(["keys", "import"], input: "garbage\n", expecting: 1)
        _ = try run(["keys", "export", "--user", "nobody"], expecting: 1)
        let entries = try lines(run(["audit", "--json"]).standardOutput)
        #expect(
            entries.compactMap { $0["action"]?.stringValue } == [
                "keys.erase", "keys.revoke", "developer_token.make", "rollout.resume",
                "rollout.hold", "rollout.set", "keys.pseudonym", "keys.renew", "keys.backup",
                "keys.import",
            ])
        let user = try ChildProcess.run("id", ["-un"]).standardOutput
            .trimmingCharacters(in: .newlines)
        let machine = try ChildProcess.run("uname", ["-n"]).standardOutput
            .trimmingCharacters(in: .newlines)
        for entry in entries {
            #expect(entry["who"]?.stringValue == user)
            #expect(entry["from"]?.stringValue == machine)
            #expect(entry["way"]?.stringValue == "command")
        }
        #expect(Set(entries.map { $0["request_id"]?.stringValue }).count == entries.count)
        #expect(entries[0]["subject"]?.stringValue == id)
        #expect(entries[5]["detail"]?.stringValue == "20%, held_by_operator")
        #expect(entries[8]["subject"]?.stringValue == copy)
        #expect(entries[9]["detail"]?.stringValue == "added 1, made stricter 0")
        let secret = token.standardOutput.trimmingCharacters(in: .newlines)
        #expect(!entries.contains { "\($0)".contains(secret) })
        // The API reads the same.
        #expect(try site.audit() == entries)
        // And a gateway that starts with the copy says so.
        try site.gateway.terminate()
        let registry = site.site.directory.path + "/registry.db"
        for suffix in ["", "-wal", "-shm"] { unlink(registry + suffix) }
        try FileManager.default.moveItem(atPath: copy, toPath: registry)
        try site.gateway.start()
        #expect(try site.actions() == ["keys.restore", "keys.import"])
        #expect(try site.audit("?limit=1").first?["way"]?.stringValue == "gateway")
    }

    @Test("an import that is killed has an entry for what it did, and for nothing else")
    func killedImport() throws {
        // Three transactions.
        var text = ""
        for _ in 0..<21_000 {
            let point = try P256PrivateKey.generate().publicKey
            let id = KeyID(of: point).base64
            text += "{\"key_id\":\"\(id)\",\"public_key\":\""
            text += Data(point.x963).base64EncodedString()
            text += "\",\"app_id\":\"\(GatewayConfiguration.appID)\","
            text += "\"environment\":\"production\",\"counter\":1}\n"
        }
        let file = try site.site.directory.write(text, to: "many.jsonl")
        let importing = try ChildProcess(
            BuiltProgram.sallyport,
            ["keys", "import", "-c", site.gateway.configurationPath, file])
        try waitWhile(site.audit().isEmpty && importing.exitStatus == nil)
        importing.kill()
        try importing.waitForExit()
        func importedCount() throws -> Int {
            try site.audit("?limit=1000").reduce(0) { sum, entry in
                let words = entry["detail"]?.stringValue?.split(whereSeparator: {
                    " ,".contains($0)
                })
                return sum + (Int(words?.dropFirst().first ?? "") ?? 0)
            }
        }
        let count = try run(["keys", "export"]).standardOutput.split(separator: "\n").count
        #expect(count > 0 && count.isMultiple(of: 1000))
        #expect(try importedCount() == count)
        _ = try run(["keys", "import", file])
        #expect(try importedCount() == 21_000)
    }

    @Test("names that would move a terminal's cursor are escaped; since and limit select")
    func hostile() throws {
        let id = String(repeating: "A", count: 43) + "="
        let name = "eve\u{1B}[2J\u{202E}\n#9 forged"
        _ = try run(
            ["keys", "revoke", id], expecting: 1, environment: ["SUDO_USER": name])
        let text = try run(["audit"]).standardOutput
        #expect(text.hasPrefix("#1 20"))
        #expect(text.contains(#"eve\u{1b}[2J\u{202e}\u{a}#9 forged via sudo as "#))
        #expect(text.split(separator: "\n").count == 1)
        let entry = try lines(run(["audit", "--json"]).standardOutput)
        #expect(entry.first?["who"]?.stringValue?.hasPrefix(name + " via sudo as ") == true)
        #expect(try run(["audit", "--since", "1h"]).standardOutput == text)
        #expect(try run(["audit", "--since", "2999-01-01T00:00:00Z"]).standardOutput.isEmpty)
        for words in [
            ["--since", "yesterday"], ["--limit", "0"], ["--before", "x"], ["--nonsense"], ["x"],
        ] {
            _ = try run(["audit"] + words, expecting: 2)
        }
    }

    @Test("every command that prints something prints JSON on demand")
    func machineOutput() throws {
        let id = try site.site.enrolledDevice(at: site.gateway).keyID.base64
        let exported = try run(["keys", "export", "--json"]).standardOutput
        let copy = site.site.directory.path + "/copy.db"
        let commands: [([String], String, Int32)] = [
            (["keys", "list", "--json"], "key_id", 0),
            (["keys", "show", "--json", id], "public_key", 0),
            (["keys", "import", "--json"], "unchanged", 0),
            (["keys", "backup", "--json", copy], "keys", 0),
            (["keys", "renew", "--json", id], "outcome", 1),
            (["keys", "renew", "--json", "--outcome", "any"], "due", 0),
            (["keys", "pseudonym", "--json", id], "pseudonym", 0),
            (["keys", "revoke", "--json", id, String(repeating: "A", count: 43)], "outcome", 1),
            (["keys", "erase", "--json", id], "outcome", 0),
            (["rollout", "show", "--json"], "rollout", 0),
            (["rollout", "set", "growing", "20%", "--json"], "percent", 0),
            (["doctor", "--json"], "verdict", 0),
            (["check", "--json"], "valid", 0),
            (["healthcheck", "--json"], "ready", 0),
            (["route", "--json", "GET", "/growing/x"], "result", 0),
            (["route", "--json", "GET", "/a/../x"], "status", 0),
            (["developer-token", "--json", "--name", "ci", "--ttl", "1h"], "token", 0),
            (["audit", "--json"], "action", 0),
        ]
        try site.gateway.waitForReadiness(200)
        for (words, member, status) in commands {
            let outcome = try run(words, input: exported, expecting: status)
            let objects = try lines(outcome.standardOutput)
            #expect(!objects.isEmpty, "\(words)")
            for object in objects {
                #expect(object[member] != nil, "\(words): \(outcome.standardOutput)")
            }
        }
        let version = try BuiltProgram.run(["version", "--json"]).standardOutput
        let plain = try BuiltProgram.run(["version"]).standardOutput
        let number = try #require(try lines(version).first?["version"]?.stringValue)
        #expect(plain == "sallyport \(number)\n")
        let route = try lines(run(["route", "--json", "GET", "/growing/x"]).standardOutput)
        #expect(route.first?["route"]?.stringValue == "growing")
        #expect(route.first?["result"]?.stringValue == "route")
    }

    /// What a command writes to standard error on a terminal of its own, which `script` makes.
    private func onTerminal(_ words: String, term: String = "xterm") throws -> String {
        let configured = words.replacing("FILE", with: site.gateway.configurationPath)
        let command = "stty cols 70; \(BuiltProgram.sallyport) \(configured)"
        return try ChildProcess.run(
            "script", ["-qec", command, "/dev/null"], environment: ["TERM": term, "NO_COLOR": ""]
        ).standardOutput
    }

    @Test("long commands show how far they are on a terminal, and only there")
    func progress() throws {
        _ = try site.site.enrolledDevice(at: site.gateway)
        let directory = site.site.directory.path
        let exported = try run(["keys", "export"])
        #expect(!exported.standardError.contains("exporting"))
        let keys = try site.site.directory.write(exported.standardOutput, to: "keys.jsonl")
        let clear = "\r\u{1B}[K"
        let shown = try onTerminal("keys import -c FILE \(keys)")
        #expect(shown.contains("\rimporting 100% [####"), "\(shown)")
        #expect(shown.contains("] 1 keys, ") && shown.contains(clear + "imported 0, unchanged 1"))
        for line in shown.split(separator: "\r") where line.hasPrefix("importing") {
            #expect(line.prefix { $0 != "\u{1B}" }.count < 70)
        }
        let backup = try onTerminal("keys backup -c FILE \(directory)/one.db")
        #expect(backup.contains("\rcopying 100% [####"), "\(backup)")
        let export = try onTerminal("keys export -c FILE > \(directory)/exported")
        #expect(export.contains("\rexporting 100% [####"), "\(export)")
        let both = try onTerminal("keys export -c FILE")
        #expect(both.contains("key_id") && !both.contains("exporting"))
        for quiet in [
            try onTerminal("keys import -c FILE \(keys) --quiet"),
            try onTerminal("keys import -c FILE \(keys)", term: "dumb"),
            try onTerminal("keys backup -c FILE \(directory)/two.db 2>/dev/null"),
        ] {
            #expect(!quiet.contains("\u{1B}") && !quiet.contains("%"), "\(quiet)")
        }
        let piped = try run(["keys", "import", keys])
        #expect(!piped.standardError.contains("\r") && !piped.standardOutput.contains("\r"))
        // Colours likewise.
        let doctor = try onTerminal("doctor -c FILE")
        #expect(doctor.contains("\u{1B}[32mok   \u{1B}[0m configuration"), "\(doctor)")
        #expect(try !onTerminal("doctor -c FILE", term: "dumb").contains("\u{1B}"))
        #expect(try !onTerminal("doctor -c FILE | cat").contains("\u{1B}"))
        let plain = try ChildProcess.run(
            "script",
            [
                "-qec", "\(BuiltProgram.sallyport) doctor -c \(site.gateway.configurationPath)",
                "/dev/null",
            ], environment: ["TERM": "xterm", "NO_COLOR": "1"])
        #expect(!plain.standardOutput.contains("\u{1B}"))
    }

    @Test("the examples of docs/operations/admin-api.md work as they stand")
    func examples() throws {
        let id = try site.site.enrolledDevice(at: site.gateway).keyID.base64
        let commands = try Repository.text(of: "docs/operations/admin-api.md")
            .split(separator: "\n").filter { $0.hasPrefix("    curl ") }
        #expect(commands.count == 7)
        let outcome = try ChildProcess.run(
            "sh", ["-euxc", commands.joined(separator: "\n")],
            environment: [
                "TOKEN": AdminAPISite.token, "API": "http://127.0.0.1:\(site.port)", "KEY": id,
            ], workingDirectory: site.site.directory.path)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(try site.actions() == ["keys.erase", "keys.revoke"])
        let exported = try String(
            contentsOfFile: site.site.directory.path + "/keys.jsonl", encoding: .utf8)
        #expect(try lines(exported).first?["key_id"]?.stringValue == id)
        #expect(outcome.standardOutput.contains("\"rollout\":\"growing\""))
    }
}
