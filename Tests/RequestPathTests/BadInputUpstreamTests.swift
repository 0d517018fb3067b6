import Foundation
import GatewayTesting
import Testing

/// Upstreams that answer nonsense, too little, too much, too late or not at all.
@Suite("Garbage from upstreams", .timeLimit(.minutes(30)))
struct BadInputUpstreamTests {}

extension BadInputUpstreamTests {
    /// A gateway in front of an upstream that answers every request as `script` says.
    private func gateway(
        _ upstream: RecordingUpstream, timeout: String = "5s"
    ) throws -> GatewayProcess {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.upstreams["api"]? += ", response_timeout: \(timeout), connect_timeout: 500ms"
        return try GatewayProcess(configuration)
    }

    @Test("an answer that is not HTTP is 502, and the next one is served")
    func nonsense() throws {
        let upstream = try RecordingUpstream()
        let gateway = try gateway(upstream)
        let client = try gateway.connect()
        let ok = "HTTP/1.1 200 OK\r\n"
        let cases = [
            "garbage\r\n\r\n", "\0\0\0\0\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
            "HTTP/1.1 abc OK\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n", "\r\n\r\n\r\n",
            ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            ok + "Content-Length: five\r\n\r\nhello", ok + "Content-Length: -5\r\n\r\nhello",
            ok + "Content-Length: 99999999999999999999\r\n\r\n",
            ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ok + "Transfer-Encoding: chunked, gzip\r\n\r\n", ok + "no colon\r\n\r\n",
            ok + "X: a\0b\r\n\r\n", ok + "X a: b\r\n\r\n", ok + " X: a\r\n\r\n",
            ok + "X: \(String(repeating: "a", count: 80_000))\r\n\r\n",
            ok + String(repeating: "X: a\r\n", count: 1000) + "\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            String(repeating: "A", count: 200_000),
        ]
        for text in cases {
            upstream.answer { _ in .raw(text, then: .close) }
            let answer = try client.exchange("GET", "/x")
            #expect(
                answer.verdict == "502 upstream_failed", "\(text.prefix(70)): \(answer.verdict)")
            upstream.answer { _ in .response() }
            #expect(try client.exchange("GET", "/x").bodyText == "hello\n")
        }
        #expect(gateway.isUnharmed)
    }

    @Test("random bytes for an answer are 502, or what they say where they happen to be HTTP")
    func random() throws {
        let upstream = try RecordingUpstream()
        let gateway = try gateway(upstream)
        var generator = SeededGenerator(5)
        let before = try gateway.peakByteCount()
        for index in 0..<120 {
            let count = Int.random(in: 1...2000, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let start = ["", "HTTP/1.1 ", "HTTP/1.1 200 OK\r\n"][index % 3]
            upstream.answer { _ in
                UpstreamAnswer([.send(Array(start.utf8) + bytes)], then: .close)
            }
            #expect(try gateway.exchange("GET", "/x").verdict == "502 upstream_failed")
        }
        #expect(try gateway.peakByteCount() - before < 16 << 20)
        #expect(gateway.isUnharmed)
    }

    @Test("nobody there is 502, somebody who is silent 504, and both come back")
    func absent() throws {
        let first = try RecordingUpstream()
        let port = first.port
        let gateway = try gateway(first, timeout: "300ms")
        // A busy machine may hold an answer up for longer.
        try waitWhile(try gateway.exchange("GET", "/x").status != 200)
        first.stop()
        // The idle connection dies first, then there is nobody to connect to.
        for _ in 0..<3 {
            let answer = try gateway.exchange("POST", "/x", body: [1])
            #expect(answer.verdict == "502 upstream_failed")
        }
        let gate = Gate()
        let second = try RecordingUpstream(port: port) { _ in .response(after: gate) }
        let silent = try gateway.exchange("POST", "/x", body: [1])
        #expect(silent.verdict == "504 upstream_timeout")
        #expect(second.requests.count == 1, "asked once: the upstream may have acted")
        gate.open()
        second.answer { _ in .response() }
        try waitWhile(try gateway.exchange("POST", "/x", body: [1]).status != 200)
        // Silent in the middle of a head, and in the middle of a body.
        second.answer { _ in .response(after: Gate()) }
        let half = Gate()
        second.answer { _ in
            UpstreamAnswer([.send(Array("HTTP/1.1 200 OK\r\nX:".utf8)), .wait(half)])
        }
        #expect(try gateway.exchange("GET", "/x").verdict == "504 upstream_timeout")
        half.open()
        #expect(gateway.isUnharmed)
    }

    @Test("an answer that breaks off is seen to break off", arguments: ["HTTP/1.1", "HTTP/1.0"])
    func truncated(version: String) throws {
        let upstream = try RecordingUpstream()
        let gateway = try gateway(upstream)
        let head = "HTTP/1.1 200 OK\r\n"
        let answers: [(String, UpstreamAnswer.Ending)] = [
            (head + "Content-Length: 100\r\n\r\nhello", .close),
            (head + "Content-Length: 100\r\n\r\nhello", .reset),
            (head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .close),
            (head + "Transfer-Encoding: chunked\r\n\r\n50\r\nhello", .close),
            (head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n", .keepAlive),
            (head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", .close),
            (head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .reset),
        ]
        for (text, ending) in answers {
            upstream.answer { _ in .raw(text, then: ending) }
            let client = try gateway.connect()
            try client.send("GET /x \(version)\r\nHost: a\r\n\r\n")
            let isWhole = (try? client.receive()) != nil && !client.socket.wasReset
            #expect(!isWhole, "\(text) \(ending)")
        }
        upstream.answer { _ in .response() }
        #expect(try gateway.exchange("GET", "/x").status == 200)
        #expect(gateway.isUnharmed)
    }

    @Test("interim answers are passed on, but not without end")
    func interim() throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        let upstream = try RecordingUpstream { request in
            let count = request.target == "/few" ? 8 : 100_000
            let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            return .raw(String(repeating: interim, count: count) + ok)
        }
        let gateway = try gateway(upstream)
        let client = try gateway.connect()
        try client.send("GET", "/few")
        for _ in 0..<8 { #expect(try client.receiveAny().status == 103) }
        #expect(try client.receive().bodyText == "ok")
        #expect(try client.exchange("GET", "/many").verdict == "502 upstream_failed")
        #expect(try client.exchange("GET", "/few").bodyText == "ok")
        #expect(gateway.isUnharmed)
    }

    @Test("an answer that a client does not take waits in the upstream, not in memory")
    func slowClient() throws {
        let upstream = try RecordingUpstream { _ in .large(byteCount: 64 << 20) }
        let gateway = try gateway(upstream)
        let before = try gateway.peakByteCount()
        let clients = try (0..<4).map { _ in
            let client = try gateway.connect(receiveBufferByteCount: 4096)
            try client.send("GET", "/x")
            _ = try client.receiveHead()
            return client
        }
        // The fifth takes everything meanwhile, and is not slowed by the others' standstill.
        let quick = try gateway.connect()
        try quick.send("GET", "/x")
        _ = try quick.receiveHead()
        try quick.discardBytes(64 << 20)
        #expect(try gateway.peakByteCount() - before < 20 << 20)
        for client in clients { client.socket.reset() }
        #expect(try gateway.exchange("GET", "/x").body.count == 64 << 20)
        #expect(gateway.isUnharmed)
    }

    @Test("more than was asked for is never taken for the next answer")
    func surplus() throws {
        let upstream = try RecordingUpstream { request in
            request.target == "/surplus"
                ? .raw(
                    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                        + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother")
                : .response(body: "mine")
        }
        let gateway = try gateway(upstream)
        let client = try gateway.connect()
        for _ in 0..<10 {
            #expect(try client.exchange("GET", "/surplus").bodyText == "ok")
            #expect(try client.exchange("GET", "/next").bodyText == "mine")
        }
    }
}
