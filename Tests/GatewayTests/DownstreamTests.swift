import EventLoop
import GatewayTesting
import HTTP
import Policy
import Settings
import TLS
import Testing

@testable import Gateway

@Suite("Client connections")
struct DownstreamTests {}

extension DownstreamTests {
    /// Waits until a connection that sends nothing has been closed: the time for heads has passed.
    private func waitForHeadTimeout(_ gateway: GatewayUnderTest) throws {
        #expect(try gateway.client().receiveToEnd().isEmpty)
    }

    @Test("a body may take longer than a head, with a length and in chunks")
    func slowBody() throws {
        let gateway = try GatewayUnderTest { $0.timeouts.requestHead = .seconds(1) }
        let measured = try gateway.client()
        let chunked = try gateway.client()
        try measured.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        try chunked.send(
            "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc")
        try waitForHeadTimeout(gateway)
        try measured.send("def")
        try chunked.send("\r\n3\r\ndef\r\n0\r\n\r\n")
        #expect(try measured.receive().status == 200)
        #expect(try chunked.receive().status == 200)
        #expect(
            gateway.upstream.requests.map(\.body)
                == Array(repeating: Array("abcdef".utf8), count: 2))
    }

    @Test("a body that stops coming ends its request")
    func stoppedBody() throws {
        let gateway = try GatewayUnderTest { $0.timeouts.requestBody = .milliseconds(100) }
        let stopped = [
            "Content-Length: 6\r\n\r\nabc", "Content-Length: 6\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nab", "Transfer-Encoding: chunked\r\n\r\n3\r",
            "Content-Length: 6\r\nExpect: 100-continue\r\n\r\n",
        ]
        let clients = try stopped.map { rest in
            let client = try gateway.client()
            try client.send("POST /a HTTP/1.1\r\nHost: a\r\n" + rest)
            return client
        }
        for client in clients {
            let answer = try client.receive()
            #expect(answer.status == 408)
            #expect(answer["Connection"] == "close")
            client.socket.close()
        }
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["refused request_timeout": 5])
    }

    @Test(
        "a body that comes too slowly on average ends its request, although no pause is long",
        arguments: ["Content-Length: 6\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nab"])
    func slowPace(rest: String) throws {
        let gateway = try GatewayUnderTest {
            $0.timeouts.requestBody = .seconds(600)
            $0.timeouts.bodyGrace = .milliseconds(100)
        }
        let client = try gateway.client()
        try client.send("POST /a HTTP/1.1\r\nHost: a\r\n" + rest)
        #expect(try client.receive().status == 408)
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["refused request_timeout": 1])
    }

    @Test("each byte of a body buys it time, as much as the slowest pace allows")
    func pace() {
        let start = MonotonicInstant(nanoseconds: 7_000_000_000)
        let pace = BodyPace(byteRate: 500, grace: 20_000_000_000)
        #expect(pace.deadline(since: start, byteCount: 0).nanoseconds == 27_000_000_000)
        #expect(pace.deadline(since: start, byteCount: 1000).nanoseconds == 29_000_000_000)
        #expect(pace.deadline(since: start, byteCount: .max) == .distantFuture)
        let any = BodyPace(byteRate: 0, grace: 20_000_000_000)
        #expect(any.deadline(since: start, byteCount: 0) == .distantFuture)
    }

    @Test("a head must be whole in its time, on a fresh connection and on one in use")
    func slowHead() throws {
        let gateway = try GatewayUnderTest { $0.timeouts.requestHead = .seconds(1) }
        let fresh = try gateway.client()
        try fresh.send("GET / HTTP/1.1\r\nHo")
        let used = try gateway.client()
        #expect(try used.exchange("GET", "/").status == 200)
        try used.send("GET / HTTP/1.1\r\nHo")
        for client in [fresh, used] {
            #expect(try client.receive().status == 408)
            #expect(try client.receiveToEnd().isEmpty)
        }
    }

    @Test("a connection without a next request ends after the idle time")
    func idle() throws {
        let gateway = try GatewayUnderTest { $0.timeouts.idle = .milliseconds(100) }
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/").status == 200)
        #expect(try client.receiveToEnd().isEmpty)
    }

    @Test("a client that has half closed gets the answers to all that it sent whole")
    func halfClosed() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        let client = try gateway.client()
        try client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        try gateway.upstream.waitForRequests(1)
        client.socket.shutdownSending()
        gate.open()
        #expect(try client.receive().bodyText == "hello\n")
        #expect(try client.receive().bodyText == "hello\n")
        #expect(try client.receiveToEnd().isEmpty)
    }

    @Test(
        "what a half-closed client began and did not finish ends with it",
        arguments: [
            "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab",
            "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab",
            "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n",
            "POST /2 HTT",
        ])
    func halfClosedInTheMiddle(rest: String) throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        let client = try gateway.client()
        try client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n" + rest)
        try gateway.upstream.waitForRequests(1)
        client.socket.shutdownSending()
        gate.open()
        #expect(try client.receive().status == 200)
        #expect(try client.receiveToEnd().isEmpty)
        gateway.stop()
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test(
        "a client that resets its connection ends its exchange while the upstream is silent",
        arguments: [
            // Whether it has half closed before, and how many more requests it has sent.
            (false, 0), (true, 0), (false, 4000), (true, 4000),
        ])
    func reset(isHalfClosed: Bool, pipelinedCount: Int) throws {
        let gateway = try GatewayUnderTest(upstream: { _ in UpstreamAnswer([]) })
        let client = try gateway.client()
        let request = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
        try client.send(String(repeating: request, count: 1 + pipelinedCount))
        try gateway.upstream.waitForRequests(1)
        if isHalfClosed { client.socket.shutdownSending() }
        client.socket.reset()
        try gateway.upstream.waitForClose(ofConnection: 0)
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["passed client_closed": 1])
    }

    @Test("a client that closes a unix socket ends its exchange while the upstream is silent")
    func closedUnixSocket() throws {
        let stepped = try SteppedWorker { $0.routes[0].onClientClose = .finish }
        try stepped.begin()
        let leased = try #require(stepped.leased)
        Socket.shutdownWrite(stepped.client)
        stepped.connection.descriptorIsReadable()
        #expect(stepped.connection.state == .exchanging)
        stepped.connection.descriptorIsReadable()
        #expect(stepped.connection.state == .exchanging)
        stepped.closeClient()
        stepped.connection.descriptorIsReadable()
        #expect(stepped.connection.state == .closed)
        #expect(leased.state == .closed)
    }

    @Test("what has come of a long body is read at once, up to 64 KiB")
    func longBody() throws {
        // One in a file would be waited for.
        let stepped = try SteppedWorker { $0.limits.bodyMemoryByteCountMax = 1 << 20 }
        let connection = stepped.connection
        let body = String(repeating: "a", count: 150_000)
        stepped.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 150000\r\n\r\n")
        connection.descriptorIsReadable()
        #expect(stepped.send(body) == body.utf8.count)
        // Twice 64 KiB, and the rest.
        for count in 1...3 {
            #expect(!connection.bodyReader.isComplete, "\(count)")
            connection.descriptorIsReadable()
        }
        #expect(connection.bodyReader.isComplete)
    }

    @Test(
        "a client that half closes before it took the last answers gets them all",
        arguments: ["", "\r\n", "GET / HT"])
    func halfClosedBeforeItTook(begun: String) throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 1 << 20 }
        let connection = stepped.connection
        var answerCount = 0
        try repeatWhile(stepped.waitingByteCount == 0) {
            stepped.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
            connection.descriptorIsReadable()
            answerCount += 1
        }
        if !begun.isEmpty {
            stepped.send(begun)
            connection.descriptorIsReadable()
        }
        Socket.shutdownWrite(stepped.client)
        connection.descriptorIsReadable()
        var text = stepped.takeAnswers()
        connection.descriptorIsWritable()
        #expect(connection.state == .closed)
        text += stepped.takeAnswers()
        #expect(text.split(separator: "\r\n\r\n").count == answerCount)
    }

    @Test("an empty line behind a request begins no other", arguments: [true, false])
    func emptyLine(comesAlong: Bool) throws {
        let stepped = try SteppedWorker()
        let connection = stepped.connection
        let request = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"
        stepped.send(comesAlong ? request + "\r\n" : request)
        connection.descriptorIsReadable()
        if !comesAlong {
            stepped.send("\r\n")
            connection.descriptorIsReadable()
        }
        #expect(connection.state == .idle)
        #expect(connection.exchange == nil)
        stepped.send(request)
        connection.descriptorIsReadable()
        #expect(stepped.takeAnswers().split(separator: "\r\n\r\n").count == 2)
    }

    @Test("what a connection just accepted has sent is answered although the worker stops")
    func drainedBeforeItWasRead() throws {
        let stepped = try SteppedWorker()
        stepped.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
        stepped.connection.drain()
        #expect(stepped.drainClient() > 0)
        #expect(stepped.connection.state == .closed)
    }

    @Test("a connection whose last answer the client has not taken yet is not cut when it stops")
    func drainedBeforeItWasTaken() throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 1 << 20 }
        try stepped.begin()
        let byteCount = 1 << 20
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: \(byteCount)\r\n\r\n".utf8))
        let block = [UInt8](repeating: 0x2E, count: 16 * 1024)
        for _ in 0..<byteCount / block.count { try stepped.relay(block) }
        #expect(stepped.connection.state == .idle)
        #expect(stepped.waitingByteCount > 0)
        stepped.connection.drain()
        var takenCount = 0
        try repeatWhile(stepped.connection.state == .finishing) {
            takenCount += stepped.drainClient()
            stepped.connection.descriptorIsWritable()
        }
        takenCount += stepped.drainClient()
        #expect(takenCount > byteCount)
    }

    @Test("a request in progress is answered when the worker stops, an idle connection closed")
    func drained() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        let idle = try gateway.client()
        #expect(try idle.exchange("OPTIONS", "*").status == 200)
        let busy = try gateway.client()
        try busy.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
        try gateway.upstream.waitForRequests(1)
        gateway.post(.drain)
        // Nothing but the end of the idle connection says that the worker is draining.
        #expect(try idle.receiveToEnd().isEmpty)
        gate.open()
        let answer = try busy.receive()
        #expect(answer.status == 200)
        #expect(try busy.receiveToEnd().isEmpty)
    }

    @Test("a request that was begun before the worker stops leaves no other behind it unanswered")
    func drainedBetween() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { request in
            guard request.target == "/1" else { return .response() }
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"
            return UpstreamAnswer([.send(Array(head.utf8)), .wait(gate), .send([0x62])])
        })
        let idle = try gateway.client()
        #expect(try idle.exchange("OPTIONS", "*").status == 200)
        let client = try gateway.client()
        try client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.receiveHead()["Connection"] == nil)
        gateway.post(.drain)
        #expect(try idle.receiveToEnd().isEmpty)
        gate.open()
        #expect(try client.receiveBytes(2) == [0x61, 0x62])
        let last = try client.receive()
        #expect(last.bodyText == "hello\n")
        #expect(last["Connection"] == "close")
        #expect(try client.receiveToEnd().isEmpty)
    }

    /// A connection whose answer is complete, with more of it than it may hold, and with the first
    /// bytes of `next` in its input.
    private func full(next: String) throws -> SteppedWorker {
        let limit = 64 * 1024
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = limit }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8))
        let chunk =
            Array("1000\r\n".utf8) + [UInt8](repeating: 0x2E, count: 4096)
            + Array("\r\n".utf8)
        while stepped.waitingByteCount <= limit - chunk.count { try stepped.relay(chunk) }
        try stepped.relay(chunk + chunk + Array("0\r\n\r\n".utf8))
        #expect(stepped.connection.state == .idle)
        #expect(stepped.waitingByteCount > limit)
        stepped.send(next)
        // More than it takes of what it cannot answer yet.
        for _ in 0..<8 { stepped.connection.descriptorIsReadable() }
        return stepped
    }

    /// The client takes all that waits for it.
    private func take(from stepped: SteppedWorker) {
        while stepped.waitingByteCount > 0 {
            _ = stepped.drainClient()
            stepped.connection.descriptorIsWritable()
        }
        _ = stepped.drainClient()
    }

    @Test(
        "a request that came while nothing more of the last answer was taken is read to its end",
        arguments: [
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n"
                + String(repeating: "x", count: 40_000),
        ])
    func readOn(next: String) throws {
        let stepped = try full(next: next)
        #expect(stepped.connection.transport?.isReading == false)
        take(from: stepped)
        try repeatWhile(stepped.connection.exchange?.intake.state.isComplete != true) { () throws in
            try #require(stepped.connection.transport?.isReading == true)
            stepped.connection.descriptorIsReadable()
        }
        #expect(stepped.connection.state == .exchanging)
    }

    @Test(
        "what is no whole head keeps no worker from stopping",
        arguments: ["\r\n", "\n\r\n", "GET / HTTP/1.1\r\nHos"])
    func drainedBehindNothing(next: String) throws {
        let stepped = try full(next: next)
        stepped.connection.drain()
        #expect(stepped.connection.state == .finishing)
    }

    @Test("a request that waits behind such an answer is the last one when the worker stops")
    func drainedBehind() throws {
        let stepped = try full(next: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        stepped.connection.drain()
        take(from: stepped)
        #expect(stepped.connection.state == .exchanging)
        #expect(stepped.connection.exchange?.intake.state.isComplete == true)
    }
}
