import Testing

/// A pattern that may not stand in some files, and what to write instead.
private struct BannedPattern: Sendable {
    /// One of these is in all that the pattern matches.
    let words: [String]
    let pattern: @Sendable () -> Regex<Substring>
    let replacement: String
    var isExempt: @Sendable (SourceFile) -> Bool = { _ in false }
}

@Suite("Words")
struct WordTests {}

extension WordTests {
    /// Nothing of ours: the patterns below would find themselves.
    private static var swiftFiles: [SourceFile] {
        SourceTree.swiftFiles.filter { !$0.path.hasPrefix("Tests/TidyTests/") }
    }

    private static let everywhere: [BannedPattern] = [
        BannedPattern(
            words: ["try!"], pattern: { /\btry!/ },
            replacement: "`try!` traps: catch, or throw on"),
        BannedPattern(
            words: ["as!"], pattern: { /\bas!/ },
            replacement: "`as!` traps: use `as?` and say what if not"),
        BannedPattern(
            words: ["!"], pattern: { /[\w\)\]]!(?=[\s.,;:\)\]\[\(]|$)/ },
            replacement: "a forced unwrap traps: `guard let`, or precondition with a reason"),
        BannedPattern(
            words: ["Mutex"], pattern: { /\bMutex\b/ },
            replacement: "`Mutex` gives false reports under TSan: use EventLoop's `Locked`"),
        BannedPattern(
            words: ["state.verdict"], pattern: { /switch .*\.state\.verdict/ },
            replacement: "a build without optimization leaks the state: give it a name first"),
    ]

    private static let inSources: [BannedPattern] = [
        BannedPattern(
            words: ["Foundation"], pattern: { /\bimport +Foundation\w*/ },
            replacement: "Foundation doubles the binary: use Bytes, JSON, EventLoop, Crypto"),
        BannedPattern(
            words: ["await", "async"], pattern: { /\b(?:await|async)\b/ },
            replacement:
                "no async code in the server: a stage returns `.wait`, the loop calls again"
        ),
        BannedPattern(
            words: ["actor"], pattern: { /\bactor\b/ },
            replacement: "no actors: state belongs to one worker's thread"
        ),
        BannedPattern(
            words: ["Task"], pattern: { /\bTask\s*[{(.]/ },
            replacement: "no tasks: a worker's loop, or a `Thread`"),
        BannedPattern(
            words: ["DispatchQueue", "NSLock", "os_unfair_lock"],
            pattern: { /\b(?:DispatchQueue|NSLock|os_unfair_lock)\b/ },
            replacement: "EventLoop's `Mailbox`, `Thread` and `Locked`"),
    ]

    private static let inTests: [BannedPattern] = [
        BannedPattern(
            words: ["sleep"],
            pattern: { /\b(?:sleep|usleep|nanosleep|sleepForTimeInterval)\s*\(|\bThread\.sleep\b/ },
            replacement: "tests wait for an event, never for time to pass"),
        BannedPattern(
            words: ["timeIntervalSinceNow"],
            pattern: { /\blimit = Date\(timeIntervalSinceNow: [0-9]/ },
            replacement: "`ChildProcess.deadline`: a busy machine takes longer than one expects"),
        BannedPattern(
            words: ["@testable"], pattern: { /@testable\b/ },
            // The gateway's front door is a process that listens: its parts are one product's own.
            replacement: "`@testable`: test through the module's front door, or `package`",
            isExempt: { file in
                ["GatewayTests", "SimulationTests"].contains { file.path.hasPrefix("Tests/\($0)/") }
                    // It makes the calls of a gateway one by one, in the order of a model's.
                    || file.path == "Tests/KeyStoreTests/ClusterReplay.swift"
            }),
    ]

    private static func findings(
        _ patterns: [BannedPattern], in files: [SourceFile]
    ) -> [Finding] {
        // Made once, and by scalars rather than graphemes: there are 100,000 lines.
        let expressions = patterns.map { $0.pattern().matchingSemantics(.unicodeScalar) }
        return files.flatMap { file in
            let asked = zip(patterns, expressions)
                .filter { !$0.0.isExempt(file) && file.mentions($0.0.words) }
            return file.code.lines.enumerated().flatMap { offset, line -> [Finding] in
                guard line.utf8.contains(where: { $0 != 0x20 }) else { return [] }
                return asked.filter { line.contains($0.1) }
                    .map { file.finding(line: offset + 1, $0.0.replacement) }
            }
        }
    }

    @Test("nothing that traps, nor a lock that misleads, is written anywhere")
    func everywhere() {
        let findings = Self.findings(Self.everywhere, in: Self.swiftFiles)
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("neither Foundation nor async code is in Sources")
    func sources() {
        // What apps take in has Foundation anyway.
        let files = Self.swiftFiles.filter { !$0.isTest && !$0.path.hasPrefix("clients/") }
        let findings = Self.findings(Self.inSources, in: files)
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no test sleeps or looks behind a module's front door")
    func tests() {
        let findings = Self.findings(Self.inTests, in: Self.swiftFiles.filter(\.isTest))
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("the clients send by their transport alone")
    func clientSessions() {
        let findings = Self.findings(
            [
                BannedPattern(
                    words: ["URLSession"],
                    pattern: { /\bURLSession\.shared\b|\bURLSession *= *\.shared\b/ },
                    replacement: "take the transport's session: it pins and keeps no cookies")
            ], in: Self.swiftFiles.filter { $0.path.hasPrefix("clients/swift/Sources/") })
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("only commands print")
    func printing() {
        let commands: [Substring?] = ["sallyport", "sallyport-lab"]
        let findings = Self.findings(
            [
                BannedPattern(
                    words: ["print(", "debugPrint("],
                    pattern: { /(?:^|[^.\w])(?:debugPrint|print)\(/ },
                    replacement: "only commands print; a library returns or logs")
            ], in: Self.swiftFiles.filter { !$0.isTest && !commands.contains($0.target) })
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no note of unfinished work, no block comment")
    func comments() {
        let unfinished = /\b(?:TODO|FIXME|XXX|HACK)\b/
        let findings = Self.swiftFiles.flatMap { file in
            file.lines.enumerated().filter { $0.element.contains(unfinished) }.map {
                file.finding(line: $0.offset + 1, "finish it, or open an issue")
            }
                + file.code.blockCommentLines.map {
                    file.finding(line: $0, "a block comment: use `//` or `///`")
                }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    /// Comments on declarations that begin with a word whose subject is missing.
    private static func openings(in file: SourceFile) -> [Finding] {
        let opening =
            /(?:Of |The same[ ,]|As above|Likewise|(?:Whom?|Where|Whether it)\b|What [\w ]+ of\b)/
            .wordBoundaryKind(.simple).matchingSemantics(.unicodeScalar)
        let texts = file.lines.map { line in line.drop { $0 == " " } }
        return texts.indices.filter { index in
            guard texts[index].hasPrefix("/// "),
                index == 0 || !texts[index - 1].hasPrefix("///")
            else { return false }
            var text = texts[index].dropFirst(4)
            // The words may go on in the next line.
            if index + 1 < texts.count, texts[index + 1].hasPrefix("/// ") {
                text += texts[index + 1].dropFirst(3)
            }
            return text.prefixMatch(of: opening) != nil
        }.map { file.finding(line: $0 + 1, "begin with the subject: \"The …\", \"True if …\"") }
    }

    @Test("a comment on a declaration begins with its subject")
    func subjects() {
        let findings = SourceTree.swiftFiles.filter { !$0.isTest }.flatMap(Self.openings(in:))
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test(
        "a beginning without a subject is found, and nothing like it",
        arguments: [
            ("/// Whether it answers.", true), ("/// Whom to ask.", true), ("/// Where.", true),
            ("    /// Who asks.", true), ("/// What became of it.", true),
            ("/// What the files\n/// of it hold.", true), ("/// The same, but later.", true),
            ("/// Whole bytes.", false), ("/// Whether a key is known.", false),
            ("/// What it holds. Some of it is old.", false), ("/// Reads.\n/// Where.", false),
            ("// Who asks.", false), ("/// Official words.", false),
        ])
    func openings(comment: String, isFound: Bool) {
        let file = SourceFile(path: "Sources/X/X.swift", text: comment)
        #expect(Self.openings(in: file).isEmpty == !isFound)
    }

    /// Lines with a pronoun that hides who acts. Code may use the words as names.
    private static func pronouns(in file: SourceFile) -> [Finding] {
        let pronoun = /\b(?:nobody|somebody|anybody|whoever)\b/
            .ignoresCase().wordBoundaryKind(.simple).matchingSemantics(.unicodeScalar)
        // The name of a linked file is no prose.
        let target = /\]\([^)\s]*\)/.matchingSemantics(.unicodeScalar)
        return file.lines.indices.filter { index in
            let line = file.lines[index]
            guard line.contains(pronoun) else { return false }
            guard file.isSwift else { return line.replacing(target, with: "]").contains(pronoun) }
            let countInCode = file.code.lines[index].matches(of: pronoun).count
            return line.matches(of: pronoun).count > countInCode
        }.map { file.finding(line: $0 + 1, "say who: the client, an operator, no other process") }
    }

    @Test("no comment or message in Sources hides who acts behind a pronoun")
    func pronounsInSources() {
        let findings = SourceTree.swiftFiles.filter { file in
            ["Sources/", "clients/swift/Sources/"].contains { file.path.hasPrefix($0) }
        }.flatMap(Self.pronouns(in:))
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no page or configuration hides who acts behind a pronoun")
    func pronounsInPages() {
        // The change log keeps the words of its time.
        let findings = SourceTree.files.filter { file in
            let isConfiguration = file.path.hasPrefix("conf/") && file.path.hasSuffix(".yaml")
            return isConfiguration || file.path.hasSuffix(".md") && file.path != "CHANGELOG.md"
        }.flatMap(Self.pronouns(in:))
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test(
        "a pronoun is found in comments, messages and pages, not in code",
        arguments: [
            ("X.swift", "// Nobody asks.", true), ("X.swift", "let a = 1  // nobody's", true),
            ("X.swift", "log(\"somebody asks\")", true), ("X.md", "WHOEVER asks", true),
            ("X.swift", "let nobody = nobody()  // Nobody.", true),
            ("X.swift", "let nobody = anybody()", false), ("X.md", "a nobodyish body", false),
            ("X.swift", "let nobody = 1  // A user.", false),
            ("X.md", "[39](0039-the-judgement-asks-nobody.md): pure", false),
            ("X.md", "[nobody](who.md)", true),
        ])
    func pronouns(name: String, line: String, isFound: Bool) {
        let file = SourceFile(path: "Sources/X/\(name)", text: line)
        #expect(Self.pronouns(in: file).isEmpty == !isFound)
    }

    @Test("no file or type has a name that could hold anything")
    func names() {
        let vague = /(?:Utils?|Utilities|Helpers?|Manager|Misc|Common)\b/
        let declaration = /\b(?:struct|class|enum|protocol|typealias) +(\w+)/
        let findings = Self.swiftFiles.flatMap { file -> [Finding] in
            let stem = file.path.dropLast(".swift".count)
            let named = stem.split(separator: "/").contains { $0.firstMatch(of: vague) != nil }
            let fileFinding =
                named ? [file.finding(line: 1, "name the file after what it does")] : []
            return fileFinding
                + file.code.lines.enumerated()
                .filter { line in
                    line.element.matches(of: declaration).contains { $0.output.1.contains(vague) }
                }
                .map { file.finding(line: $0.offset + 1, "name the type after what it does") }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no committed file names a machine's own path or a host of packages")
    func places() {
        let places = [
            /(?:^|[\s"'=:(])\/(?:work|root|home|opt\/swift|tmp\/wt)\//,
            /\b(?:deb|security|archive|packages)\.(?:debian|ubuntu)\.(?:org|com)/,
            /\b(?:pypi\.org|files\.pythonhosted|registry\.npmjs)/,
        ]
        let words = [
            "/work/", "/root/", "/home/", "/opt/swift/", "/tmp/wt/", "debian.", "ubuntu.", "pypi",
            "pythonhosted", "npmjs",
        ]
        let findings = SourceTree.files
            .filter { !$0.path.hasPrefix("Tests/TidyTests/") && $0.path != "LICENSE" }
            .filter { $0.mentions(words) }
            .flatMap { file in
                file.lines.enumerated().filter { line in
                    places.contains { line.element.contains($0) }
                }.map {
                    file.finding(
                        line: $0.offset + 1, "this names one machine's place: say where relatively")
                }
            }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test(
        "the patterns find what they are for, and nothing like it",
        arguments: [
            ("let a = b!", true), ("call(b!)", true), ("a![0]", true), ("b!.c", true),
            ("try! f()", true), ("x as! Y", true), ("let m = Mutex(0)", true),
            ("if !a { }", false), ("a != b", false), ("(a) != b", false), ("\"b!\"", false),
            ("// b!", false), ("MutexLike()", false),
        ])
    func patterns(code: String, isBanned: Bool) {
        let file = SourceFile(path: "Sources/X/X.swift", text: code)
        #expect(Self.findings(Self.everywhere, in: [file]).isEmpty == !isBanned)
    }
}
