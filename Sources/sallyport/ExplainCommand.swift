import AppAttest
import Attestation
import Bytes
import Crypto
import EventLoop
import Judgement

/// `sallyport explain`: shows the contents of an object and the checks that it passes, offline.
enum ExplainCommand {
    static let usage = """
        usage: sallyport explain attestation|assertion|receipt|android-attestation|request|causes
                                 [OPTION...] [WHAT]

        attestation, assertion and receipt decode and verify an object, offline. WHAT is a file
        that holds base64 or raw bytes; - reads standard input.

          --at RFC3339                 judge certificates at this time (default: now)
          --challenge-file F           the challenge, as the app hashed it
          --client-data-file F         the client data, as the app hashed it
          --client-data-hash-file F    what the app passed as client data hash
          --key-id B64                 the key id that the app sent
          --public-key B64             the key's X9.63 point (assertions need it)
          --app-id ID                  TEAMID.bundle.id
          --environment E              production or development
          --root PEM                   trust this root instead of Apple's
          --json                       print JSON

        Valid (exit 0) means that no check failed and that everything needed was given: the
        challenge, client data or hash, and for an assertion the public key. Anything else exits 1.

        android-attestation does the same for the chain of an Android key. WHAT is a file of
        certificates in PEM, leaf first, or a JSON array of their base64. What is not given is not
        compared; --at, --challenge-file, --key-id, --root and --json are as above.

          --package NAME               a package that may own the key; repeat it for several
          --signing-digest HEX         SHA-256 of a certificate that may have signed it
          --revocation-list FILE       Google's list of revoked certificates, as published
          --min-security LEVEL         tee (the default), strongbox or software
          --any-boot-state             accept unlocked phones and any system

        request says why a request was refused, whose fault that is and what to do. WHAT is its id,
        which every answer has in X-Request-Id. It is looked up in the access log (and rotated
        files beside it), among the last refusals that the gateway's admin listener has, and in
        capture.directory.

          -c FILE                      the gateway's configuration
          --log FILE                   search this access log instead; - reads standard input
          --json                       print JSON

        causes prints what each reason and detail of the access log means, as a page in Markdown.
        """

    private static let options = [
        "--at", "--challenge-file", "--client-data-file", "--client-data-hash-file", "--key-id",
        "--public-key", "--app-id", "--environment", "--root",
    ]
    /// The options of each sort of kind; every other one is refused.
    private static let optionsByKind = [
        "request": ExplainRequestCommand.options,
        ExplainAndroidCommand.kind: ExplainAndroidCommand.options,
    ]

    static func main(_ words: [String]) {
        let all = options + ExplainRequestCommand.options + ExplainAndroidCommand.options
        let arguments = Arguments(
            words, options: all, flags: ["--json"] + ExplainAndroidCommand.flags, usage: usage)
        guard let kind = arguments.operands.first else { Exit.usage(usage) }
        let own = optionsByKind[kind] ?? options
        let foreign =
            all.first { arguments.options[$0] != nil && !own.contains($0) }
            ?? ExplainAndroidCommand.flags.first {
                arguments.flags.contains($0) && kind != ExplainAndroidCommand.kind
            }
        if let foreign { Exit.usage("\(foreign) is not for explain \(kind)\n\n\(usage)") }
        switch kind {
        case "causes" where words.count == 1: Console.write(CausePage.text, to: 1)
        case "request": ExplainRequestCommand.main(arguments)
        case ExplainAndroidCommand.kind: ExplainAndroidCommand.main(arguments)
        default: explainObject(arguments)
        }
    }

    private static func explainObject(_ arguments: Arguments) {
        guard arguments.operands.count == 2,
            let kind = ExplainedObject(rawValue: arguments.operands[0])
        else { Exit.usage(usage) }
        let object = ExplainInput.object(read(arguments.operands[1]))
        let expected = expectations(arguments)
        show(kind.explanation(of: object, expecting: expected), arguments)
    }

    /// Prints an explanation, and ends the process with its verdict.
    static func show(_ explanation: Explanation, _ arguments: Arguments) -> Never {
        if arguments.flags.contains("--json") {
            Console.print(String(decoding: explanation.json, as: UTF8.self))
        } else {
            Console.print(explanation.text)
        }
        Exit.with(explanation.isValid ? .ok : .failed)
    }

    private static func expectations(_ arguments: Arguments) -> Expectations {
        var expected = Expectations(at: seconds(arguments))
        let challenge = arguments.value("--challenge-file")
        let clientData = arguments.value("--client-data-file")
        if challenge != nil, clientData != nil {
            Exit.usage("--challenge-file and --client-data-file exclude each other")
        }
        expected.clientData = (challenge ?? clientData).map(read)
        expected.clientDataHash = arguments.value("--client-data-hash-file").map {
            ExplainInput.clientDataHash(read($0))
        }
        expected.keyID = keyID(arguments)
        if let text = arguments.value("--public-key") {
            guard let bytes = Base64.decode(text), let key = P256PublicKey(x963: bytes.span) else {
                Exit.usage("--public-key: not base64 of an uncompressed P-256 point (65 bytes)")
            }
            expected.publicKey = key
        }
        expected.appID = arguments.value("--app-id")
        if let text = arguments.value("--environment") {
            guard let environment = AttestEnvironment(rawValue: text) else {
                Exit.usage("--environment: \(text) is neither production nor development")
            }
            expected.environment = environment
        }
        for path in arguments.options["--root"] ?? [] { expected.roots += roots(path) }
        return expected
    }

    /// The moment at which certificates are judged, since 1970.
    static func seconds(_ arguments: Arguments) -> Int64 {
        guard let text = arguments.value("--at") else { return WallClock.now().seconds }
        guard let time = RFC3339.parse(text) else {
            Exit.usage("--at: \(text) is not an RFC 3339 time such as 2026-09-21T10:00:00Z")
        }
        return time.seconds
    }

    static func keyID(_ arguments: Arguments) -> KeyID? {
        guard let text = arguments.value("--key-id") else { return nil }
        guard let keyID = KeyID(base64: text) else {
            Exit.usage("--key-id: not base64 of 32 bytes")
        }
        return keyID
    }

    private static func roots(_ path: String) -> [Certificate] {
        do {
            let found = try Certificate.parsePEM(read(path))
            guard !found.isEmpty else { Exit.failed("\(path): holds no certificate") }
            return found
        } catch {
            Exit.failed("\(path): not a PEM certificate")
        }
    }

    static func read(_ path: String) -> [UInt8] {
        do {
            return try File.read(path == "-" ? "/dev/stdin" : path, byteCountMax: byteCountMax)
        } catch {
            Exit.failed("\(error)")
        }
    }

    /// The longest file: objects are a few KiB, but client data may be a whole request body.
    static let byteCountMax = 16 * 1024 * 1024
}
