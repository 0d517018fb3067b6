import AppAttestTesting
import Bytes
import GatewayTesting
import HTTP
import JSON
import Settings
import Testing

@testable import Gateway

@Suite("Use of client connections")
struct ConnectionUseTests {}

extension ConnectionUseTests {
    @Test("pipelined requests are answered in order, whoever answers them")
    func pipelined() throws {
        let gateway = try GatewayUnderTest(upstream: { .response(body: $0.target) })
        let client = try gateway.client()
        var text = ""
        for number in 0..<200 {
            switch number % 4 {
            case 0: text += "GET /\(number) HTTP/1.1\r\nHost: a\r\n\r\n"
            case 1: text += "GET /attested/\(number) HTTP/1.1\r\nHost: a\r\n\r\n"
            case 2: text += "POST /\(number) HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
            default:
                text += "PUT /\(number) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                text += "3;x=y\r\nabc\r\n0\r\n\r\n"
            }
        }
        try client.send(text)
        for number in 0..<200 {
            let answer = try client.receive()
            if number % 4 == 1 {
                #expect(answer.code == "assertion_required")
            } else {
                #expect(answer.bodyText == "/\(number)")
            }
        }
        #expect(gateway.upstream.requests.allSatisfy { $0.body.isEmpty || $0.body.count == 3 })
    }

    @Test("a client that waits for 100 gets it where the body is wanted, and where not the refusal")
    func expectation() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let rest = "Host: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        try client.send("POST /x HTTP/1.1\r\n" + rest)
        #expect(try client.receiveAny().status == 100)
        try client.send("hello")
        #expect(try client.receiveAny().status == 200)
        #expect(gateway.upstream.requests.first?["Expect"] == nil)
        try client.send("POST /attested/x HTTP/1.1\r\n" + rest)
        let refused = try client.receiveAny()
        #expect(refused.status == 401)
        #expect(refused["Connection"] == "close")
        #expect(try client.receiveToEnd().isEmpty)
        let odd = try gateway.client()
        try odd.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 200-ok\r\n\r\n")
        #expect(try odd.receive().status == 417)
    }

    @Test("a refusal before the body keeps the connection where the body is here already")
    func refusedBeforeBody() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let body = [UInt8](repeating: 0x2E, count: 100)
        #expect(try client.exchange("POST", "/attested/x", body: body).status == 401)
        #expect(try client.exchange("POST", "/x", body: body).status == 200)
        // Of a large one the rest is thrown away, so that the client can read the answer.
        let large = [UInt8](repeating: 0x2E, count: 200 * 1024)
        let refused = try client.exchange("POST", "/attested/x", body: large)
        #expect(refused.status == 401)
        #expect(refused["Connection"] == "close")
        #expect(try client.receiveToEnd().isEmpty)
    }

    @Test("a slow client gets a long answer whole", arguments: [true, false])
    func slowClient(isChunked: Bool) throws {
        let byteCount = 4 << 20
        let block = String(repeating: "0123456789abcdef", count: 4096)
        let chunks = Array(repeating: block, count: byteCount / block.utf8.count)
        let gateway = try GatewayUnderTest(upstream: { _ in
            isChunked ? .chunked(chunks) : .response(body: chunks.joined())
        }) { $0.limits.responseBufferByteCountMax = 16 * 1024 }
        let clients = try (0..<3).map { _ in try gateway.client(receiveBufferByteCount: 4096) }
        for client in clients { try client.send("GET", "/x") }
        for client in clients {
            let answer = try client.receive()
            #expect(answer.body.count == byteCount)
            #expect(answer.body.starts(with: Array(block.utf8)))
            #expect(answer.body.suffix(16) == Array("0123456789abcdef".utf8)[...])
        }
    }

    @Test("many large answers to fast clients all arrive")
    func fastClients() throws {
        let byteCount = 16 << 20
        let gateway = try GatewayUnderTest(upstream: { _ in .large(byteCount: byteCount) }) {
            $0.limits.responseBufferByteCountMax = 4096
        }
        for _ in 0..<4 {
            let client = try gateway.client()
            try client.send("GET", "/x")
            #expect(try client.receiveHead().status == 200)
            try client.discardBytes(byteCount)
        }
    }

    @Test("beyond the most connections the next one waits until another has gone")
    func connectionLimit() throws {
        let gateway = try GatewayUnderTest { $0.limits.connectionCountMax = 2 }
        let first = try gateway.client()
        let second = try gateway.client()
        #expect(try first.exchange("GET", "/1").status == 200)
        #expect(try second.exchange("GET", "/2").status == 200)
        let third = try gateway.client()
        try third.send("GET", "/3")
        #expect(gateway.hub.meters[0].connectionCount == 2)
        first.socket.close()
        #expect(try third.receive().status == 200)
        #expect(gateway.hub.meters[0].connectionCount == 2)
    }

    @Test("a connection ends after its last request, and an old client's unless it asks")
    func persistence() throws {
        let gateway = try GatewayUnderTest { $0.limits.requestsPerConnectionMax = 2 }
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/1")["Connection"] == nil)
        #expect(try client.exchange("GET", "/2")["Connection"] == "close")
        #expect(try client.receiveToEnd().isEmpty)
        let old = try gateway.client()
        try old.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(try old.receive()["Connection"] == "keep-alive")
        try old.send("GET /2 HTTP/1.0\r\n\r\n")
        #expect(try old.receive()["Connection"] == "close")
        #expect(try old.receiveToEnd().isEmpty)
        let closing = try gateway.client()
        let answer = try closing.exchange("GET", "/", fields: [("Connection", "close")])
        #expect(answer["Connection"] == "close")
        #expect(try closing.receiveToEnd().isEmpty)
    }

    @Test("garbage is refused with its status and the connection closed")
    func garbage() throws {
        let gateway = try GatewayUnderTest()
        for (text, status) in [
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1\nHost: a\n\n", 400), ("get / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", 400), ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
            ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 501),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
            ("GET /../x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET //x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET /attested;a/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET /%2561ttested%2Fx HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ] {
            let client = try gateway.client()
            try client.send(text)
            let answer = try client.receive()
            #expect(answer.status == status, "\(text)")
            #expect(answer["Content-Type"] == "application/problem+json")
            #expect(answer.code != nil)
            client.socket.close()
        }
        gateway.stop()
        #expect(gateway.upstream.requests.isEmpty)
        #expect(gateway.upstream.connectionCount == 0)
    }

    @Test("every split of a request is the same request")
    func splits() throws {
        let gateway = try GatewayUnderTest(upstream: { .response(body: "\($0.body.count)") })
        let text = Array(
            "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                .utf8)
        let client = try gateway.client()
        for split in 1..<text.count {
            try client.send(Array(text[..<split]))
            try client.send(Array(text[split...]))
            #expect(try client.receive().bodyText == "3")
        }
    }
}

@Suite("Tables of connections")
struct ConnectionTableTests {}

extension ConnectionTableTests {
    @Test("slots are used again, and one given back twice counts once")
    func slots() throws {
        let stepped = try SteppedWorker()
        let connection = stepped.connection
        var table = ConnectionTable()
        #expect(table.insert(connection) == 0)
        #expect(table.insert(connection) == 1)
        #expect(table.count == 2)
        table.remove(at: 0)
        table.remove(at: 0)
        #expect(table.count == 1)
        #expect(table.all.count == 1)
        #expect(table.insert(connection) == 0)
        #expect(table.insert(connection) == 2)
        #expect(table.count == 3)
    }
}
