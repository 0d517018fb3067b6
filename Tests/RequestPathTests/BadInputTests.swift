import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// Garbage at the gateway's door: each gets its status, none takes the gateway along.
@Suite("Garbage from clients", .timeLimit(.minutes(30)))
struct BadInputTests {
    private let site: FaultSite
    private let gateway: GatewayProcess

    init() throws {
        site = try FaultSite()
        site.configuration.more += [
            "limits: { body: 64KiB, body_memory: 8KiB }", "timeouts: { drain: 1s }",
        ]
        gateway = try site.start()
    }
}

extension BadInputTests {
    /// That an honest device is served by the process that was started.
    private func expectHonestService(
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(gateway.isUnharmed, "\(gateway.alarms)", sourceLocation: sourceLocation)
        let device = try site.enrolledDevice(at: gateway)
        let answer = try device.call("strict", at: gateway).exchange(with: gateway)
        #expect(answer.verdict == "200", sourceLocation: sourceLocation)
    }

    /// Sends bytes, ends the connection's sending side, and returns what came back.
    private func answer(to bytes: [UInt8]) throws -> String {
        let client = try gateway.connect()
        // The gateway may have refused and closed before it has read everything.
        try? client.send(bytes)
        client.socket.shutdownSending()
        return String(decoding: try client.receiveToEnd(), as: UTF8.self)
    }

    private func status(of text: String) -> String {
        text.isEmpty ? "closed" : String(text.dropFirst("HTTP/1.1 ".count).prefix(3))
    }

    @Test("random bytes are refused or cut off, and memory stays bounded")
    func randomBytes() throws {
        var generator = SeededGenerator(1)
        #expect(status(of: try answer(to: [0, 1, 2, 13, 10, 13, 10])) == "400")
        let before = try gateway.peakByteCount()
        for _ in 0..<150 {
            let count = Int.random(in: 1...3000, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let text = try answer(to: bytes)
            #expect(["400", "431", "414", "505", "closed"].contains(status(of: text)), "\(text)")
        }
        // Two bytes' worth of HTTP in front, so that more of the parser is reached.
        for _ in 0..<150 {
            let count = Int.random(in: 1...300, using: &generator)
            let tail = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let head =
                ["GET / HTTP/1.1\r\n", "POST /strict/it HTTP/1.1\r\nHost: a\r\n", "GET /"]
                .randomElement(using: &generator) ?? ""
            let text = try answer(to: Array(head.utf8) + tail + Array("\r\n\r\n".utf8))
            #expect(["400", "401", "414", "closed"].contains(status(of: text)), "\(text)")
        }
        #expect(try gateway.peakByteCount() - before < 16 << 20)
        #expect(site.upstream.requests.isEmpty)
        try expectHonestService()
    }

    @Test("heads and targets beyond their bounds get 431 and 414")
    func largeHeads() throws {
        let field = "X-Filler: \(String(repeating: "a", count: 1000))\r\n"
        let cases = [
            ("GET /open/\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: a\r\n\r\n", "414"),
            ("GET /\(String(repeating: "a", count: 9_000_000))", "414"),
            ("GET /open/x HTTP/1.1\r\nHost: a\r\n" + String(repeating: field, count: 40), "431"),
            (
                "GET /open/x HTTP/1.1\r\nHost: a\r\n" + String(repeating: "A: b\r\n", count: 101)
                    + "\r\n", "431"
            ),
            (
                "GET /open/x HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "b", count: 9 << 20),
                "431"
            ),
            // RFC 9112 section 3: a method longer than any that is known.
            (String(repeating: "A", count: 100_000), "501"),
        ]
        for (text, expected) in cases {
            let answer = try answer(to: Array(text.utf8))
            #expect(status(of: answer).hasPrefix(expected), "\(answer.prefix(300))")
        }
        try expectHonestService()
    }

    @Test("half requests of every length leave nothing behind")
    func halves() throws {
        let device = try site.enrolledDevice(at: gateway)
        let call = try device.call("strict", at: gateway)
        var head = "POST \(call.target) HTTP/1.1\r\nHost: a\r\n"
        for (name, value) in call.fields { head += "\(name): \(value)\r\n" }
        let whole = Array((head + "Content-Length: \(call.body.count)\r\n\r\n").utf8) + call.body
        let descriptors = try gateway.fileDescriptorCount()
        for (index, count) in stride(from: 1, to: whole.count, by: 11).enumerated() {
            let client = try gateway.connect()
            try client.send(Array(whole[..<count]))
            switch index % 3 {
            case 0: client.socket.reset()
            case 1:
                client.socket.shutdownSending()
                #expect(try client.receiveToEnd().isEmpty)
            default: client.socket.close()
            }
        }
        #expect(site.upstream.requests.isEmpty)
        // None of the halves has spent the challenge or the counter.
        let client = try gateway.connect()
        try client.send(whole)
        #expect(try client.receive().status == 200)
        let left = try gateway.poll { _ in
            try gateway.fileDescriptorCount() <= descriptors + 8 ? true : nil
        }
        #expect(left)
        try expectHonestService()
    }

    @Test("framing on which servers disagree is 400, and nothing of it reaches the upstream")
    func framing() throws {
        let start = "POST /open/x HTTP/1.1\r\nHost: a\r\n"
        let cases = [
            "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "Content-Length: 5, 6\r\n\r\nhello",
            "Content-Length: +5\r\n\r\nhello",
            "Content-Length: 0x5\r\n\r\nhello",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 18446744073709551616\r\n\r\n",
            "Content-Length: 99999999999999999999999999\r\n\r\n",
            "Content-Length: \r\n\r\n",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: identity\r\n\r\n",
            "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding:\u{0B}chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
            "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nhello",
            "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length : 5\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n5;\(String(repeating: "x", count: 40_000))\r\nhello",
            "Transfer-Encoding: chunked\r\n\r\n0\r\nA: "
                + String(repeating: "x", count: 80_000) + "\r\n",
            " folded: yes\r\n\r\n", "Host: b\r\n\r\n", "No colon\r\n\r\n", ": empty\r\n\r\n",
            "X: a\u{0}b\r\n\r\n", "X: a\rb\r\n\r\n", "X\u{7F}: a\r\n\r\n",
        ]
        for text in cases {
            let answer = try answer(to: Array((start + text).utf8))
            #expect(
                ["400", "501", "431"].contains(status(of: answer)), "\(text.prefix(80)) \(answer)")
            #expect(
                answer.components(separatedBy: "HTTP/1.1 ").count == 2, "one answer, then the end")
        }
        for text in [
            "GET /open/x HTTP/1.1\r\n\r\n", "GET  /open/x HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /open/x HTTP/1.1 \r\nHost: a\r\n\r\n", "GET /open/x\r\n\r\n",
            "GET /open/x HTTP/3.7\r\nHost: a\r\n\r\n", "G@T /open/x HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET open/x HTTP/1.1\r\nHost: a\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
        ] {
            let answer = try answer(to: Array(text.utf8))
            #expect(["400", "501", "505"].contains(status(of: answer)), "\(text) \(answer)")
        }
        #expect(site.upstream.requests.isEmpty)
        try expectHonestService()
    }

    @Test("a body that is too long is 413, however it comes")
    func largeBodies() throws {
        let large = [UInt8](repeating: 0x61, count: 70_000)
        for target in ["/open/x", "/strict/x", "/attest/verify"] {
            let fields = [("X-App-Attest-Assertion", "AAAA")]
            let byLength = try gateway.connect()
            try byLength.send(
                "POST \(target) HTTP/1.1\r\nHost: a\r\nX-App-Attest-Assertion: AAAA\r\n"
                    + "Content-Length: 70000\r\n\r\n")
            #expect(try byLength.receive().verdict == "413 body_too_large", "before it is sent")
            let sent = try? gateway.exchange("POST", target, fields: fields, body: large)
            #expect(sent?.verdict == "413 body_too_large")

            let expecting = try gateway.connect()
            try expecting.send(
                "POST \(target) HTTP/1.1\r\nHost: a\r\nX-App-Attest-Assertion: AAAA\r\n"
                    + "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n")
            #expect(try expecting.receiveAny().status == 413, "without 100 (Continue)")

            let chunked = try gateway.connect()
            try chunked.send(
                "POST \(target) HTTP/1.1\r\nHost: a\r\nX-App-Attest-Assertion: AAAA\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n")
            let chunk =
                Array("1000\r\n".utf8) + [UInt8](repeating: 0x61, count: 4096)
                + Array("\r\n".utf8)
            for _ in 0..<1000 where (try? chunked.send(chunk)) == nil { break }
            #expect(try chunked.receive().status == 413)
        }
        #expect(site.upstream.requests.isEmpty)
        try expectHonestService()
    }

    @Test("endpoints take their own methods and members only")
    func endpoints() throws {
        for (method, target, status) in [
            ("GET", "/attest/verify", 405), ("PUT", "/attest/verify", 405),
            ("DELETE", "/attest/challenge", 405), ("PATCH", "/assert/challenge", 405),
            ("BREW", "/assert/challenge", 405), ("GET", "/attest/challenge?key_id=AAAA", 400),
            ("GET", "/attest/challenge?key_id=%ZZ", 400), ("POST", "/assert/challenge", 200),
            ("GET", "/nowhere", 404), ("GET", "/strict/../open/x", 400),
        ] {
            let answer = try gateway.exchange(method, target)
            #expect(answer.status == status, "\(method) \(target): \(answer.verdict)")
        }
        let admin = try RawClient(port: gateway.adminPort)
        #expect(try admin.exchange("POST", "/metrics").status == 405)
        #expect(try RawClient(port: gateway.adminPort).exchange("GET", "/nope").status == 404)
        let garbage = try RawClient(port: gateway.adminPort)
        try garbage.send([0, 255, 13, 10, 13, 10])
        #expect(try garbage.receive().status == 400)

        var generator = SeededGenerator(3)
        let bodies: [[UInt8]] =
            [
                "", "{", "[]", "null", "\"x\"", "{}", #"{"key_id":1}"#, "\u{FEFF}{}",
                #"{"key_id":"","attestation":"","challenge":""}"#,
                #"{"key_id":"AA","attestation":"AA","challenge":"AA","challenge":"AA"}"#,
                String(repeating: "[", count: 5000), String(repeating: #"{"a":"#, count: 5000),
                #"{"key_id":"\ud800","attestation":"","challenge":""}"#,
                #"{"key_id":null,"attestation":{},"challenge":[]}"#, "{\"a\":1e999999}",
            ].map { Array($0.utf8) }
            + (0..<40).map { _ in
                (0..<200).map { _ in UInt8.random(in: 0...255, using: &generator) }
            }
        let client = try gateway.connect()
        for body in bodies {
            let answer = try client.exchange("POST", "/attest/verify", body: body)
            #expect(
                answer.status == 400 && answer["Content-Type"] == "application/problem+json",
                "\(String(decoding: body.prefix(60), as: UTF8.self)): \(answer.verdict)")
        }
        try expectHonestService()
    }

    @Test("a broken head from a trusted proxy is refused like any other")
    func trustedProxy() throws {
        site.configuration.listenerMore = ["trusted_proxies: [127.0.0.0/8]"]
        let gateway = try GatewayProcess(site.configuration)
        let start = "GET /open/x HTTP/1.1\r\nHost: a\r\nX-Request-Id: from-the-proxy\r\n"
        for rest in ["broken field\r\n\r\n", "Content-Length: x\r\n\r\n", "Host: b\r\n\r\n"] {
            let client = try gateway.connect()
            try client.send(start + rest)
            let answer = try client.receive()
            #expect(answer.verdict == "400 bad_request")
            #expect(answer["X-Request-Id"] != nil)
        }
        // Half a head, and then nothing for too long.
        site.configuration.more.removeLast()
        site.configuration.more.append("timeouts: { request_head: 200ms }")
        let hasty = try GatewayProcess(site.configuration)
        let client = try hasty.connect()
        try client.send(start + "X: ")
        #expect(try client.receive().verdict == "408 request_timeout")
        for gateway in [gateway, hasty] {
            #expect(try gateway.admin("/livez").status == 200)
            #expect(gateway.isUnharmed)
        }
    }

    @Test("every refusal has a request id of its own")
    func requestIDs() throws {
        let answers = try (0..<4).map { index in
            index % 2 == 0
                ? try answer(to: Array("GET\r\n\r\n".utf8))
                : try answer(to: Array("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        }
        let ids = answers.compactMap { answer in
            answer.split(separator: "\r\n").first { $0.hasPrefix("X-Request-Id: ") }
        }
        #expect(Set(ids).count == 4, "\(ids)")
        #expect(!ids.contains { $0.hasSuffix("0000000000000000") })
    }
}
