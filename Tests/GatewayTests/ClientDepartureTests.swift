import EventLoop
import GatewayTesting
import Policy
import Settings
import TLS
import Testing

@testable import Gateway

/// A client that has closed its connection looks over TCP like one that only sends no more.
@Suite("Clients that leave")
struct ClientDepartureTests {}

extension ClientDepartureTests {
    private static let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n"

    private static func cancel(_ settings: inout Settings) {
        for index in settings.routes.indices { settings.routes[index].onClientClose = .cancel }
    }

    @Test(
        "the upstream's connection ends with the client's, though the upstream is silent",
        arguments: [
            // Whether the answer has begun, and how many more requests the client has sent.
            (false, 0), (true, 0), (false, 4000), (true, 4000),
        ])
    func closed(hasBegun: Bool, pipelinedCount: Int) throws {
        let gateway = try GatewayUnderTest(
            upstream: { _ in hasBegun ? .raw(Self.head) : UpstreamAnswer([]) }, Self.cancel)
        let client = try gateway.client()
        let request = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
        try client.send(String(repeating: request, count: 1 + pipelinedCount))
        try gateway.upstream.waitForRequests(1)
        if hasBegun { #expect(try !client.socket.receive().isEmpty) }
        client.socket.close()
        try gateway.upstream.waitForClose(ofConnection: 0)
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["passed client_closed": 1])
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test("one that has only half closed gets no answer either, and sees the end at once")
    func halfClosed() throws {
        let gateway = try GatewayUnderTest(upstream: { _ in UpstreamAnswer([]) }, Self.cancel)
        let client = try gateway.client()
        try client.send("GET", "/1")
        try gateway.upstream.waitForRequests(1)
        client.socket.shutdownSending()
        #expect(try client.receiveToEnd().isEmpty)
        try gateway.upstream.waitForClose(ofConnection: 0)
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["passed client_closed": 1])
    }

    @Test("a request whose route does not say cancel is served to its end")
    func finished() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        let client = try gateway.client()
        try client.send("GET", "/1")
        try gateway.upstream.waitForRequests(1)
        client.socket.shutdownSending()
        gate.open()
        #expect(try client.receive().bodyText == "hello\n")
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["passed ok": 1])
    }

    @Test("a request behind one that is finished is not sent on if its own route says cancel")
    func pipelined() throws {
        let stepped = try SteppedWorker {
            $0.routes.append(GatewayUnderTest.route("costly", "/costly/") { _ in })
            $0.routes[1].onClientClose = .cancel
        }
        stepped.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /costly/ HTTP/1.1\r\nHost: a\r\n\r\n")
        try stepped.beginWhatCame()
        Socket.shutdownWrite(stepped.client)
        stepped.connection.descriptorIsReadable()
        #expect(stepped.connection.state == .exchanging)
        #expect(stepped.upstreamText().contains("GET / "))
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
        stepped.worker.services.outbox.flush()
        #expect(stepped.upstreamText().isEmpty)
        #expect(stepped.connection.state == .closed)
        #expect(stepped.takeAnswers().hasSuffix("\r\n\r\nok"))
    }

    @Test("one that has half closed takes the whole answer before the next request may cancel")
    func slowReader() throws {
        let stepped = try SteppedWorker {
            $0.routes.append(GatewayUnderTest.route("costly", "/costly/") { _ in })
            $0.limits.responseBufferByteCountMax = 1024 * 1024
            $0.routes[1].onClientClose = .cancel
        }
        stepped.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /costly/ HTTP/1.1\r\nHost: a\r\n\r\n")
        try stepped.beginWhatCame()
        Socket.shutdownWrite(stepped.client)
        stepped.connection.descriptorIsReadable()
        let piece = [UInt8](repeating: 0x61, count: 64 * 1024)
        let byteCount = 64 * piece.count
        try stepped.relay(
            Array("HTTP/1.1 200 OK\r\nContent-Length: \(byteCount)\r\n\r\n".utf8))
        // Of the last pieces the client takes nothing, which is more than its kernel holds.
        var received = 0
        for index in 0..<64 {
            try stepped.relay(piece)
            if index < 56 { received += stepped.drainClient() }
        }
        #expect(stepped.connection.state != .closed)
        for _ in 0..<1000 where stepped.connection.state != .closed {
            received += stepped.drainClient()
            stepped.connection.descriptorIsWritable()
        }
        received += stepped.drainClient()
        #expect(received > byteCount)
        #expect(stepped.connection.state == .closed)
    }

    @Test("one that has left when it is asked for its body gives the upstream's stream back")
    func leftBeforeInvitation() throws {
        let stepped = try SteppedWorker {
            $0.upstreams[0].protocol = .http2
            $0.routes[0].streamsBody = true
        }
        stepped.send(
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        stepped.closeClient()
        stepped.connection.descriptorIsReadable()
        #expect(stepped.connection.state == .closed)
        let services = stepped.worker.services
        let pool = services.pool(for: services.site, upstream: 0)
        #expect(pool.connectionCount == 1)
        // Only a connection without requests ends now.
        pool.closeIdle()
        #expect(pool.connectionCount == 0)
    }

    @Test("one whose streamed body the upstream does not take is noticed behind its own bytes")
    func behindItsBody() throws {
        let stepped = try SteppedWorker {
            Self.cancel(&$0)
            $0.routes[0].streamsBody = true
            $0.routes[0].bodyByteCountMax = 10_000_000
            $0.limits.responseBufferByteCountMax = 16 * 1024
        }
        try stepped.begin(method: "POST", fields: "Content-Length: 10000000\r\n")
        let leased = try #require(stepped.leased)
        let piece = String(repeating: "a", count: 64 * 1024)
        try repeatWhile(stepped.connection.transport?.isReading == true) {
            stepped.send(piece)
            stepped.connection.descriptorIsReadable()
        }
        stepped.send(piece)
        stepped.connection.descriptorIsReadable()
        #expect(stepped.connection.state == .exchanging)
        Socket.shutdownWrite(stepped.client)
        stepped.connection.descriptorIsReadable()
        #expect(stepped.connection.state == .closed)
        #expect(leased.state == .closed)
    }
}
