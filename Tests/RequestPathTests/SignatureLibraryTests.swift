import Foundation
import GatewayTesting
import Testing

@Suite(
    "The file of crypto.library", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct SignatureLibraryTests {
    private let upstream: RecordingUpstream
    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        directory = try ScratchDirectory()
    }

    private func configuration(_ library: String) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["crypto: { library: \(library) }"]
        return configuration
    }

    private func outcome(_ command: String, _ library: String) throws -> ChildProcess.Outcome {
        let path = try directory.write(
            configuration(library).text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "\(command).yaml")
        return try BuiltProgram.run([command, "-c", path])
    }

    /// The lines of `doctor` about the library and the signatures.
    private func examine(_ library: String) throws -> [String] {
        try outcome("doctor", library).standardOutput.split(separator: "\n").map(String.init)
            .filter { $0.contains("crypto.library: ") || $0.contains("signatures: ") }
    }

    @Test("that needs a damaged library beside it is not said to lack it")
    func damagedRuntime() throws {
        let path = try StandInLibrary.make(in: directory, needing: "libimf.so")
        #expect(try examine(path).last?.hasPrefix("ok    signatures: ") == true)
        let runtime = try directory.write("no library", to: "libimf.so")
        let line = try examine(path).last
        #expect(line?.hasPrefix("warn  signatures: ") == true)
        #expect(
            line?.contains(": \(runtime): is not a library, or not a whole one") == true, "\(line)")
    }
}
