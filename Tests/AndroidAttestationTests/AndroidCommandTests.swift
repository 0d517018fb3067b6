import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "Android attestations, by the command",
    .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct AndroidCommandTests {}

extension AndroidCommandTests {
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

    @Test("are minted with each fault by sallyport-lab")
    func minted() throws {
        let directory = try ScratchDirectory()
        let google = directory.path(of: "google.json")
        let root = directory.path(of: "root.pem")
        let made = try ChildProcess.run(
            BuiltProgram.lab,
            ["root", "--platform", "android", "--state", google, "--pem", root])
        try #require(made.status == .exited(0), "\(made.standardError)")
        let device = directory.path(of: "phone.json")
        let phone = try ChildProcess.run(
            BuiltProgram.lab,
            [
                "device", "new", "--platform", "android", "--state", device, "--app",
                androidPackage, "--signing-digest", Hex.encode(androidDigest.array),
            ])
        let keyID = try #require(
            KeyID(base64: phone.standardOutput.filter { !$0.isWhitespace }))
        var expected = AndroidExpectations(at: androidNow)
        expected.challenge = androidChallenge
        expected.keyID = keyID
        expected.packages = [androidPackage]
        expected.signingDigests = [androidDigest]
        expected.roots = try AndroidRoot.parsePEM(
            Array(try String(contentsOfFile: root, encoding: .utf8).utf8))
        let mint = [
            "mint", "android-attestation", "--google", google, "--device", device, "--at",
            "\(androidNow)", "--challenge", String(decoding: androidChallenge, as: UTF8.self),
        ]
        for fault in [nil] + AndroidFault.allCases.map(Optional.some) {
            for form in [[], ["--pem"]] where form.isEmpty || fault == nil {
                let words = fault.map { ["--fault", $0.rawValue] } ?? []
                let outcome = try ChildProcess.run(BuiltProgram.lab, mint + words + form)
                let chain = AndroidChainInput.chain(Array(outcome.standardOutput.utf8)) ?? []
                let explanation = Explanation.androidAttestation(chain, expecting: expected)
                #expect(explanation.code == fault?.code ?? "ok", "\(outcome.standardError)")
            }
        }
    }
}
