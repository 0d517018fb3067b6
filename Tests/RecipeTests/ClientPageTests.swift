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
}

extension ClientPageTests {
    @Test("are run one after the other, and do what the page says")
    func commands() throws {
        let pages = ["testing", "workbench", "assertion", "platforms"].map {
            "docs/client/\($0).md"
        }
        let lines = try pages.flatMap { try Document($0).blocks.flatMap(\.lines) }
            .filter { $0.hasPrefix("sallyport-lab ") }
        #expect(lines.count >= 7)
        var gateway: GatewayProcess?
        for line in lines {
            if line.contains("--gateway"), gateway == nil {
                var configuration = GatewayConfiguration.enforcing(
                    upstreamPort: upstream.port,
                    attest: "mode: enforce, accept: [assertion, token]")
                configuration.extraRootPaths = [directory.path(of: "root.pem")]
                gateway = try GatewayProcess(configuration, directory: directory)
            }
            let text = line.replacing("127.0.0.1:8080", with: "127.0.0.1:\(gateway?.port ?? 0)")
                .replacing("HASH", with: String(repeating: "0", count: 64))
            if text == "sallyport-lab sign" {
                try serve()
                continue
            }
            let outcome = try Shell(directory: directory, configurationPath: "").run(text)
            #expect(outcome.status == .exited(0), "\(text): \(outcome.standardError)")
            if text.contains("device request"), !text.contains("--fault help") {
                let status = text.contains("--fault") ? 401 : 200
                #expect(outcome.standardOutput.hasPrefix("HTTP/1.1 \(status)"))
            }
        }
        #expect(upstream.requests.count == 1)
        #expect(FileManager.default.fileExists(atPath: directory.path(of: "vectors.json")))
    }

    /// The signing service, which runs until it is ended, on a port that is free.
    private func serve() throws {
        let service = try ChildProcess(
            BuiltProgram.lab, ["sign", "--listen", "127.0.0.1:0"],
            workingDirectory: directory.path)
        try service.waitForLine(on: .standardOutput, containing: #"{"port":"#)
    }

    @Test("show every step of an Android client, which a gateway accepts")
    func android() throws {
        let block = try #require(
            try Document("docs/client/android.md").blocks.first {
                $0.lines[0].hasPrefix("gateway=")
            })
        let made = try ChildProcess.run(
            BuiltProgram.lab,
            [
                "root", "--platform", "android", "--state", directory.path(of: "google.json"),
                "--pem", directory.path(of: "android.pem"),
            ])
        #expect(made.status == .exited(0), "\(made.standardError)")
        let digest = String(repeating: "cd", count: 32)
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.androidRootPaths = [directory.path(of: "android.pem")]
        configuration.apps = ["{ android: com.example.app, signing_digests: [\(digest)] }"]
        let gateway = try GatewayProcess(configuration, directory: directory)
        let script = block.text.replacing("127.0.0.1:8080", with: "127.0.0.1:\(gateway.port)")
            .replacing("DIGEST", with: digest)
        let outcome = try Shell(directory: directory, configurationPath: "").run(script)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(outcome.standardOutput.contains(#"{"status":"attested""#))
        #expect(outcome.standardOutput.contains("HTTP/1.1 200"))
        let request = try #require(upstream.requests.first)
        #expect(request["X-Attest-Platform"] == "android")
        #expect(request.body == Array(#"{"amount":1}"#.utf8))
        #expect(upstream.requests.count == 1)
    }
}
