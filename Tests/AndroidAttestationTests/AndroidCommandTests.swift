import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import GatewayTesting
import JSON
import Testing

@Suite(
    "Android attestations, by the command",
    .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct AndroidCommandTests {
    private static func array(_ chain: [[UInt8]]) -> String {
        "[" + chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",") + "]\n"
    }

    private static func explain(_ arguments: [String]) throws -> (status: Int32, json: JSONValue) {
        let outcome = try BuiltProgram.run(
            ["explain", "android-attestation", "--json"] + arguments)
        guard case .exited(let status) = outcome.status, status < 2 else {
            Issue.record("\(outcome.standardError)")
            return (-1, .null)
        }
        return (status, try JSONValue.parse(outcome.standardOutput))
    }

    @Test(
        "get their recorded verdict from explain android-attestation",
        .enabled(if: AndroidVectors.arePresent, AndroidVectors.absent),
        arguments: AndroidVectors.chains)
    func vectors(vector: AndroidVector) throws {
        let directory = try ScratchDirectory()
        let path = try directory.write(Self.array(vector.certificates), to: "chain")
        var options = ["--at", try #require(vector.at)]
        if let name = vector.revocationList {
            let list = try AndroidVectors.certificateFile(name)
            options += ["--revocation-list", try directory.write(list, to: "list")]
        }
        let anyDevice = ["--min-security", "software", "--any-boot-state"]
        for (verdict, more) in [(vector.standard, []), (vector.anyDevice, anyDevice)] {
            let (status, json) = try Self.explain(options + more + [path])
            let expected = try #require(verdict)
            #expect(json["verdict"]?.stringValue == expected.verdict)
            #expect(json["code"]?.stringValue == expected.code ?? "ok")
            #expect(status == (expected.isValid ? 0 : 1))
        }
    }

    @Test("are compared with all that the options give")
    func options() throws {
        let directory = try ScratchDirectory()
        let enrolment = try Enrolment()
        let chain = try directory.write(Self.array(enrolment.chain), to: "chain")
        let root = try directory.write(AndroidWorld.google.rootPEM, to: "root.pem")
        let challenge = try directory.write(androidChallenge, to: "challenge")
        let digest = Hex.encode(androidDigest.array)
        // Android's tools print digests with colons, in upper case.
        let printed = androidDigest.array.map { Hex.encode([$0]).uppercased() }
            .joined(separator: ":")
        let base = ["--at", RFC3339.text(androidNow), "--root", root]
        let right = [
            "--challenge-file", challenge, "--package", androidPackage, "--key-id",
            enrolment.phone.keyID.base64,
        ]
        #expect(
            try Self.explain(base + right + ["--signing-digest", digest, chain]).status == 0)
        #expect(
            try Self.explain(base + right + ["--signing-digest", printed, chain]).status == 0)
        for (wrong, code) in [
            (["--challenge-file", root], "challenge_mismatch"),
            (["--package", "com.example.none"], "package"),
            (["--signing-digest", String(repeating: "00", count: 32)], "signing_digest"),
            (["--min-security", "strongbox"], "security_level"),
        ] {
            let (status, json) = try Self.explain(base + wrong + [chain])
            #expect(status == 1 && json["code"]?.stringValue == code)
        }
    }

    @Test(
        "are not explained with options that do not fit",
        arguments: [
            ["android-attestation"], ["android-attestation", "--app-id", "a", "file"],
            ["android-attestation", "--signing-digest", "00", "file"],
            ["android-attestation", "--min-security", "high", "file"],
            ["android-attestation", "--at", "now", "file"],
            ["attestation", "--package", "a.b", "file"], ["receipt", "--any-boot-state", "file"],
        ])
    func usage(arguments: [String]) throws {
        let outcome = try BuiltProgram.run(["explain"] + arguments)
        #expect(outcome.status == .exited(2))
        #expect(outcome.standardOutput.isEmpty)
    }
}
