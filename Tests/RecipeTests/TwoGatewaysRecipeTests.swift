import Foundation
import GatewayTesting
import Testing

/// `docs/recipes/two-gateways.md`.
@Suite(
    "The recipe for two gateways",
    .enabled(
        if: BuiltProgram.isBuilt && NginxServer.isInstalled && RedisServer.isInstalled
            && PostgresServer.isInstalled, "nginx, Redis or PostgreSQL is not installed"))
struct TwoGatewaysRecipeTests {
    private let directory: ScratchDirectory
    private let recipe: Recipe

    init() throws {
        directory = try ScratchDirectory()
        // PostgreSQL runs as its own user and looks for its data below.
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: directory.path)
        recipe = try Recipe("two-gateways")
    }
}

extension TwoGatewaysRecipeTests {
    private func run(_ more: [String]) throws -> ChildProcess {
        try ChildProcess(
            "bash",
            [Repository.path(of: "deploy/two-gateways/run.sh"), "--programs", BuiltProgram.folder]
                + more)
    }

    @Test("what one gateway accepts the other refuses, and Ctrl-C ends all that was started")
    func keep() throws {
        let place = directory.path(of: "all")
        let command = try #require(recipe.commands.first)
        #expect(command == "deploy/two-gateways/run.sh --keep /tmp/two-gateways\n")
        let process = try run(["--keep", place])
        try process.waitForLine(on: .standardOutput, containing: "Ctrl-C ends it.")
        let lines = process.lines(on: .standardOutput)
        let shown = try #require(recipe.page.firstMatch(of: #/(?s)```text\n(.*?)```/#)).output.1
        #expect(
            lines.filter { $0.hasPrefix("ok ") } == shown.split(separator: "\n").map(String.init))
        let ports = lines.compactMap { line in
            line.firstMatch(of: #/^\w.* 127\.0\.0\.1:(\d+)/#).flatMap { UInt16($0.output.1) }
        }
        #expect(ports.count == 5)
        for port in ports { _ = try RawSocket(port: port) }
        process.send(signal: SIGINT)
        #expect(try process.waitForExit() == .exited(130))
        for port in ports {
            #expect(throws: (any Error).self) { try RawSocket(port: port) }
        }
        // A clean stop of each: nothing was killed.
        for name in ["one", "two"] {
            let events = try String(
                contentsOfFile: "\(place)/\(name)-events.log", encoding: .utf8)
            #expect(events.contains(#""event":"stopped""#))
        }
    }

    @Test("a directory that is there already, wrong words and missing programs end it at once")
    func faults() throws {
        let there = try run([directory.path])
        #expect(try there.waitForExit() != .exited(0))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        for words in [[], ["--no", directory.path]] {
            let usage = try run(words)
            #expect(try usage.waitForExit() == .exited(2))
            #expect(usage.text(on: .standardError).hasPrefix("usage: deploy/two-gateways/run.sh"))
        }
        let missing = try run(["--programs", directory.path, directory.path(of: "x")])
        #expect(try missing.waitForExit() == .exited(1))
        #expect(missing.text(on: .standardError).hasSuffix("make build\n"))
    }
}
