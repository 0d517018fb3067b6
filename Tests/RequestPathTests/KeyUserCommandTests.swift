import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// Export and erasure by user, as somebody asks for who has the right to.
@Suite("sallyport keys --user", .enabled(if: BuiltProgram.isBuilt))
struct KeyUserCommandTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        // The upstream knows its users, by a header that stands for a session here.
        upstream = try RecordingUpstream { request in
            .response(fields: request["X-Session"].map { [("X-User-Id", $0)] } ?? [])
        }
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.more.append(
            "signals: { user: { header: X-User-Id }, keys_per_user: { max: 1 } }")
        gateway = try GatewayProcess(configuration)
    }
}

extension KeyUserCommandTests {
    private func keys(_ words: String..., input: String = "") throws -> ChildProcess.Outcome {
        try BuiltProgram.run(
            ["keys", words[0], "-c", gateway.configurationPath] + words.dropFirst(),
            standardInput: Array(input.utf8))
    }

    /// A device whose key was used for `user`; returns when that is written down.
    private func client(of users: String...) throws -> SimulatedClient {
        let client = try SimulatedClient.enrolled(gateway)
        for user in users {
            let limit = ChildProcess.deadline
            var isNoted = false
            while !isNoted, Date() < limit {
                let fields = try client.signature("GET", "/api/x") + [("X-Session", user)]
                let answer = try client.raw.exchange("GET", "/api/x", fields: fields)
                #expect(answer.status == 200 && answer["X-User-Id"] == nil)
                isNoted = try keys("export", "--user", user).standardOutput
                    .contains(client.device.keyID.base64)
            }
            #expect(isNoted, "\(user)")
        }
        return client
    }

    @Test("export by user gives what is kept of him, by key for whom it was used")
    func export() throws {
        let ann = try client(of: "ann")
        _ = try client(of: "bob")
        let outcome = try keys("export", "--user", "ann")
        #expect(outcome.status == .exited(0))
        let lines = outcome.standardOutput.split(separator: "\n")
        #expect(lines.count == 1)
        let line = try JSONValue.parse(String(try #require(lines.first)))
        #expect(line["key_id"]?.stringValue == ann.device.keyID.base64)
        guard case .array(let users)? = line["users"], let user = users.first else {
            Issue.record("no users in \(lines)")
            return
        }
        // His name is nowhere, what stands for it is.
        #expect(user["user"]?.stringValue?.utf8.count == 32)
        #expect(user["first_seen"]?.stringValue?.hasSuffix("Z") == true)
        #expect(!outcome.standardOutput.contains("ann"))
        let shown = try keys("show", ann.device.keyID.base64).standardOutput
        #expect(shown.contains(try #require(user["user"]?.stringValue)))
        // Such lines can be imported.
        #expect(try keys("import", input: outcome.standardOutput).status == .exited(0))
        #expect(try keys("export", "--user", "nobody").status == .exited(1))
    }

    @Test("erasure by user takes his keys, and of shared ones that he used them")
    func erase() throws {
        let own = try client(of: "ann")
        let shared = try client(of: "ann", "bob")
        let outcome = try keys("erase", "--user", "ann")
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(try keys("export", "--user", "ann").status == .exited(1))
        #expect(try keys("show", own.device.keyID.base64).standardOutput.contains("erased"))
        let kept = try keys("export", "--user", "bob").standardOutput
        #expect(kept.contains(shared.device.keyID.base64))
        let limit = ChildProcess.deadline
        while try own.request("GET", "/api/x").status == 200, Date() < limit {}
        #expect(try own.request("GET", "/api/x").status == 401)
        #expect(try shared.request("GET", "/api/x").status == 200)
        #expect(try own.enrol().status == 403)
        #expect(try keys("erase", "--user", "ann").status == .exited(1))
    }

    @Test("wrong usage exits with 2")
    func usage() throws {
        let keyID = String(repeating: "A", count: 43)
        #expect(try keys("erase", "--user", "ann", keyID).status == .exited(2))
        #expect(try keys("revoke", "--user", "ann").status == .exited(2))
        // Options that would select nothing: more would be erased than was asked for.
        #expect(try keys("erase", "--user", "ann", "--app", "A1.b").status == .exited(2))
        #expect(try keys("erase", "--limit", "1", keyID).status == .exited(2))
        #expect(try keys("export", "--user", "ann", "--status", "erased").status == .exited(2))
        #expect(try keys("export", "--limit", "1").status == .exited(2))
    }
}
