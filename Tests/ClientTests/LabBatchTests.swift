import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("sallyport-lab batch", .enabled(if: BuiltProgram.isBuilt))
struct LabBatchTests {
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension LabBatchTests {
    private func run(_ lines: String) throws -> ChildProcess.Outcome {
        try ChildProcess.run(BuiltProgram.lab, ["batch"], standardInput: Array(lines.utf8))
    }

    @Test("runs commands one after the other, with an empty line after each")
    func commands() throws {
        let device = directory.path(of: "device.json")
        let assertion = directory.path(of: "assertion")
        let outcome = try run(
            """
            ["device", "new", "--state", "\(device)", "--app", "ABCDE12345.com.example.app"]
            ["mint", "assertion", "--device", "\(device)", "--out", "\(assertion)"]
            ["device", "show", "--state", "\(device)"]

            """)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let lines = outcome.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
        try #require(lines.count > 4)
        #expect(Data(base64Encoded: String(lines[0]))?.count == 32)
        #expect(lines[1].isEmpty && lines[2].isEmpty && !lines[3].isEmpty)
        #expect(outcome.standardOutput.hasSuffix("\n\n"))
        #expect(FileManager.default.fileExists(atPath: assertion))
    }

    @Test(
        "ends at the first command that fails",
        arguments: [
            (#"["device", "show", "--state", "absent"]"#, 1, "absent does not exist"),
            (#"["device", "dance"]"#, 2, "usage: "), (#"["dance"]"#, 2, "unknown command dance"),
            (#"["batch"]"#, 1, "a batch in a batch"), ("device show", 1, "not a JSON array"),
            ("[]", 1, "not a JSON array"), (#"["ports", 1]"#, 1, "not a JSON array"),
            ("", 1, "not a JSON array"),
        ])
    func failure(line: String, status: Int32, message: String) throws {
        let outcome = try run(#"["ports", "1"]"# + "\n\(line)\n" + #"["ports", "1"]"# + "\n")
        #expect(outcome.status == .exited(status))
        #expect(outcome.standardError.contains(message), "\(outcome.standardError)")
        let lines = outcome.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3 && UInt16(lines[0]) != nil)
    }
}
