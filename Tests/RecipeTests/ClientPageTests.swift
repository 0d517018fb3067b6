import Attestation
import Bytes
import Foundation
import GatewayTesting
import Testing

/// The commands of `docs/client`.
@Suite("Commands of the client's pages", .enabled(if: BuiltProgram.isBuilt))
struct ClientPageTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
    }

    @Test("are run one after the other, and do what the page says")
    func commands() throws {
        let pages = ["testing", "assertion", "platforms"].map { "docs/client/\($0).md" }
        let lines = try pages.flatMap { try Document($0).blocks.flatMap(\.lines) }
            .filter { $0.hasPrefix("sallyport-lab ") }
        #expect(lines.count >= 7)
        var gateway: GatewayProcess?
        for line in lines {
            if line.contains("--gateway"), gateway == nil {
                var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
                configuration.extraRootPaths = [directory.path(of: "root.pem")]
                gateway = try GatewayProcess(configuration, directory: directory)
            }
            let text = line.replacing("127.0.0.1:8080", with: "127.0.0.1:\(gateway?.port ?? 0)")
                .replacing("HASH", with: String(repeating: "0", count: 64))
            let outcome = try Shell(directory: directory, configurationPath: "").run(text)
            #expect(outcome.status == .exited(0), "\(text): \(outcome.standardError)")
            if text.contains("device request") {
                #expect(outcome.standardOutput.hasPrefix("HTTP/1.1 200"))
            }
        }
        #expect(upstream.requests.count == 1)
        #expect(FileManager.default.fileExists(atPath: directory.path(of: "vectors.json")))
    }
}
