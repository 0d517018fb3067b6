import Bytes
import HTTP
import Testing

private enum Normalised: Equatable {
    case asReceived(String)
    case normal(String, TargetAllowances)
    case refused(HTTPFault)
}

private func normalise(_ target: [UInt8], _ allowing: TargetAllowances = []) -> Normalised {
    var scratch = Array("left over".utf8)
    switch TargetPath.normalize(target.span, allowing: allowing, into: &scratch) {
    case .asReceived(let pathCount):
        return .asReceived(String(decoding: target.prefix(pathCount), as: UTF8.self))
    case .normalized(let pathCount, let spellings):
        #expect(pathCount == scratch.count)
        return .normal(String(decoding: scratch, as: UTF8.self), spellings)
    case .refused(let fault): return .refused(fault)
    }
}

private func normalise(_ target: String, _ allowing: TargetAllowances = []) -> Normalised {
    normalise(Array(target.utf8), allowing)
}

private let everything: TargetAllowances = [
    .dotSegments, .emptySegments, .encodedSlash, .backslash, .pathParameters,
]

@Suite("The normal form of a path")
struct TargetPathTests {}

extension TargetPathTests {
    @Test(
        "is what was received where nothing is encoded",
        arguments: [
            "/", "/a", "/a/", "/a/b.c", "/.well-known/x", "/..a/.b./...", "/a.", "/a..",
            "/-._~!$&'()*+,=:@", "/" + String(repeating: "a/", count: 200),
        ])
    func asReceived(path: String) {
        #expect(normalise(path) == .asReceived(path))
        #expect(normalise(path + "?q=/../;%zz") == .asReceived(path))
        #expect(normalise(path + "?") == .asReceived(path))
    }

    @Test(
        "decodes what may stand for itself and folds the rest",
        arguments: [
            ("/%61", "/a"), ("/%41%7a%30%39", "/Az09"), ("/%2D%5f%7E", "/-_~"),
            ("/a%40b", "/a@b"), ("/%21%24%26%27%28%29%2a%2B%2c%3d%3A", "/!$&'()*+,=:"),
            ("/%20", "/%20"), ("/%c3%a9", "/%C3%A9"), ("/%25", "/%25"), ("/%252f", "/%252f"),
            ("/%3f%23", "/%3F%23"), ("/%7b%7D%22%3c", "/%7B%7D%22%3C"),
            ("/%61pi/%74ransfer?%74", "/api/transfer"), ("/%ff", "/%FF"),
            ("/[a]|^", "/%5Ba%5D%7C%5E"), ("/%5ba%5D%7c%5e", "/%5Ba%5D%7C%5E"),
            ("/%e0%a0%80", "/%E0%A0%80"), ("/%F0%90%80%80", "/%F0%90%80%80"),
        ])
    func decoded(target: String, expected: String) {
        #expect(normalise(target) == .normal(expected, []))
    }

    @Test(
        "does not exist where servers disagree, or for bytes no path may hold",
        arguments: [
            ("", .pathInvalid), ("a", .pathInvalid), ("*", .pathInvalid), ("?a", .pathInvalid),
            ("/a b", .pathInvalid), ("/a\0", .pathInvalid), ("/é", .pathInvalid),
            ("/a#b", .pathInvalid), ("/a<b>", .pathInvalid), ("/{a}", .pathInvalid),
            ("/`", .pathInvalid), ("/\"", .pathInvalid), ("/a}", .pathInvalid),
            ("/a>", .pathInvalid), ("/a?b#c", .queryInvalid),
            ("/a?b c", .queryInvalid), ("/a?\u{7F}", .queryInvalid), ("/a?é", .queryInvalid),
            ("/%", .percentEncodingInvalid), ("/%4", .percentEncodingInvalid),
            ("/%zz", .percentEncodingInvalid), ("/%4g", .percentEncodingInvalid),
            ("/%%34", .percentEncodingInvalid), ("/%4?1", .percentEncodingInvalid),
            ("/%u0041", .percentEncodingInvalid), ("/%00", .encodedControl),
            ("/a%0d%0ab", .encodedControl), ("/%1f", .encodedControl), ("/%7f", .encodedControl),
            ("/%c0%af", .overlongEncoding), ("/%C0%AE%C0%AE/", .overlongEncoding),
            ("/%c1%9c", .overlongEncoding), ("/%e0%80%af", .overlongEncoding),
            ("/%f0%80%80%af", .overlongEncoding), ("/.", .dotSegment), ("/..", .dotSegment),
            ("/./a", .dotSegment), ("/a/./b", .dotSegment), ("/a/../b", .dotSegment),
            ("/a/..", .dotSegment), ("/a/%2e", .dotSegment), ("/%2e%2E/a", .dotSegment),
            ("/.%2e/a", .dotSegment), ("/a/..;x/b", .dotSegment), ("/a/.;/b", .dotSegment),
            ("/a/%2e.%3bx/b", .dotSegment), ("/a/..?b", .dotSegment), ("/a%2Ejs", .encodedDot),
            ("//", .emptySegment), ("//a", .emptySegment), ("/a//b", .emptySegment),
            ("/a//", .emptySegment), ("/a/;x/b", .emptySegment), ("/a%2fb", .encodedSlash),
            ("/a%2Fb", .encodedSlash), ("/a\\b", .backslash), ("/a%5cb", .backslash),
            ("/a%5Cb", .backslash), ("/a/..%2fb", .dotSegment), ("/a/..\\b", .dotSegment),
            ("/a/..%5Cb", .dotSegment), ("/a%2f%2e%2e%2fb", .dotSegment),
        ] as [(String, HTTPFault)])
    func refused(target: String, fault: HTTPFault) {
        #expect(normalise(target) == .refused(fault))
    }

    @Test("leaves parameters out and reports them")
    func parameters() {
        #expect(normalise("/a;x=1/b;y?c;d") == .normal("/a/b", .pathParameters))
        #expect(normalise("/a%3Bx") == .normal("/a", .pathParameters))
        #expect(normalise("/;a") == .normal("/", .pathParameters))
        #expect(normalise("/a;%zz") == .refused(.percentEncodingInvalid))
        #expect(normalise("/a;%00") == .refused(.encodedControl))
        #expect(normalise("/a;\u{7F}") == .refused(.pathInvalid))
        #expect(normalise("/a;x%2f..%2fb") == .refused(.dotSegment))
        var scratch: [UInt8] = []
        let target = Array("/a;b".utf8)
        let outcome = TargetPath.normalize(target.span, allowing: [], into: &scratch)
        #expect(outcome.hasParameters)
        #expect(!TargetPathOutcome.asReceived(pathCount: 1).hasParameters)
    }

    @Test("of an allowed spelling is what it stands for")
    func allowed() {
        let dots = TargetAllowances.dotSegments
        #expect(normalise("/a/./b/../c", dots) == .normal("/a/c", dots))
        #expect(normalise("/a/b/..", dots) == .normal("/a/", dots))
        #expect(normalise("/a/b/.", dots) == .normal("/a/b/", dots))
        #expect(normalise("/a/%2e%2E/b", dots) == .normal("/b", dots))
        #expect(normalise("/a%2Ejs", dots) == .normal("/a.js", dots))
        #expect(normalise("/a/..", dots) == .normal("/", dots))
        #expect(normalise("/..", dots) == .refused(.dotSegment))
        #expect(normalise("/a/../../b", dots) == .refused(.dotSegment))
        let empties = TargetAllowances.emptySegments
        #expect(normalise("//a///b//", empties) == .normal("/a/b/", empties))
        let slash = TargetAllowances.encodedSlash
        #expect(normalise("/a%2fb", slash) == .normal("/a/b", slash))
        #expect(normalise("/a/%2fb", slash) == .refused(.emptySegment))
        #expect(normalise("/a%2f..", slash) == .refused(.dotSegment))
        let backslash = TargetAllowances.backslash
        #expect(normalise("/a\\b%5Cc", backslash) == .normal("/a/b/c", backslash))
        #expect(
            normalise("/x/..;a%2f/\\b", everything) == .normal("/b", everything))
        let control = TargetAllowances.encodedControl
        #expect(normalise("/a%0d%1f/%7F", control) == .normal("/a%0D%1F/%7F", control))
        #expect(normalise("/a%0d/../b", control) == .refused(.dotSegment))
        #expect(normalise("/%00", [control, everything]) == .refused(.encodedControl))
        #expect(normalise("/%c0%ae", everything) == .refused(.overlongEncoding))
    }

    @Test("of a pattern takes nothing that is refused in a request")
    func patterns() throws {
        func pattern(_ text: String) throws(HTTPFault) -> String {
            String(decoding: try TargetPath.normalize(pattern: Array(text.utf8)), as: UTF8.self)
        }
        #expect(try pattern("/a/b") == "/a/b")
        #expect(try pattern("/%61/%c3%a9/") == "/a/%C3%A9/")
        for (text, fault) in [
            ("", HTTPFault.pathInvalid), ("a", .pathInvalid), ("/a?b", .pathInvalid),
            ("/%61?b", .pathInvalid), ("/a//b", .emptySegment), ("/a;b", .pathParameters),
            ("/a/../b", .dotSegment), ("/a%2fb", .encodedSlash), ("/é", .pathInvalid),
        ] {
            #expect(throws: fault) { try pattern(text) }
        }
    }

    @Test("is its own normal form, for random targets")
    func idempotent() {
        var random = SeededGenerator(state: 4)
        let parts = [
            "/", "/", "/", ".", "..", "%2e", "%2F", "%5c", "\\", ";", "%3b", "a", "%61", "%C3",
            "%af", "%40", "?", "%", "x", "%00", "\0", "%E0",
        ]
        for _ in 0..<20_000 {
            var target = "/"
            for _ in 0..<Int.random(in: 0..<10, using: &random) {
                target += parts.randomElement(using: &random) ?? ""
            }
            for allowing in [[], everything] as [TargetAllowances] {
                guard case .normal(let path, _) = normalise(target, allowing) else { continue }
                if path.contains("%") {
                    #expect(normalise(path) == .normal(path, []))
                } else {
                    #expect(normalise(path) == .asReceived(path))
                }
            }
        }
    }
}
