import Bytes
import HTTP
import Testing

private let plain = "GET /a/b?c=d HTTP/1.1\r\nHost: a.example\r\n\r\n"

/// Requests that are right, each with something of its own.
private let valid = [
    plain,
    "\r\n" + plain,
    "GET / HTTP/1.0\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
    "GET http://A.example:81/x?y HTTP/1.1\r\nHost: a.EXAMPLE:81\r\n\r\n",
    "GET HTTPS://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
    "POST /p HTTP/1.1\r\nhost:a\r\nContent-Length: 12\r\nExpect: 100-Continue\r\n\r\n",
    "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n"
        + "X-Empty:\r\nX-Spaces: \t \r\n\r\n",
    "M-SEARCH /%c3 HTTP/1.1\r\nHost: a\r\n"
        + "Connection: keep-alive, , X-A ,\r\nX-A: \tq  w\t \r\n\r\n",
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: caf\u{e9} \u{1F600} 01234567\t89012345\r\nX_Y: z\r\n\r\n",
]

@Suite("A request head")
struct RequestHeadTests {}

extension RequestHeadTests {
    @Test("is read with all its parts")
    func parts() {
        let read = readRequest(plain)
        #expect(read.outcome == .complete)
        #expect(read.byteCount == plain.utf8.count)
        #expect(read.method == "GET" && read.methodKind == .get)
        #expect(read.target == "/a/b?c=d" && read.originTarget == "/a/b?c=d")
        #expect(read.targetForm == .origin && read.host == "a.example")
        #expect(read.version == .http11 && read.framing == .none && read.keepAlive)
        #expect(read.fields == ["Host=a.example (host)"])
    }

    @Test("counts one skipped empty line as its own")
    func leadingEmptyLine() {
        let read = readRequest("\r\n" + plain)
        #expect(read.byteCount == plain.utf8.count + 2)
        #expect(read.target == "/a/b?c=d")
    }

    @Test("leaves what follows it alone")
    func pipelined() {
        let read = readRequest(plain + "\n\0garbage")
        #expect(read.outcome == .complete && read.byteCount == plain.utf8.count)
    }

    @Test("gives the same result however it is split", arguments: valid)
    func splits(message: String) {
        let bytes = Array(message.utf8)
        var head = RequestHead()
        let whole = readRequest(bytes, reusing: &head)
        #expect(whole.outcome == .complete)
        for split in 0...bytes.count {
            #expect(readRequest(bytes, splits: [split], reusing: &head) == whole)
        }
        #expect(readRequest(bytes, splits: Array(0...bytes.count), reusing: &head) == whole)
    }

    @Test("is refused where servers might disagree", arguments: MalformedRequest.all)
    func malformed(request: MalformedRequest) {
        let bytes = Array(request.message.utf8)
        var head = RequestHead()
        #expect(readRequest(bytes, reusing: &head).outcome == refused(request.reason))
        #expect(parse(bytes, with: &head) == refused(request.reason))
        let byByte = readRequest(bytes, splits: Array(0...bytes.count), reusing: &head)
        #expect(byByte.outcome == refused(request.reason))
    }

    @Test("has more than a hundred ways to be wrong")
    func malformedCount() {
        #expect(MalformedRequest.all.count > 150)
    }

    @Test("is incomplete until its empty line is")
    func incomplete() {
        let bytes = Array(plain.utf8)
        for count in 0..<bytes.count {
            var head = RequestHead()
            let outcome = head.parse(bytes.span.extracting(first: count), limits: testLimits)
            #expect(outcome == .incomplete)
        }
    }

    @Test("in absolute form says host and what is forwarded")
    func absoluteForm() {
        let read = readRequest(
            "GET http://A.example:81/x?y HTTP/1.1\r\nHost: a.EXAMPLE:81\r\n\r\n")
        #expect(read.targetForm == .absolute && read.originTarget == "/x?y")
        #expect(read.host == "A.example:81")
        let bare = readRequest("GET https://a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(bare.originTarget == "/" && bare.target == "https://a")
        let old = readRequest("GET http://a/b HTTP/1.0\r\n\r\n")
        #expect(old.host == "a" && old.originTarget == "/b")
    }

    @Test(
        "takes every host that RFC 3986 allows and no server doubts",
        arguments: [
            "a", "a.example", "a.example:0", "127.0.0.1:8080", "xn--bcher-kva.example",
            "under_score", "a-b~c!$&'()*+;=", "[::]", "[::1]:443", "[1:2:3:4:5:6:7:8]", "[1::8]",
            "[2001:db8::ff00:42:8329]", "[::ffff:192.0.2.1]:1", "[1:2:3:4:5:6:1.2.3.4]",
            "[1:2:3:4:5:6:7::]", "a,b",
        ])
    func hosts(host: String) {
        #expect(readRequest("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").host == host)
    }

    @Test(
        "takes an empty port, and the scheme's own, for none",
        arguments: [
            ("/", "a:", "a"), ("/", "[::1]:", "[::1]"), ("/", "a:80", "a:80"),
            ("http://a/", "a:", "a"), ("http://a:/", "a", "a"), ("http://a:80/", "a", "a:80"),
            ("http://a/", "A:80", "a"), ("https://a:443/", "a", "a:443"),
            ("https://[::1]/", "[::1]:443", "[::1]"), ("http://a:81/", "a:81", "a:81"),
        ])
    func ports(target: String, field: String, host: String) {
        let read = readRequest("GET \(target) HTTP/1.1\r\nHost: \(field)\r\n\r\n")
        #expect(read.outcome == .complete)
        #expect(read.host == host)
    }

    @Test(
        "of an absolute form without a path gets the path that it stands for",
        arguments: [
            ("http://a.example?x=/y", "a.example", "/?x=/y"), ("HTTPS://a?", "a", "/?"),
            ("http://a:80?x", "a:80", "/?x"), ("http://a:?x", "a", "/?x"),
            ("http://[::1]:8?x", "[::1]:8", "/?x"), ("http://a/y?x", "a", "/y?x"),
        ])
    func missingPath(target: String, host: String, expected: String) throws {
        var bytes = Array("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
        var head = RequestHead()
        #expect(parse(bytes, with: &head) == .complete)
        let fields = head.fields.map { Array(bytes[$0.value.offsets]) }
        head.completeTarget(in: &bytes)
        #expect(String(decoding: bytes[head.originTarget.offsets], as: UTF8.self) == expected)
        let place = try #require(head.host)
        #expect(String(decoding: bytes[place.offsets], as: UTF8.self) == host)
        #expect(head.fields.map { Array(bytes[$0.value.offsets]) } == fields)
        let before = bytes
        head.completeTarget(in: &bytes)
        #expect(bytes == before)
    }

    @Test("with OPTIONS and neither path nor query is about the server")
    func absoluteAsterisk() {
        #expect(
            readRequest("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n").targetForm == .asterisk)
        #expect(
            readRequest("OPTIONS http://a/ HTTP/1.1\r\nHost: a\r\n\r\n").targetForm == .absolute)
    }

    @Test("says whether the connection is kept", arguments: Keeping.all)
    func keepAlive(keeping: Keeping) {
        let read = readRequest(
            "GET / HTTP/\(keeping.version)\r\nHost: a\r\n\(keeping.field)\r\n\r\n")
        #expect(read.outcome == .complete)
        #expect(read.keepAlive == keeping.keeps)
        #expect(read.tokens == keeping.tokens)
    }

    struct Keeping {
        var version: String
        var field: String
        var keeps: Bool
        var tokens: [String] = []

        static let all = [
            Keeping(version: "1.1", field: "X: a", keeps: true),
            Keeping(version: "1.1", field: "Connection: Close", keeps: false),
            Keeping(version: "1.1", field: "Connection: keep-alive, close", keeps: false),
            Keeping(
                version: "1.1", field: "Connection: TE, x-a", keeps: true, tokens: ["TE", "x-a"]),
            Keeping(version: "1.1", field: "Connection: closer", keeps: true, tokens: ["closer"]),
            Keeping(
                version: "1.1", field: "Connection: a\r\nConnection: close", keeps: false,
                tokens: ["a"]),
            Keeping(version: "1.0", field: "X: a", keeps: false),
            Keeping(version: "1.0", field: "Connection: Keep-Alive", keeps: true),
            Keeping(version: "1.0", field: "Connection: keep-alive, close", keeps: false),
        ]
    }

    @Test("knows which fields Connection nominates")
    func nominated() {
        let message =
            "GET / HTTP/1.1\r\nHost: a\r\nconnection: X-One\r\nx-oNE: 1\r\nX-On: 2\r\n\r\n"
        let bytes = Array(message.utf8)
        var head = RequestHead()
        #expect(parse(bytes, with: &head) == .complete)
        let nominated = head.fields.map { head.isNominated($0, in: bytes.span) }
        #expect(nominated == [false, false, true, false])
    }

    @Test("waits for 100 only in HTTP/1.1 and with a body")
    func expectation() {
        func expects(_ version: String, _ field: String) -> Bool {
            let read = readRequest(
                "PUT / HTTP/\(version)\r\nHost: a\r\nExpect: 100-continue\r\n\(field)\r\n\r\n")
            #expect(read.outcome == .complete)
            return read.expectsContinue
        }
        #expect(expects("1.1", "Content-Length: 1"))
        #expect(expects("1.1", "Transfer-Encoding: chunked"))
        #expect(!expects("1.1", "Content-Length: 0"))
        #expect(!expects("1.1", "X: a"))
        #expect(!expects("1.0", "Content-Length: 1"))
    }

    @Test("frames its body by length or chunks")
    func framing() {
        func framing(_ field: String) -> BodyFraming {
            readRequest("PUT / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n").framing
        }
        #expect(framing("Content-Length: 0") == .length(0))
        #expect(framing("Content-Length: \t007 ") == .length(7))
        #expect(framing("Content-Length: 9223372036854775807") == .length(UInt64(Int64.max)))
        #expect(framing("Transfer-Encoding: Chunked") == .chunked)
        #expect(framing("X: a") == .none)
    }

    @Test("upgrades only when Connection says so too")
    func upgrade() {
        func upgrades(_ version: String, _ fields: String) -> Bool {
            readRequest("GET / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n\r\n").hasUpgrade
        }
        #expect(upgrades("1.1", "Upgrade: websocket\r\nConnection: keep-alive, Upgrade"))
        #expect(!upgrades("1.1", "Upgrade: websocket"))
        #expect(!upgrades("1.1", "Connection: upgrade"))
        #expect(!upgrades("1.0", "Upgrade: websocket\r\nConnection: Upgrade"))
    }

    @Test("is bounded in bytes, fields and target, to the byte")
    func limits() {
        func outcome(_ message: String, _ limits: HeadLimits) -> HeadOutcome {
            let splits = Array(0...message.utf8.count)
            let whole = readRequest(message, limits: limits).outcome
            #expect(readRequest(message, splits: splits, limits: limits).outcome == whole)
            return whole
        }
        func limits(_ head: Int, _ fields: Int, _ target: Int) -> HeadLimits {
            HeadLimits(headByteCountMax: head, fieldCountMax: fields, targetByteCountMax: target)
        }
        let count = plain.utf8.count
        #expect(outcome(plain, limits(count, 1, 8)) == .complete)
        #expect(outcome(plain, limits(count - 1, 1, 8)) == refused(.headTooLarge))
        #expect(outcome(plain, limits(count, 1, 7)) == refused(.targetTooLong))
        #expect(outcome(plain, limits(0, 0, 0)) == refused(.headTooLarge))
        let two = "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n"
        #expect(outcome(two, limits(count, 2, 8)) == .complete)
        #expect(outcome(two, limits(count, 1, 8)) == refused(.tooManyFields))
        let long = "GET /" + String(repeating: "a", count: 300)
        #expect(outcome(long, testLimits) == refused(.targetTooLong))
        let endless = "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 3000)
        #expect(outcome(endless, testLimits) == refused(.headTooLarge))
        #expect(HTTPFault.headTooLarge.status == 431 && HTTPFault.targetTooLong.status == 414)
    }

    @Test("sorts every byte as the grammars do")
    func byteClasses() {
        let tokenSigns = Array("!#$%&'*+-.^_`|~".utf8)
        for byte in UInt8.min...UInt8.max {
            let isDigit = (0x30...0x39).contains(byte)
            let isUpper = (0x41...0x5A).contains(byte)
            let isLower = (0x61...0x7A).contains(byte)
            let isToken = isDigit || isUpper || isLower || tokenSigns.contains(byte)
            func reads(_ before: String, _ after: String) -> Bool {
                let bytes = Array(before.utf8) + [byte] + Array(after.utf8)
                var head = RequestHead()
                return parse(bytes, with: &head) == .complete
            }
            let lineEnd = " / HTTP/1.1\r\nHost: a\r\n\r\n"
            #expect(reads("A", "B" + lineEnd) == (isToken && !isLower))
            let isVisible = (0x21...0x7E).contains(byte)
            #expect(reads("GET /a", "b HTTP/1.1\r\nHost: a\r\n\r\n") == (isVisible && byte != 0x23))
            let start = "GET / HTTP/1.1\r\nHost: a\r\n"
            #expect(reads(start + "A", "B: c\r\n\r\n") == (isToken || byte == 0x3A))
            let isText = byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
            #expect(reads(start + "A: b", "c\r\n\r\n") == isText)
            #expect(reads(start + "A: 0123456789", "0123456789abcdef\r\n\r\n") == isText)
        }
    }

    @Test("never traps on mutated bytes, and judges them alike however split")
    func mutations() {
        var random = SeededGenerator(state: 1)
        var head = RequestHead()
        let signs = Array("\r\n\t :/?#%;,\0\u{7F}aZ09_-".utf8) + [0x80, 0xFF]
        for round in 0..<6000 {
            var bytes = Array(valid[round % valid.count].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[index] = signs.randomElement(using: &random) ?? 0
                case 1: bytes.insert(signs.randomElement(using: &random) ?? 0, at: index)
                case 2: bytes.remove(at: index)
                default: bytes[index] = UInt8.random(in: 0...255, using: &random)
                }
            }
            let whole = readRequest(bytes, reusing: &head)
            let split = Int.random(in: 0...bytes.count, using: &random)
            #expect(readRequest(bytes, splits: [split], reusing: &head) == whole)
        }
    }
}
