import Foundation
import GatewayTesting
import Testing

@Suite(
    "The demo", .enabled(if: BuiltProgram.isBuilt && NginxServer.isInstalled),
    .timeLimit(.minutes(30)))
struct DemoTests {}

extension DemoTests {
    @Test("shows every row as it should be, and leaves all of it running where it shall")
    func keep() throws {
        let demo = try ChildProcess(
            "bash",
            [Repository.path(of: "demo/run.sh"), BuiltProgram.folder, "--keep"])
        try demo.waitForLine(
            on: .standardOutput, within: .seconds(120), containing: "Ctrl-C ends it.")
        let lines = demo.lines(on: .standardOutput)
        #expect(lines.contains("Every row is as it should be."))
        #expect(lines.count { $0.hasPrefix("ok ") } == 60)
        // What it says may be tried by hand.
        let line = try #require(lines.first { $0.hasSuffix("/health") })
        let address = try #require(line.split(separator: "http://").last)
        let port = try #require(
            address.split(separator: "/").first?.split(separator: ":").last.flatMap { UInt16($0) })
        #expect(try RawClient(port: port).exchange("GET", "/health").status == 200)
        #expect(
            try RawClient(port: port).exchange("GET", "/api/transfer").outcome
                == "401 assertion_required")
        demo.terminate()
        #expect(try demo.waitForExit() == .exited(143))
        #expect(throws: (any Error).self) { try RawClient(port: port) }
    }
}
