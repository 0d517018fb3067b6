import Foundation
import GatewayTesting
import Testing

/// Every configuration of README and of the operator's pages.
@Suite("Configurations of the documents", .enabled(if: BuiltProgram.isBuilt))
struct DocumentConfigurationTests {
    /// What an excerpt leaves out.
    private static let base: KeyValuePairs = [
        "listeners": "listeners: [{ bind: \"127.0.0.1:8080\" }]\n",
        "apps": "apps: [{ id: ABCDE12345.com.example.app }]\n",
        "registry": "registry: { sqlite: /var/lib/sallyport/registry.db }\n",
        "secrets": "secrets: { challenge_key_file: /etc/sallyport/challenge-keys }\n",
        "upstreams": "upstreams: { api: { servers: [\"127.0.0.1:9001\"] } }\n",
        "routes": """
        routes: [{ name: api, path: /api/*, upstream: api, attest: { mode: enforce } }]

        """,
        "apple": """
        apple:
          keys: [{ team_id: ABCDE12345, key_id: FGHIJ67890, file: /etc/sallyport/apple.p8 }]

        """,
    ]

    private let directory: ScratchDirectory
    private let certificate: TestCertificate

    init() throws {
        directory = try ScratchDirectory()
        certificate = try TestCertificate.authority(in: directory)
    }
}

extension DocumentConfigurationTests {
    /// The parts of a configuration by their keys.
    private func sections(_ text: String) -> [(key: String, text: String)] {
        var sections: [(key: String, text: String)] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if let match = line.firstMatch(of: #/^([a-z_]+):/#) {
                sections.append((String(match.output.1), ""))
            }
            if !sections.isEmpty { sections[sections.count - 1].text += line + "\n" }
        }
        return sections
    }

    /// A whole configuration: an excerpt with what it leaves out.
    private func whole(_ block: Document.Block) -> String {
        var text = block.text
        // Excerpts of a single route.
        if text.hasPrefix("rollout:") {
            let inner = text.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
            text =
                "routes:\n  - name: api\n    path: /api/*\n    upstream: api\n"
                + "    attest:\n      mode: enforce\n\(inner)\n"
        }
        let shown = sections(text)
        let missing = Self.base.filter { base in !shown.contains { $0.key == base.key } }
        return (missing.map(\.value) + shown.map(\.text)).joined()
    }

    /// Its files, each with contents of its kind.
    private func writeFiles(_ text: String) throws -> String {
        for match in text.matches(of: #//etc/sallyport/([\w.-]+)/#) {
            let name = String(match.output.1)
            let contents: [UInt8]
            if name.hasSuffix(".crt") || name.hasSuffix("ca.pem") {
                contents = try certificate.certificatePEM
            } else if name.hasSuffix(".key") || name.hasSuffix(".pem") || name.hasSuffix(".p8") {
                contents = try certificate.keyPEM
            } else {
                contents = Array((String(repeating: "MDEy", count: 10) + "MDE=\n").utf8)
            }
            try directory.write(contents, to: name)
        }
        return text.replacing("/etc/sallyport", with: directory.path)
            .replacing("/var/lib/sallyport", with: directory.path)
    }

    @Test("are taken as they stand there, with what they leave out")
    func check() throws {
        let blocks = Document.all.flatMap(\.blocks).filter(\.isConfiguration)
        #expect(blocks.count > 15)
        for block in blocks {
            let path = try directory.write(try writeFiles(whole(block)), to: "sallyport.yaml")
            let outcome = try BuiltProgram.run(["check", "-c", path])
            #expect(outcome.status == .exited(0), "\(block.place): \(outcome.standardError)")
        }
    }
}
