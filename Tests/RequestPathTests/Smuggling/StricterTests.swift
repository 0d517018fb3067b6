import Foundation
import GatewayTesting
import Testing

/// `docs/proof/conformance.md` tells operators what is refused though the RFCs allow it. Each of
/// its rows is held against what the gateway does with real requests.
@Suite("Stricter than the RFCs", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct StricterTests {}

extension StricterTests {
    private static let page = (try? Repository.text(of: "docs/proof/conformance.md")) ?? ""

    /// The rows of the table whose first column has this heading.
    private static func rows(_ heading: String) -> [[String]] {
        page.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { !$0.hasPrefix("| \(heading) |") }.dropFirst(2)
            .prefix { $0.hasPrefix("|") }
            .map { row in
                row.dropFirst().dropLast().replacing("\\|", with: "\u{0}").split(separator: "|")
                    .map { $0.trimmingCharacters(in: .whitespaces) }
            }
    }

    /// What a client sends for each row, and near it what is taken; or what an upstream answers.
    private struct Row {
        var refused: [String] = []
        var taken: [String] = []
        var answers: [String] = []
    }

    private static func target(_ target: String) -> String { "GET \(target) HTTP/1.1⏎Host: a⏎⏎" }
    private static func host(_ host: String) -> String { "GET /p HTTP/1.1⏎Host: \(host)⏎⏎" }
    private static func fields(_ lines: String) -> String { "GET /p HTTP/1.1⏎Host: a⏎\(lines)⏎⏎" }
    private static func post(_ lines: String, _ body: String = "") -> String {
        "POST /p HTTP/1.1⏎Host: a⏎\(lines)⏎⏎\(body)"
    }

    /// The fields that the page says `Connection` may not name.
    private static let endToEnd: [String] = {
        let text = page.replacing("\n", with: " ")
        guard let list = text.firstMatch(of: /Fields meant for all, .+? are here (.+?)\./) else {
            return []
        }
        return list.output.1.matches(of: /`([\w-]+)`/).map { String($0.output.1) }
    }()

    private static let table: [String: Row] = [
        "dot segments, `//`, `%2F`, `\\`, `%5C`, `;` on attested routes, `%01` to `%1F`, `%7F`":
            Row(
                refused: [
                    "/a/../p", "/./p", "//p", "/a%2Fp", "/a\\p", "/a%5Cp", "/o/p;v=1", "/%01",
                    "/%1F", "/%7F",
                ].map(target), taken: [target("/p;v=1"), target("/%20")]),
        "`%00`, `%` without two digits, overlong UTF-8, raw `{ } < > \"`, bytes above 0x7F in a "
            + "target":
            Row(
                refused: [
                    "/%00", "/%2", "/%zz", "/%c0%ae", "/{", "/}", "/<", "/>", "/\"", "/\u{E9}",
                ].map(target), taken: [target("/%C3%A9"), target("/[]^|"), target("/p?{<\"")]),
        "a `#` in a target, bare LF or CR, folded lines, a space before a request's colon":
            Row(
                refused: [
                    target("/p#a"), fields("A: b\nC: d"), fields("A: b\rc"), fields("A: b⏎ c"),
                    fields("A : b"),
                ]),
        "two `Content-Length`, even equal ones, or one with `Transfer-Encoding`; codings but "
            + "`chunked`":
            Row(
                refused: [
                    post("Content-Length: 1⏎Content-Length: 1", "a"),
                    post("Content-Length: 5⏎Transfer-Encoding: chunked", "0⏎⏎"),
                    post("Transfer-Encoding: gzip, chunked", "0⏎⏎"),
                ]),
        "an absolute target with another `Host`":
            Row(
                refused: ["GET http://b/p HTTP/1.1⏎Host: a⏎⏎"],
                taken: ["GET http://a/p HTTP/1.1⏎Host: a⏎⏎"]),
        "an empty `Host`": Row(refused: [host("")]),
        "a `Host` with a percent-encoding": Row(refused: [host("%61"), host("a%2Eb")]),
        "a port in `Host` above 65535, or of more than five digits":
            Row(
                refused: [host("a:65536"), host("a:000080"), host("[::1]:65536")],
                taken: [host("a:65535"), host("a:00080"), host("a:")]),
        "brackets in `Host` with a zone, or another version of IP":
            Row(
                refused: [host("[fe80::1%25eth0]"), host("[v1.a]")],
                taken: [host("[::1]"), host("[::ffff:192.0.2.1]:80")]),
        "methods with lower-case letters": Row(
            refused: ["Get", "post"].map { "\($0) /p HTTP/1.1⏎Host: a⏎⏎" }),
        "methods of more than 32 bytes":
            Row(
                refused: [String(repeating: "M", count: 33) + " /p HTTP/1.1⏎Host: a⏎⏎"],
                taken: [String(repeating: "M", count: 32) + " /p HTTP/1.1⏎Host: a⏎⏎"]),
        "`HTTP/1.2` and above, `CONNECT`, `TRACE`, unknown expectations":
            Row(
                refused: [
                    "GET /p HTTP/1.2⏎Host: a⏎⏎", "GET /p HTTP/2.0⏎Host: a⏎⏎",
                    "CONNECT a:443 HTTP/1.1⏎Host: a:443⏎⏎", "TRACE /p HTTP/1.1⏎Host: a⏎⏎",
                    post("Content-Length: 1⏎Expect: 200-ok", "a"),
                ]),
        "`Connection` that names a field meant for all":
            Row(
                refused: endToEnd.map { fields("Connection: close, \($0)") },
                taken: [fields("Connection: X-Hop, TE"), fields("Connection: Accept")],
                answers: ["HTTP/1.1 200 OK⏎Connection: Content-Type⏎Content-Length: 0⏎⏎"]),
        "`Connection` with more than 32 names":
            Row(
                refused: [fields("Connection: " + names(33))],
                taken: [fields("Connection: keep-alive, " + names(32))],
                answers: ["HTTP/1.1 200 OK⏎Connection: \(names(33))⏎Content-Length: 0⏎⏎"]),
        "an upstream's `Content-Length` or `Transfer-Encoding` in a 1xx, or before a space":
            Row(
                answers: [
                    "HTTP/1.1 103 Early Hints⏎Content-Length: 0⏎⏎",
                    "HTTP/1.1 103 Early Hints⏎Transfer-Encoding: chunked⏎⏎",
                    "HTTP/1.1 200 OK⏎Content-Length : 0⏎⏎",
                    "HTTP/1.1 200 OK⏎Transfer-Encoding : chunked⏎⏎0⏎⏎",
                ]),
    ]

    private static func names(_ count: Int) -> String {
        (0..<count).map { "X-\($0)" }.joined(separator: ", ")
    }

    @Test("every row of the table is what the gateway does, and each is held")
    func requests() throws {
        let rows = Self.rows("what")
        #expect(Set(rows.map { $0[0] }) == Set(Self.table.keys))
        #expect(Self.endToEnd.count == 20)
        let upstream = try RecordingUpstream()
        let gateway = try GatewayProcess(
            GatewayConfiguration(
                upstreamPort: upstream.port,
                routes: [
                    .init("observed", path: "/o/*", attest: "mode: observe"),
                    .init("all", path: "/*"),
                ]))
        func status(_ text: String) throws -> Int {
            let client = try gateway.connect()
            try client.send(SmugglingCase(text: text, outcome: .unfinished).bytes)
            return try client.receive().status
        }
        for columns in rows {
            guard let row = Self.table[columns[0]] else { continue }
            let before = upstream.requests.count
            var statuses = Set(try row.refused.map(status))
            #expect(upstream.requests.count == before, "\(columns[0])")
            for text in row.answers {
                let answer = SmugglingCase(text: text, outcome: .unfinished).bytes
                upstream.answer { _ in UpstreamAnswer([.send(answer)], then: .close) }
                statuses.insert(try status(Self.target("/p")))
            }
            upstream.answer { _ in .response() }
            let told = columns[1].matches(of: /\d{3}/).compactMap { Int($0.output) }
            #expect(statuses == Set(told), "\(columns[0])")
            for text in row.taken { #expect(try status(text) == 200, "\(text)") }
        }
    }

    /// Frames that are sent beside those of the row, `count` times.
    private static func frames(_ kind: String, _ count: Int) -> [HTTP2Frame]? {
        func repeated(_ frame: HTTP2Frame) -> [HTTP2Frame] { .init(repeating: frame, count: count) }
        switch kind {
        case "SETTINGS and their acknowledgements": return repeated(.settings())
        case "PING": return repeated(.ping())
        case "RST_STREAM, and faults that make the gateway send one":
            return (0..<count).flatMap { index -> [HTTP2Frame] in
                let id = UInt32(index) * 2 + 1
                return [.headers(id, HTTP2Client.head(), endStream: false), .reset(id)]
            }
        case "PRIORITY": return repeated(HTTP2Frame(type: 2, stream: 1, payload: [0, 0, 0, 0, 9]))
        case "PRIORITY_UPDATE beyond ten for each request":
            return repeated(HTTP2Frame(type: 16, payload: [0, 0, 0, 1] + Array("u=1".utf8)))
        case "DATA without content that does not end its stream":
            let head = HTTP2Frame.headers(1, HTTP2Client.head("POST"), endStream: false)
            return [head] + repeated(.data(1, [], endStream: false))
        case "WINDOW_UPDATE beyond ten for each DATA frame that was sent":
            return repeated(.windowUpdate(0, 1))
        case "frames of unknown types, and GOAWAY": return repeated(HTTP2Frame(type: 0x42))
        default: return nil
        }
    }

    @Test("as many frames are taken at once as the page says, and not half as many again")
    func frames() throws {
        let upstream = try RecordingUpstream()
        let gateway = try GatewayProcess(.http2(upstreamPort: upstream.port))
        let rows = Self.rows("frames")
        #expect(rows.count == 8)
        for row in rows {
            let count = try #require(Int(row[1]), "\(row)")
            // The client has sent SETTINGS and their acknowledgement already, and ends with a PING.
            let sent = row[0].hasPrefix("SETTINGS") ? 2 : row[0] == "PING" ? 1 : 0
            let within = try HTTP2Client(port: gateway.port)
            try within.send(try #require(Self.frames(row[0], count - sent), "\(row)"))
            try within.settle()
            #expect(within.goAways.isEmpty, "\(row)")
            #expect(try within.exchange(100_001).status == 200, "\(row)")
            let beyond = try HTTP2Client(port: gateway.port)
            try? beyond.send(try #require(Self.frames(row[0], count * 3 / 2)))
            try beyond.receiveToEnd()
            // ENHANCE_YOUR_CALM.
            #expect(beyond.goAways.last?.code == 11, "\(row)")
        }
    }

    @Test("one SETTINGS frame has no more entries, and one head no more CONTINUATION, than it says")
    func single() throws {
        let upstream = try RecordingUpstream()
        let gateway = try GatewayProcess(.http2(upstreamPort: upstream.port))
        let text = Self.page.replacing("\n", with: " ")
        let match = try #require(
            text.firstMatch(of: /(\d+) entries in one SETTINGS frame, and (\d+) CONTINUATION/))
        let entryCount = try #require(Int(match.output.1))
        let continuationCount = try #require(Int(match.output.2))
        func code(_ frames: [HTTP2Frame]) throws -> UInt32? {
            let client = try HTTP2Client(port: gateway.port)
            try client.send(frames)
            try client.settle()
            return client.goAways.last?.code
        }
        func settings(_ count: Int) -> [HTTP2Frame] {
            [.settings(.init(repeating: (3, 100), count: count))]
        }
        #expect(try code(settings(entryCount)) == nil)
        #expect(try code(settings(entryCount + 1)) == 11)
        func head(_ count: Int) -> [HTTP2Frame] {
            let last = HTTP2Frame(.continuation, flags: HTTP2Frame.endHeaders, stream: 1)
            return [.headers(1, HTTP2Client.head(), endHeaders: false)]
                + .init(repeating: HTTP2Frame(.continuation, stream: 1), count: count - 1) + [last]
        }
        #expect(try code(head(continuationCount)) == nil)
        #expect(try code(head(continuationCount + 1)) == 11)
    }
}
