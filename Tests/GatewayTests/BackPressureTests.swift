import Bytes
import GatewayTesting
import Policy
import Settings
import TLS
import Testing

@testable import EventLoop
@testable import Gateway

@Suite("Back-pressure")
struct BackPressureTests {}

extension BackPressureTests {
    /// One turn of the loop may serve the upstream first and the client, who has just taken
    /// everything, not at all: nothing waits for the client then, so nobody else would resume.
    @Test("an upstream that was paused goes on when the flush of the same turn takes everything")
    func pausedAndDrained() throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 4096 }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".utf8))
        let block = [UInt8](repeating: 0x2E, count: 2048)
        try repeatWhile(stepped.waitingByteCount == 0) { try stepped.relay(block) }
        let leased = try #require(stepped.leased)
        #expect(!leased.isPaused)
        #expect(stepped.drainClient() > 0)
        try stepped.relay([UInt8](repeating: 0x2E, count: 16 * 1024))
        #expect(stepped.waitingByteCount == 0)
        #expect(!leased.isPaused)
    }

    @Test("a client that sends requests and reads no answers is not read for ever")
    func unreadAnswers() throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 4096 }
        let connection = stepped.connection
        let request = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"
        let block = String(repeating: request, count: 400)
        var turnCount = 0
        while connection.transport?.isReading == true, turnCount < 1000 {
            turnCount += 1
            if stepped.send(block) > 0 { connection.descriptorIsReadable() }
        }
        #expect(turnCount < 1000)
        #expect(connection.input.count <= 2 * HTTP1Connection.readByteCount)
        #expect(stepped.waitingByteCount < 8192)
        try repeatWhile(stepped.drainClient() > 0) { connection.descriptorIsWritable() }
        #expect(connection.transport?.isReading == true)
        #expect(connection.input.count < HTTP1Connection.readByteCount)
    }

    @Test("a client that leaves while its upstream waits leaves nothing of its body behind")
    func leftWhilePaused() throws {
        let stepped = try SteppedWorker {
            $0.limits.responseBufferByteCountMax = 4096
            $0.routes[0].bodyByteCountMax = 1 << 20
        }
        stepped.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
        stepped.send(String(repeating: "x", count: 1000))
        try stepped.beginWhatCame()
        let exchange = try #require(stepped.connection.exchange)
        #expect(exchange.intake.state.body.byteCount == 1000)
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".utf8))
        let leased = try #require(stepped.leased)
        let block = [UInt8](repeating: 0x2E, count: 2048)
        try repeatWhile(!leased.isPaused) { try stepped.relay(block) }
        // From here on it is known as one that keeps an upstream waiting.
        #expect(exchange.forwarder.state.clientWait.since != nil)
        stepped.closeClient()
        stepped.connection.descriptorIsWritable()
        #expect(stepped.connection.state == .closed)
        #expect(exchange.intake.state.body.byteCount == 0)
    }

    @Test("an upstream waits while the client takes nothing, and goes on when it does")
    func paused() throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 4096 }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".utf8))
        let leased = try #require(stepped.leased)
        let block = [UInt8](repeating: 0x2E, count: 2048)
        try repeatWhile(!leased.isPaused) { try stepped.relay(block) }
        #expect(stepped.waitingByteCount <= 4096 + 2 * 2048)
        #expect(stepped.drainClient() > 0)
        stepped.connection.descriptorIsWritable()
        #expect(!leased.isPaused)
    }

    @Test("an upstream that ends by a reset while it waits for the client is noticed at once")
    func resetWhilePaused() throws {
        let stepped = try SteppedWorker(isUpstreamUnix: false) {
            $0.limits.responseBufferByteCountMax = 4096
        }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".utf8))
        let leased = try #require(stepped.leased)
        let block = [UInt8](repeating: 0x2E, count: 2048)
        try repeatWhile(!leased.isPaused) { try stepped.relay(block) }
        // More of the answer tells nothing.
        try stepped.relay(block)
        #expect(leased.state == .readingBody)
        stepped.resetUpstream()
        leased.descriptorIsReadable()
        #expect(leased.state == .closed)
        #expect(stepped.connection.state == .closed)
        // It was the client that it waited for.
        #expect(leased.server.meter.failureCount == 0)
    }

    /// Answers to a client that takes nothing, up to where the kernel takes nothing either.
    private func blocked(
        _ configure: (inout Settings) -> Void = { _ in }
    ) throws -> SteppedWorker {
        let stepped = try SteppedWorker {
            $0.limits.responseBufferByteCountMax = 1 << 20
            configure(&$0)
        }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".utf8))
        let block = [UInt8](repeating: 0x2E, count: 8192)
        try repeatWhile(stepped.waitingByteCount == 0) { try stepped.relay(block) }
        return stepped
    }

    @Test(
        "a client that takes nothing gets no more time for what the upstream sends",
        arguments: [1, 8192])
    func sendTimeout(byteCount: Int) throws {
        let stepped = try blocked()
        let connection = stepped.connection
        let deadline = connection.deadline
        let due = deadline.due
        for _ in 0..<10 { try stepped.relay([UInt8](repeating: 0x2E, count: byteCount)) }
        #expect(deadline.due == due)
        let leased = try #require(stepped.leased)
        stepped.worker.services.deadlines.advance(
            to: MonotonicInstant(nanoseconds: due) + DeadlineWheel.granularity)
        #expect(connection.state == .closed)
        #expect(leased.state == .closed)
    }

    @Test("a client that takes a little gets its time anew")
    func sendProgress() throws {
        let stepped = try blocked()
        let connection = stepped.connection
        let deadline = connection.deadline
        while connection.output.count < 1 << 20 {
            try stepped.relay([UInt8](repeating: 0x2E, count: 8192))
        }
        let due = deadline.due
        #expect(stepped.drainClient() > 0)
        connection.descriptorIsWritable()
        #expect(stepped.waitingByteCount > 0)
        #expect(deadline.due > due)
    }

    @Test("a client that takes too little on average is cut off, counted by what its system took")
    func responseRate() throws {
        let stepped = try blocked {
            $0.timeouts.responseGrace = .seconds(10)
            $0.limits.responseRateMin = 1 << 20
        }
        let connection = stepped.connection
        let deadline = connection.deadline
        let leased = try #require(stepped.leased)
        let grace = deadline.due
        // No event tells the gateway of it: no loop runs here.
        #expect(stepped.drainClient() > 0)
        func expire() {
            stepped.worker.services.deadlines.advance(
                to: MonotonicInstant(nanoseconds: deadline.due) + DeadlineWheel.granularity)
        }
        expire()
        #expect(connection.state == .exchanging)
        #expect(deadline.due > grace)
        expire()
        #expect(connection.state == .closed)
        #expect(leased.state == .closed)
    }

    @Test("a client that takes nothing gets no more time for what it sends itself")
    func sendTimeoutWhileSending() throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 1 << 20 }
        let connection = stepped.connection
        let request = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"
        try repeatWhile(stepped.waitingByteCount == 0) {
            stepped.send(request)
            connection.descriptorIsReadable()
        }
        let deadline = connection.deadline
        let due = deadline.due
        for piece in [request, "POST / HTTP/1.1\r\nHost: a\r\n", "Content-Length: 9\r\n\r\n", "a"] {
            stepped.send(piece)
            connection.descriptorIsReadable()
            #expect(deadline.due == due)
        }
        // The time for the rest of the body begins once the answers are taken.
        #expect(stepped.drainClient() > 0)
        connection.descriptorIsWritable()
        #expect(stepped.waitingByteCount == 0)
        #expect(connection.state == .exchanging)
        #expect(deadline.isSet && deadline.due != due)
    }
}
