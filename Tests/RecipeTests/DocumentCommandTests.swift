import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// Every command of README and of the operator's pages.
@Suite("Commands of the documents", .enabled(if: BuiltProgram.isBuilt))
struct DocumentCommandTests {
    /// A command as it was found, and where.
    private struct Command {
        let place: String
        let text: String
    }

    /// Commands that change the machine they run on, or need what tests have not: the beginning of
    /// each, and the words of the script or test that runs it or its like.
    private static let elsewhere: [(command: String, file: String, words: String)] = [
        ("apt install ./sallyport", "scripts/package-test.sh", "apt install \"/packages/"),
        ("systemctl reload sallyport", "scripts/package-test.sh", "systemctl reload sallyport"),
        ("systemctl restart sallyport", "scripts/package-test.sh", "systemctl restart sallyport"),
        ("systemctl enable sallyport.socket", "scripts/package-test.sh", "enable sallyport.socket"),
        ("systemctl stop sallyport", "scripts/package-test.sh", "systemctl stop sallyport"),
        ("systemctl start sallyport", "scripts/package-test.sh", "systemctl start sallyport"),
        ("systemctl daemon-reload", "scripts/package-test.sh", "systemctl daemon-reload"),
        ("journalctl -u sallyport", "scripts/package-test.sh", "journalctl -u sallyport -o cat"),
        ("systemd-sysusers", "deploy/debian/postinst", "systemd-sysusers sallyport.conf"),
        // No container engine is in Debian's tests; the image's layers are run without one.
        ("docker load", "scripts/image-test.sh", "tar -C \"$root\" -xf"),
        ("docker run", "scripts/image-test.sh", "setpriv --no-new-privs chroot"),
        ("make deb", "Makefile", "\ndeb:"), ("make dist", "Makefile", "\ndist:"),
        ("make package-test", "Makefile", "\npackage-test:"),
        ("make demo", "Tests/RequestPathTests/DemoTests.swift", "demo/run.sh"),
        ("make test", "Makefile", "\ntest:"),
        (
            "curl -fsS -H \"Authorization", "Tests/RequestPathTests/AuditCommandTests.swift",
            "docs/operations/admin-api.md"
        ),
        (
            "curl -s http://127.0.0.1:9464/refusals.json",
            "Tests/RequestPathTests/StatusPageTests.swift", "/refusals.json?id="
        ),
        (
            "curl -s http://127.0.0.1:9464/status.json",
            "Tests/RequestPathTests/ForeignProofTests.swift", "passed_by_it_alone"
        ),
        (
            "curl -H \"Authorization", "Tests/RequestPathTests/DeviceBitSite.swift",
            "/device-check/"
        ),
    ]

    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess
    private let keyID: String
    private let publicKey: String
    private let pseudonym: String
    /// A request that the access log has.
    private let requestID: String

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream { _ in .response(fields: [("X-User-Id", "alice")]) }
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port,
            attest: "mode: enforce, accept: [assertion, developer], rollout: { start: 100% }")
        configuration.more = [
            "signals: { user: { header: X-User-Id, from: response }, keys_per_user: { max: 5 } }",
            "quotas: { tokens: { by: installation, per: day, limit: 50k } }",
        ]
        let tokens = try directory.write("ops:0123456789abcdef0123456789abcdef\n", to: "tokens")
        chmod(tokens, 0o600)
        configuration.api = "bind: \"127.0.0.1:\(FreePort.find())\", token_file: \(tokens)"
        gateway = try GatewayProcess(configuration, directory: directory)
        let client = try SimulatedClient(gateway)
        // With a receipt, which `keys renew` asks for; nobody looks at what is in it.
        let key = Base64.encode(client.device.publicKey.x963)
        publicKey = key
        let line = """
            {"key_id":"\(client.device.keyID.base64)","public_key":"\(key)","counter":0,\
            "app_id":"\(GatewayConfiguration.appID)","environment":"production","receipt":"AAAA"}

            """
        _ = try BuiltProgram.run(
            ["keys", "import", "-c", gateway.configurationPath], standardInput: Array(line.utf8))
        try #require(try client.request("GET", "/api/x").status == 200)
        let logged = try gateway.accessLine { $0["path"]?.stringValue == "/api/x" }
        requestID = logged["request_id"]?.stringValue ?? ""
        try directory.write(gateway.current.text(on: .standardOutput), to: "access.log")
        keyID = client.device.keyID.base64
        pseudonym =
            try BuiltProgram.run(
                ["keys", "pseudonym", "-c", gateway.configurationPath, keyID]
            ).standardOutput.split(separator: " ").last.map(String.init) ?? ""
        let hash = [UInt8](repeating: 0, count: 32)
        try directory.write(hash, to: "hash")
        try directory.write(try client.device.assert(clientDataHash: hash), to: "assertion")
        try directory.write("", to: "keys.jsonl")
        try gateway.waitForReadiness(200)
    }
}

extension DocumentCommandTests {
    private static let programs: Set = [
        "(umask", "apt", "curl", "docker", "install", "journalctl", "make", "openssl", "runuser",
        "sallyport",
        "systemctl", "systemd",
    ]

    /// Lines that begin like commands, a continued one as one.
    private static let commands = Document.all.flatMap(\.blocks).flatMap { block -> [Command] in
        let text = block.text.replacing(#/\\\n\s*/#, with: "")
        return text.split(separator: "\n").enumerated().compactMap { offset, line -> Command? in
            let first = line.prefix { !" ;-".contains($0) }
            guard programs.contains(String(first)) else { return nil }
            return Command(
                place: "\(block.path):\(block.lineNumber + offset)", text: String(line))
        }
    }

    /// What runs for a line of a page: options in brackets are left out, alternatives become two.
    private func variants(_ line: String) throws -> [String] {
        var line = line.replacing(#/\s+#.*$/#, with: "").replacing(#/\s{2,}.*$/#, with: "")
            .replacing("runuser -u sallyport -- ", with: "")
        line = line.replacing(#/ \[[^\]]*\]/#, with: "").replacing("...", with: "")
        let parts = line.components(separatedBy: " | ")
        let first = parts[0]
        let stem = first.prefix { _ in true }.components(separatedBy: " -c FILE")[0] + " -c FILE "
        return [first] + parts.dropFirst().map { stem + $0 }
    }

    /// The words in capitals, which stand for something.
    private func meant(_ text: String) throws -> String {
        var text = text
        let values: KeyValuePairs = [
            "KIND OBJECT_FILE": "assertion '\(directory.path)/assertion'",
            "ACTION": text.contains("keys") ? "list" : "show",
            "FILE": "'\(gateway.configurationPath)'", "METHOD": "GET",
            "URL": "https://api.example.com/api/x", "ROUTE": "api", "NAME": "alice",
            "COPY": "'\(directory.path)/copy-\(UUID()).db'", "O": "any", "P": pseudonym,
            // Last: its base64 may hold a letter that stands for something.
            "KEY_ID": keyID,
        ]
        for (word, value) in values {
            let place = try Regex("(^|[^A-Za-z_])\(word)(?![A-Za-z_-])")
            text = text.replacing(place) { "\($0.output[1].substring ?? "")\(value)" }
        }
        text = text.replacing("/backup/", with: "\(directory.path)/\(UUID())-")
        // The overviews of commands leave out what these need.
        if text.hasPrefix("sallyport developer-token"), !text.contains("--name") {
            text += " --name ci --ttl 1h"
        }
        if text.hasPrefix("sallyport explain request ") {
            text = text.replacing(#/request (ID|[0-9a-f]{32})/#, with: "request \(requestID)")
            text += " --log '\(directory.path)/access.log'"
        } else if text.hasPrefix("sallyport explain assertion ") {
            text += " --client-data-hash-file '\(directory.path)/hash' --public-key \(publicKey)"
        }
        return text.replacing("127.0.0.1:8080", with: "127.0.0.1:\(gateway.port)")
    }

    @Test("are all that the pages show, besides configurations and statements")
    func blocks() {
        for block in Document.all.flatMap(\.blocks) where !block.isYAML {
            let first = String(block.text.prefix { !" ;-".contains($0) })
            #expect(
                Self.programs.contains(first) || ["CREATE", "GRANT", "ACL"].contains(first),
                "\(block.place): nothing runs \(block.lines[0])")
        }
    }

    @Test("of sallyport end well, each with a running gateway and an enrolled key")
    func sallyport() throws {
        let lines = Self.commands.filter {
            $0.text.contains(#/^(runuser -u sallyport -- )?sallyport /#)
        }
        #expect(lines.count > 40)
        var ran: Set<String> = []
        // What takes keys away comes last, and at the very end what takes the name.
        let rank = { (line: String) in
            line.contains("keys revoke")
                ? 1 : !line.contains("keys erase") ? 0 : line.contains("--user") ? 2 : 3
        }
        let commands = try lines.flatMap { command in
            try variants(command.text).map { Command(place: command.place, text: $0) }
        }
        for command in commands.sorted(by: { rank($0.text) < rank($1.text) }) {
            // The gateway itself, which runs.
            if command.text.hasPrefix("sallyport run ") { continue }
            let text = try meant(command.text)
            guard ran.insert(text.replacing(#/[0-9A-F-]{36}/#, with: "")).inserted else { continue }
            let outcome = try Shell(
                directory: directory, configurationPath: gateway.configurationPath
            ).run(text)
            #expect(
                outcome.status == .exited(0),
                "\(command.place): \(text): \(outcome.standardError)\(outcome.standardOutput)")
        }
        #expect(ran.count > 25)
    }

    @Test("of other programs do what the page says, or are run by a script that makes a machine")
    func others() throws {
        let lines = Self.commands.filter {
            !$0.text.contains(#/^(runuser -u sallyport -- )?sallyport /#)
        }
        let shell = Shell(directory: directory, configurationPath: gateway.configurationPath)
        for folder in ["root/etc/sallyport", "root/usr/local/bin", ".build/release"] {
            try FileManager.default.createDirectory(
                atPath: directory.path(of: folder), withIntermediateDirectories: true)
        }
        for name in ["deploy", "conf"] {
            try FileManager.default.createSymbolicLink(
                atPath: directory.path(of: name),
                withDestinationPath: Repository.path(of: name))
        }
        try directory.write("a program", to: ".build/release/sallyport")
        for command in lines {
            if let other = Self.elsewhere.first(where: { command.text.hasPrefix($0.command) }) {
                let file = try Repository.text(of: other.file)
                #expect(file.contains(other.words), "\(command.place)")
                continue
            }
            // Abridged from the one above.
            if command.text.hasPrefix("curl ... /device-check/") { continue }
            let root = directory.path(of: "root")
            let text = try meant(command.text)
                .replacing(#/ \/(etc|usr)\//#) { " \(root)/\($0.output.1)/" }
                .replacing("-g sallyport ", with: "-g \(getegid()) ")
                .replacing(" \(root)/etc/sysusers.d/", with: " \(root)/")
                .replacing(" \(root)/etc/systemd/system/", with: " \(root)/")
            let outcome = try shell.run(text)
            #expect(
                outcome.status == .exited(0), "\(command.place): \(text): \(outcome.standardError)")
        }
    }
}
