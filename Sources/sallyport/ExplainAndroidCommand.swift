import AndroidAttestation
import Bytes

/// `sallyport explain android-attestation`: shows the chain of an Android key and the checks that
/// it passes, offline.
enum ExplainAndroidCommand {
    static let kind = "android-attestation"
    static let options = [
        "--at", "--challenge-file", "--key-id", "--root", "--package", "--signing-digest",
        "--revocation-list", "--min-security",
    ]
    static let flags = ["--any-boot-state"]

    /// The operands are ``kind`` and the file.
    static func main(_ arguments: Arguments) -> Never {
        guard arguments.operands.count == 2 else { Exit.usage(ExplainCommand.usage) }
        let expected = expectations(arguments)
        let file = ExplainCommand.read(arguments.operands[1])
        // A file without a chain is explained as one of no certificates.
        let chain = AndroidChainInput.chain(file) ?? []
        ExplainCommand.show(.androidAttestation(chain, expecting: expected), arguments)
    }

    private static func expectations(_ arguments: Arguments) -> AndroidExpectations {
        var expected = AndroidExpectations(at: ExplainCommand.seconds(arguments))
        expected.keyID = ExplainCommand.keyID(arguments)
        expected.packages = arguments.options["--package"] ?? []
        expected.signingDigests = (arguments.options["--signing-digest"] ?? []).map(digest)
        if let name = arguments.value("--min-security") {
            guard let level = AndroidSecurityLevel(name: name) else {
                Exit.usage("--min-security: \(name) is neither tee, strongbox nor software")
            }
            expected.securityLevelMin = level
        }
        expected.acceptsAnyBootState = arguments.flags.contains("--any-boot-state")
        expected.challenge = arguments.value("--challenge-file").map(ExplainCommand.read)
        expected.revocations = arguments.value("--revocation-list").map(revocationList)
        for path in arguments.options["--root"] ?? [] { expected.roots += roots(path) }
        return expected
    }

    /// A digest as the tools of Android print it: hexadecimal, with colons or without.
    private static func digest(_ text: String) -> Bytes32 {
        guard let bytes = Hex.decode(text.filter { $0 != ":" }), let digest = Bytes32(bytes) else {
            Exit.usage("--signing-digest: \(text) is not a SHA-256 in hexadecimal")
        }
        return digest
    }

    private static func revocationList(_ path: String) -> RevocationList {
        do {
            return try RevocationList(parsing: ExplainCommand.read(path))
        } catch {
            Exit.failed("\(path): \(error)")
        }
    }

    private static func roots(_ path: String) -> [AndroidRoot] {
        do {
            return try AndroidRoot.parsePEM(ExplainCommand.read(path))
        } catch {
            Exit.failed("\(path): \(error)")
        }
    }
}
