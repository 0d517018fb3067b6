import GatewayTesting
import Testing

/// The peers that every other test here relies on, against one another.
@Suite("The peers of tests")
struct TestPeersTests {}

extension TestPeersTests {
    @Test("a recording upstream keeps every byte and answers as told")
    func recording() throws {
        let upstream = try RecordingUpstream { request in
            request.target == "/chunks" ? .chunked(["ab", "c"], trailers: "X: y\r\n") : .response()
        }
        let client = try RawClient(port: upstream.port)
        let request = "POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
        try client.send(request + "3\r\nabc\r\n0\r\n\r\n")
        #expect(try client.receive().bodyText == "hello\n")
        let chunked = try client.exchange("GET", "/chunks")
        #expect(chunked.bodyText == "abc")
        #expect(chunked.trailers.map(\.value) == ["y"])
        let seen = try upstream.waitForRequests(2)
        #expect(seen[0].body == Array("abc".utf8))
        #expect(seen[0].message.headBytes == Array(request.utf8))
        #expect(seen.map(\.connection) == [0, 0])
        #expect(upstream.bytes(onConnection: 0).starts(with: Array(request.utf8)))
    }

    @Test("a recording upstream dies, resets, closes and streams on demand")
    func endings() throws {
        let upstream = try RecordingUpstream { request in
            switch request.target {
            case "/dies": .dies
            case "/resets": UpstreamAnswer([.send(Array("HTTP/1.1 2".utf8))], then: .reset)
            case "/large": .large(byteCount: 3_000_000)
            default: .closeDelimited("until the end")
            }
        }
        for (target, expected) in [("/dies", ""), ("/resets", "HTTP/1.1 2")] {
            let client = try RawClient(port: upstream.port)
            try client.send("GET", target)
            #expect(expected.utf8.starts(with: try client.receiveToEnd()))
        }
        let large = try RawClient(port: upstream.port)
        try large.send("GET", "/large")
        #expect(try large.receiveHead()["content-length"] == "3000000")
        try large.discardBytes(3_000_000)
        let closing = try RawClient(port: upstream.port).exchange("GET", "/")
        #expect(closing.bodyText == "until the end")
    }

    @Test("an unmodified nginx answers", .enabled(if: NginxServer.isInstalled))
    func nginx() throws {
        let nginx = try NginxServer()
        #expect(try RawClient(port: nginx.port).exchange("GET", "/").bodyText == "nginx\n")
    }
}
