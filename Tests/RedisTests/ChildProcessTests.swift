import Foundation
import GatewayTesting
import Testing

@Suite("A child process of a test", .timeLimit(.minutes(30)))
struct ChildProcessTests {}

extension ChildProcessTests {
    @Test("is run to its end with its output and its status")
    func run() throws {
        let outcome = try ChildProcess.run(
            "sh", ["-c", "cat; echo $GREETING >&2; pwd; exit 7"],
            environment: ["GREETING": "hello"], workingDirectory: "/usr",
            standardInput: Array("given\n".utf8))
        #expect(outcome.status == .exited(7))
        #expect(outcome.standardOutput == "given\n/usr\n")
        #expect(outcome.standardError == "hello\n")
    }

    @Test("does not start where there is no such program")
    func missing() {
        #expect(throws: ChildProcessError.self) { try ChildProcess("/nonexistent/program") }
    }

    @Test("can be awaited line by line")
    func lines() throws {
        let process = try ChildProcess("sh", ["-c", "echo one; echo two; read line; echo late"])
        #expect(try process.waitForLine(on: .standardOutput, containing: "tw") == "two")
        #expect(throws: ChildProcessError.self) {
            try process.waitForLine(on: .standardOutput, containing: "never")
        }
    }

    @Test("dies of the signal it is sent, and not twice")
    func signals() throws {
        let process = try ChildProcess("sleep", ["100"])
        process.stop()
        process.resume()
        #expect(process.exitStatus == nil)
        process.kill()
        #expect(try process.waitForExit() == .signalled(9))
        process.kill()
        process.terminate()
        #expect(process.exitStatus == .signalled(9))
    }

    @Test("is killed when it is released")
    func release() throws {
        var process: ChildProcess? = try ChildProcess("sleep", ["100"])
        let id = try #require(process?.processID)
        #expect(kill(id, 0) == 0)
        process = nil
        #expect(kill(id, 0) != 0)
    }

    @Test("gets ports that differ")
    func ports() {
        let ports = (0..<50).map { _ in FreePort.find() }
        #expect(Set(ports).count == ports.count)
    }
}
