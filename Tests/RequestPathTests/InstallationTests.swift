import Foundation
import GatewayTesting
import Testing

/// What a package installs beside the program. `make package-test` installs it.
@Suite("What is installed", .enabled(if: BuiltProgram.isBuilt))
struct InstallationTests {
    /// What `scripts/tree.sh` lays out for the program under test.
    private let tree: ScratchDirectory

    init() throws {
        tree = try ScratchDirectory()
        let made = try ChildProcess.run(
            "bash", [Self.script("tree"), BuiltProgram.sallyport, tree.path])
        try #require(made.status == .exited(0), "\(made.standardError)")
    }
}

extension InstallationTests {
    private static func script(_ name: String) -> String {
        Repository.path(of: "scripts/\(name).sh")
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: tree.path(of: path), encoding: .utf8)
    }

    /// The commands that help names, with the help of each.
    private static func helps() throws -> [(name: String, help: String)] {
        let help = try BuiltProgram.run(["help"]).standardOutput
        return try help.matches(of: #/(?m)^  ([a-z][a-z-]+) /#).map { match in
            let name = String(match.output.1)
            return (name, try BuiltProgram.run([name, "--help"]).standardOutput)
        }
    }

    // MARK: pages and completions

    @Test("sallyport(1) has the help of every command, and sallyport.yaml(5) every setting")
    func manual() throws {
        let helps = try Self.helps()
        #expect(helps.count > 10)
        let page = try rendered("usr/share/man/man1/sallyport.1")
        for (name, help) in helps where name != "version" {
            #expect(page.contains(help.words), "\(name)")
        }
        let settings = try rendered("usr/share/man/man5/sallyport.yaml.5")
        #expect(
            settings.contains(try BuiltProgram.run(["schema", "--example"]).standardOutput.words))
    }

    /// A page as `man` shows it, its words alone; its macros by hand, as no test machine has man.
    private func rendered(_ path: String) throws -> String {
        try text(path).split(separator: "\n").filter { !$0.hasPrefix(".") }
            .joined(separator: "\n")
            .replacing("\\(aq", with: "'").replacing("\\(ga", with: "`").replacing("\\&", with: "")
            .replacing("\\-", with: "-").replacing("\\e", with: "\\").words
    }

    @Test("bash completes every command, option and action that help names")
    func bash() throws {
        func completions(_ words: String...) throws -> [String] {
            let outcome = try ChildProcess.run(
                "bash",
                [
                    "-c",
                    """
                    compopt() { :; }
                    . "$1"; shift
                    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
                    _sallyport
                    printf '%s\\n' "${COMPREPLY[@]}"
                    """, "bash", tree.path(of: "usr/share/bash-completion/completions/sallyport"),
                    "sallyport",
                ] + words, workingDirectory: tree.path)
            #expect(outcome.standardError.isEmpty)
            return outcome.standardOutput.split(separator: "\n").map(String.init)
        }
        let helps = try Self.helps()
        #expect(Set(try completions("")).isSuperset(of: helps.map(\.name)))
        for (name, help) in helps where name != "version" {
            let named = help.matches(of: /--[a-z][a-z-]+/).map { String($0.output) }
            #expect(try completions(name, "--") == Set(named).sorted(), "\(name)")
        }
        #expect(try completions("doc") == ["doctor"])
        #expect(try completions("keys", "re") == ["renew", "revoke"])
        #expect(
            try completions("explain", "") == [
                "android-attestation", "assertion", "attestation", "causes", "receipt", "request",
            ])
        #expect(try completions("check", "-c", "e") == ["etc"])
    }

    @Test("every option that a command takes stands in its help")
    func options() throws {
        let declared = try FileManager.default
            .contentsOfDirectory(atPath: Repository.path(of: "Sources/sallyport"))
            .map { try Repository.text(of: "Sources/sallyport/\($0)") }
            .flatMap { $0.matches(of: /"(--[a-z][a-z-]+)"/).map { String($0.output.1) } }
        let helps = try Self.helps().map(\.help).joined()
        #expect(declared.count > 20)
        // The first two are long for -c and -H.
        for option in Set(declared).subtracting(["--config", "--header", "--help", "--version"]) {
            #expect(helps.contains(option), "no help names \(option)")
        }
    }

    @Test(
        "zsh and fish take their completions",
        arguments: [
            ("zsh", "zsh/vendor-completions/_sallyport"),
            ("fish", "fish/vendor_completions.d/sallyport.fish"),
        ])
    func otherShells(shell: String, path: String) throws {
        let completions = try text("usr/share/\(path)")
        for (name, _) in try Self.helps() { #expect(completions.contains(name), "\(name)") }
        // Neither shell is needed otherwise; where there is one, it reads the file.
        guard (try? ChildProcess.run(shell, ["-c", "true"]).status) == .exited(0) else { return }
        let outcome = try ChildProcess.run(shell, ["-n", tree.path(of: "usr/share/\(path)")])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
    }

    // MARK: the service

    @Test("the installed configuration is the quick start's, without an error or a warning")
    func configuration() throws {
        let path = tree.path(of: "etc/sallyport/sallyport.yaml")
        let outcome = try BuiltProgram.run(["check", "-c", path])
        #expect(outcome.status == .exited(0))
        // Its registry is where only the installed gateway writes.
        let warnings = outcome.standardError.split(separator: "\n").filter {
            !$0.contains(": registry: ") && !$0.hasPrefix("  ")
        }
        #expect(warnings.isEmpty)
        let page = try Repository.text(of: "docs/operations/quick-start.md")
        let shown = page.split(separator: "## 2. Configure")[1].split(separator: "\n")
            .drop { !$0.hasPrefix("    ") }.prefix { $0.hasPrefix("    ") }.map { $0.dropFirst(4) }
        let installed = try text("etc/sallyport/sallyport.yaml").split(separator: "\n")
            .filter { !$0.drop { $0 == " " }.hasPrefix("#") }
        #expect(shown == installed)
    }

    @Test(
        "systemd finds no fault in the units, and little that the service could do to the machine",
        .enabled(if: Systemd.isInstalled, "there is no systemd-analyze"))
    func units() throws {
        for unit in ["service", "socket"] {
            let file = try Repository.text(of: "deploy/sallyport.\(unit)")
            try tree.write(
                file.replacing("/usr/local/bin/sallyport", with: BuiltProgram.sallyport),
                to: "sallyport.\(unit)")
        }
        let verified = try Systemd.analyze(
            [
                "verify", "--man=no", tree.path(of: "sallyport.service"),
                tree.path(of: "sallyport.socket"),
            ])
        #expect(verified.status == .exited(0))
        #expect(!verified.standardError.contains("sallyport"), "\(verified.standardError)")
        // 1.4 of 10: what is left is that it speaks to networks, as a user that others can see.
        let judged = try Systemd.analyze(
            ["security", "--offline=true", "--threshold=15", tree.path(of: "sallyport.service")])
        #expect(judged.status == .exited(0), "\(judged.standardOutput.suffix(300))")
    }

    @Test("the version is the newest one of CHANGELOG.md")
    func version() throws {
        let changelog = try Repository.text(of: "CHANGELOG.md")
        let newest = try #require(changelog.firstMatch(of: #/(?m)^## \[([0-9.]+)\]/#)).output.1
        #expect(try BuiltProgram.run(["version"]).standardOutput == "sallyport \(newest)\n")
    }
}

private enum Systemd {
    static let isInstalled = (try? analyze(["--version"]).status) == .exited(0)

    static func analyze(_ arguments: [String]) throws -> ChildProcess.Outcome {
        try ChildProcess.run("systemd-analyze", arguments + ["--no-pager"])
    }
}

extension String {
    /// However it is broken into lines.
    fileprivate var words: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}
