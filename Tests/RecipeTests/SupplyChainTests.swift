import Foundation
import GatewayTesting
import Testing

/// What a release is made of, how it is linked, and who made it: the scripts of `make dist`.
@Suite("The supply chain", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct SupplyChainTests {}

extension SupplyChainTests {
    private static func script(_ name: String) -> String { Repository.path(of: "scripts/\(name)") }

    /// The lines of `scripts/hardening.sh` that say what is missing.
    private static func missing(in program: String) throws -> [Substring] {
        let outcome = try ChildProcess.run(script("hardening.sh"), [program])
        let lines = outcome.standardOutput.split(separator: "\n")
        #expect(lines.count == 8, "\(outcome.standardError)")
        let missing = lines.filter { $0.hasPrefix("MISSING") }
        #expect(outcome.status == .exited(missing.isEmpty ? 0 : 1))
        return missing
    }

    @Test("a program that is not hardened is made into no package")
    func hardening() throws {
        // A debug build lacks what the flags of a release add.
        #expect(try Self.missing(in: BuiltProgram.sallyport).count == 2)
        let directory = try ScratchDirectory()
        let source = try directory.write("int main(void) { return 0; }\n", to: "bare.c")
        let bare = directory.path(of: "bare")
        let built = try ChildProcess.run(
            "gcc",
            [
                "-no-pie", "-z", "execstack", "-z", "norelro", "-Wl,-rpath,/x",
                "-fno-stack-protector", "-o", bare, source,
            ])
        #expect(built.status == .exited(0), "\(built.standardError)")
        #expect(try Self.missing(in: bare).count == 6)
    }

    // MARK: the SBOM

    private static let hasValidator = PythonInterpreter.environment.has("cyclonedx")

    @Test(
        "the SBOM is CycloneDX, with a licence of each part that its copyright file names",
        .enabled(if: hasValidator, "cyclonedx-python-lib is missing"))
    func bill() throws {
        let made = try ChildProcess.run(Self.script("sbom.sh"), [BuiltProgram.sallyport])
        #expect(made.status == .exited(0), "\(made.standardError)")
        let directory = try ScratchDirectory()
        func verdict(_ bill: String) throws -> ChildProcess.Outcome {
            let file = try directory.write(bill, to: "bill.cdx.json")
            return try ChildProcess.run(
                PythonInterpreter.environment.path, [Self.script("sbom_check.py"), file])
        }
        let right = try verdict(made.standardOutput)
        #expect(right.status == .exited(0), "\(right.standardOutput)\(right.standardError)")
        for (old, new, complaint) in [
            (#""type":"library""#, #""type":"book""#, "not CycloneDX"),
            (#""expression":"curl""#, #""expression":"AGPL-3.0-only""#, "nobody has judged"),
            (#""expression":"PostgreSQL""#, #""expression":"curl""#, "does not say"),
        ] {
            let wrong = try verdict(made.standardOutput.replacing(old, with: new))
            #expect(wrong.status == .exited(1))
            #expect(wrong.standardOutput.contains(complaint), "\(wrong.standardOutput)")
        }
    }

    // MARK: signatures

    private struct Release {
        let directory: ScratchDirectory
        var sums: String { directory.path(of: "SHA256SUMS") }
        var key: String { directory.path(of: "key.pem") }
        var publicKey: String { directory.path(of: "public.pem") }

        init() throws {
            directory = try ScratchDirectory()
            let made = try run("release-key.sh", [key])
            #expect(made.status == .exited(0), "\(made.standardError)")
            try directory.write("\(String(repeating: "0", count: 64))  a.deb\n", to: "SHA256SUMS")
        }

        func run(_ script: String, _ arguments: [String]) throws -> ChildProcess.Outcome {
            try ChildProcess.run(
                "env", ["PUBLIC_KEY=\(publicKey)", SupplyChainTests.script(script)] + arguments)
        }

        /// The command of `SECURITY.md`.
        func isVerified() throws -> Bool {
            let page = try Repository.text(of: "SECURITY.md")
            let line = try #require(page.split(separator: "\n").first { $0.contains("-verify") })
            let command = line.replacing("deploy/release-key.pem", with: publicKey)
            return try ChildProcess.run(
                "sh", ["-c", "cd \(directory.path) && \(command)"]
            ).status == .exited(0)
        }
    }

    @Test("the signature of a release is verified as SECURITY.md says")
    func signature() throws {
        let release = try Release()
        #expect(
            try release.run("sign.sh", [release.key, release.directory.path]).status == .exited(0))
        #expect(try release.isVerified())
        try release.directory.write(
            "\(String(repeating: "1", count: 64))  a.deb\n", to: "SHA256SUMS")
        #expect(try !release.isVerified())
    }

    @Test("the key is for its owner alone, never in the repository, and never replaced")
    func key() throws {
        let release = try Release()
        let attributes = try FileManager.default.attributesOfItem(atPath: release.key)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let again = try release.run("release-key.sh", [release.key])
        #expect(again.status == .exited(2))
        #expect(again.standardError.contains("exists"))
        let inside = try release.run("release-key.sh", [Repository.path(of: "key.pem")])
        #expect(inside.status == .exited(2))
        #expect(inside.standardError.contains("outside of the repository"))
    }

    @Test("another key than the published one signs nothing")
    func otherKey() throws {
        let release = try Release()
        let other = try Release()
        let outcome = try release.run("sign.sh", [other.key, release.directory.path])
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.contains("another key"))
        #expect(!FileManager.default.fileExists(atPath: release.sums + ".sig"))
    }
}
