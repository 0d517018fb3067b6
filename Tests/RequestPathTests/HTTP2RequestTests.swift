import GatewayTesting
import JSON
import Testing

extension GatewayConfiguration {
    /// As ``init(upstreamPort:routes:)``, with HTTP/2 by prior knowledge.
    static func http2(upstreamPort port: UInt16, more: [String] = []) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(upstreamPort: port)
        configuration.speakHTTP2()
        configuration.more = more
        return configuration
    }
}

@Suite("A request in HTTP/2", .enabled(if: BuiltProgram.isBuilt))
struct HTTP2RequestTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(.http2(upstreamPort: upstream.port))
    }
}

extension HTTP2RequestTests {
    @Test("of a trusted proxy is continued by the same rules as in HTTP/1.1")
    func forwarded() throws {
        var configuration = GatewayConfiguration.http2(
            upstreamPort: upstream.port, more: ["forwarded: rfc7239"])
        configuration.listenerMore.append("trusted_proxies: [127.0.0.0/8]")
        let gateway = try GatewayProcess(configuration)
        let one = try gateway.connect()
        let two = try HTTP2Client(port: gateway.port)
        let own = #"for=127.0.0.1;host="api.example";proto=http"#
        var id: UInt32 = 1
        for (value, expected) in [
            ("for=a b", own), (#"for="a"b"#, own), ("for=1;for=2", own), ("word", own),
            ("for=_a ; by=_b", "for=_a;by=_b, " + own),
        ] {
            _ = try one.exchange("GET", "/", fields: [("Forwarded", value)])
            _ = try two.exchange(id, "GET", "/", fields: [("forwarded", value)])
            id += 2
            #expect(upstream.requests.suffix(2).map { $0["Forwarded"] } == [expected, expected])
        }
    }

    @Test("reaches the upstream as one of HTTP/1.1, and its answer the client")
    func plain() throws {
        upstream.answer { _ in
            .response(
                fields: [
                    ("X-Up", "1"), ("Connection", "x-hop"), ("X-Hop", "1"), ("Keep-Alive", "5"),
                    ("X-App-Attest-Challenge", "forged"),
                ])
        }
        let client = try HTTP2Client(port: gateway.port)
        let answer = try client.exchange(
            1, "GET", "/a%41?q",
            fields: [("cookie", "a=1"), ("x-b", "2"), ("cookie", "c=3"), ("te", "trailers")])
        #expect(answer.status == 200)
        #expect(answer.bodyText == "hello\n")
        #expect(
            answer.fields.map(\.name).sorted() == [
                ":status", "content-length", "date", "via", "x-request-id", "x-up",
            ])
        let seen = try #require(upstream.requests.first).message
        #expect(seen.startLine == "GET /a%41?q HTTP/1.1")
        #expect(seen["Host"] == "api.example")
        #expect(seen.values(of: "Cookie") == ["a=1; c=3"])
        #expect(seen["X-B"] == "2")
        #expect(seen["TE"] == nil)
        #expect(seen["Content-Length"] == nil)
        let line = try gateway.accessLine()
        #expect(line["version"]?.stringValue == "2")
        #expect(line["path"]?.stringValue == "/a%41")
    }

    @Test("has its body's length said, known beforehand or not")
    func bodies() throws {
        let client = try HTTP2Client(port: gateway.port)
        #expect(try client.exchange(1, "POST", body: Array("abc".utf8)).status == 200)
        try client.send(
            .headers(3, HTTP2Client.head("PUT", "/", [("content-length", "4")]), endStream: false),
            .data(3, Array("ab".utf8), endStream: false), .data(3, [], endStream: false),
            .data(3, Array("cd".utf8)))
        #expect(try client.answer(3).status == 200)
        #expect(try client.exchange(5, "POST", body: []).status == 200)
        #expect(try client.exchange(7, "POST").status == 200)
        let seen = upstream.requests.map(\.message)
        #expect(seen.map(\.bodyText) == ["abc", "abcd", "", ""])
        #expect(seen.map { $0["Content-Length"] } == ["3", "4", "0", nil])
        #expect(seen.allSatisfy { $0["Transfer-Encoding"] == nil })
    }

    @Test("has trailers that end with it")
    func requestTrailers() throws {
        let client = try HTTP2Client(port: gateway.port)
        try client.send(
            .headers(1, HTTP2Client.head("POST"), endStream: false),
            .data(1, Array("abc".utf8), endStream: false), .headers(1, [("x-t", "1")]))
        #expect(try client.answer(1).status == 200)
        let seen = try #require(upstream.requests.first).message
        #expect(seen.bodyText == "abc")
        #expect(seen["X-T"] == nil)
        #expect(seen.trailers.isEmpty)
    }

    @Test("is told to go on where it waits for that")
    func expectation() throws {
        let client = try HTTP2Client(port: gateway.port)
        let head = HTTP2Client.head("POST", "/", [("expect", "100-continue")])
        try client.send(.headers(1, head, endStream: false))
        try client.receive { $0.answers[1]?.interim.isEmpty == false }
        #expect(client.answers[1]?.interim == [100])
        try client.send(.data(1, Array("x".utf8)))
        #expect(try client.answer(1).status == 200)
        #expect(upstream.requests.first?.message["Expect"] == nil)
    }

    @Test("gets interim answers, and answers without content")
    func answers() throws {
        upstream.answer { request in
            switch request.target {
            case "/early":
                .raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n").followed(by: .response())
            case "/none": .raw("HTTP/1.1 204 No Content\r\n\r\n")
            case "/same": .raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n")
            case "/chunks": .chunked(["ab", "cd"])
            case "/close": .closeDelimited("to the end")
            case "/short":
                .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", then: .close)
            default: .raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            }
        }
        let client = try HTTP2Client(port: gateway.port)
        let early = try client.exchange(1, "GET", "/early")
        #expect(early.interim == [103] && early.status == 200)
        let none = try client.exchange(3, "GET", "/none")
        #expect(none.status == 204 && none["content-length"] == nil)
        let same = try client.exchange(5, "GET", "/same")
        #expect(same.status == 304 && same["content-length"] == "9")
        let head = try client.exchange(7, "HEAD", "/head")
        #expect(head.status == 200 && head["content-length"] == "5" && head.body.isEmpty)
        let chunks = try client.exchange(9, "GET", "/chunks")
        #expect(chunks.bodyText == "abcd" && chunks["transfer-encoding"] == nil)
        #expect(try client.exchange(11, "GET", "/close").bodyText == "to the end")
        let short = try client.exchange(13, "GET", "/short")
        #expect(short.bodyText == "half" && short.resetCode == 2)
    }

    @Test("gets the trailers of its answer, less what only a head may hold")
    func trailers() throws {
        upstream.answer { _ in
            .chunked(
                ["ab"], trailers: "X-Sum: 42\r\nKeep-Alive: x\r\nX-App-Attest-Challenge: y\r\n")
        }
        let client = try HTTP2Client(port: gateway.port)
        let answer = try client.exchange(1)
        #expect(answer.status == 200 && answer.bodyText == "ab")
        #expect(answer.isComplete)
        #expect(answer.trailers == [.init(name: "x-sum", value: "42")])
        #expect(try gateway.exchange("GET", "/").bodyText == "ab")
    }

    @Test("refused early is answered, and its body not wanted")
    func early() throws {
        let client = try HTTP2Client(port: gateway.port)
        let head = HTTP2Client.head("POST", "/", [("content-length", "99999999")])
        try client.send(.headers(1, head, endStream: false), .data(1, [1, 2, 3], endStream: false))
        let answer = try client.answer(1)
        #expect(answer.status == 413)
        try client.receive { $0.answers[1]?.resetCode != nil }
        #expect(client.answers[1]?.resetCode == 0, "NO_ERROR")
        // What was under way is no fault.
        try client.send(.data(1, [4, 5, 6], endStream: false))
        #expect(try client.exchange(3).status == 200)
    }

    @Test("is refused by HTTP's rules as in HTTP/1.1")
    func refusals() throws {
        let client = try HTTP2Client(port: gateway.port)
        let cases: [(String, String, [(String, String)], Int)] = [
            ("GET", "/../x", [], 400), ("GET", "/a//b", [], 400), ("GET", "/a#b", [], 400),
            ("OPTIONS", "*", [], 200), ("post", "/", [], 400),
            ("GET", "/" + String(repeating: "a", count: 9000), [], 414),
            ("GET", "/", [("x", String(repeating: "a", count: 40_000))], 431),
            ("GET", "/", (0..<120).map { ("x-\($0)", "1") }, 431),
            ("GET", "/", [("content_length", "1")], 400),
            ("POST", "/", [("expect", "else")], 417),
        ]
        for (index, (method, path, fields, status)) in cases.enumerated() {
            let answer = try client.exchange(UInt32(index * 2 + 1), method, path, fields: fields)
            #expect(answer.status == status, "\(method) \(path.prefix(20)) \(answer)")
        }
        let tunnel: [(String, String)] = [(":method", "CONNECT"), (":authority", "a.example:443")]
        try client.send(.headers(101, tunnel, endStream: false))
        #expect(try client.answer(101).status == 501)
        #expect(upstream.requests.isEmpty)
    }

    @Test("is not begun where the listener does not offer it, nor by Upgrade")
    func notOffered() throws {
        let plain = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        let client = try plain.connect()
        try client.send(HTTP2Client.preface)
        #expect(try client.receive().status == 400)
        let upgrade = try gateway.connect()
        let answer = try upgrade.exchange(
            "GET", "/",
            fields: [
                ("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"),
                ("HTTP2-Settings", "AAMAAABkAAQAAP__"),
            ])
        #expect(answer.status == 200)
        #expect(upstream.requests.last?.message["Upgrade"] == nil)
        // HTTP/1.1 that begins like the preface is still HTTP/1.1.
        #expect(try gateway.connect().exchange("PROPFIND", "/").status == 200)
    }

    @Test("is the only one where HTTP/1.1 is not offered")
    func only() throws {
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.listenerMore = ["protocols: [h2]"]
        let gateway = try GatewayProcess(configuration)
        let client = try gateway.connect()
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.receiveToEnd().isEmpty)
        #expect(try HTTP2Client(port: gateway.port).exchange(1).status == 200)
    }

    @Test("is understood by curl and nghttp", arguments: [["GET"], ["HEAD"], ["POST"]])
    func clients(method: [String]) throws {
        let url = "http://127.0.0.1:\(gateway.port)/x"
        var options = ["-sS", "--http2-prior-knowledge", "-w", "%{http_version} %{http_code}"]
        options += ["-o", "/dev/null"]
        if method == ["HEAD"] { options.append("-I") }
        if method == ["POST"] { options += ["-d", "abc"] }
        let curl = try ChildProcess.run("curl", options + [url])
        #expect(curl.standardOutput == "2 200")
        let nghttp = try ChildProcess.run("nghttp", ["-ns", url])
        #expect(nghttp.standardOutput.contains(" 200 "))
    }
}
