import Bytes
import EventLoop
import GatewayTesting
import Judgement
import Policy
import Settings
import TLS
import Testing

@testable import Gateway

@Suite("An upstream that waits for the client")
struct PausedUpstreamTests {}

extension PausedUpstreamTests {
    /// Sends blocks of 2048 bytes until the gateway reads no more; returns how many those were.
    private func fill(_ stepped: SteppedWorker, isChunked: Bool) throws -> Int {
        let leased = try #require(stepped.leased)
        var count = 0
        try repeatWhile(!leased.isPaused) {
            try stepped.relay(Self.block(isChunked: isChunked))
            count += 1
        }
        return count
    }

    private static func block(isChunked: Bool) -> [UInt8] {
        let data = String(repeating: "#", count: 2048)
        return Array((isChunked ? "800\r\n\(data)\r\n" : data).utf8)
    }

    private func begin(isUnix: Bool, framing: String) throws -> SteppedWorker {
        let stepped = try SteppedWorker(isUpstreamUnix: isUnix) {
            $0.limits.responseBufferByteCountMax = 4096
        }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n".utf8))
        return stepped
    }

    @Test(
        "and has sent the whole answer may be gone: the client gets all of it",
        arguments: [true, false], [true, false])
    func wholeAnswer(isUnix: Bool, isChunked: Bool) throws {
        var framing = "Transfer-Encoding: chunked"
        var wholeCount: Int?
        if !isChunked {
            let large = try begin(isUnix: isUnix, framing: "Content-Length: 100000000")
            let blockCount = try fill(large, isChunked: false) + 8
            framing = "Content-Length: \(blockCount * 2048)"
            wholeCount = blockCount
        }
        let stepped = try begin(isUnix: isUnix, framing: framing)
        let leased = try #require(stepped.leased)
        let begunCount = try fill(stepped, isChunked: isChunked)
        let count = wholeCount ?? begunCount + 8
        for _ in begunCount..<count {
            let block = Self.block(isChunked: isChunked)
            #expect(Socket.write(stepped.upstream, block.span) == .bytes(block.count))
        }
        let end = Array("0\r\n\r\n".utf8)
        if isChunked { #expect(Socket.write(stepped.upstream, end.span) == .bytes(end.count)) }
        if isUnix { stepped.closeUpstream() } else { stepped.resetUpstream() }
        leased.descriptorIsReadable()
        #expect(leased.state == .readingBody)
        var answer = ""
        let connection = stepped.connection
        for _ in 0..<10_000 where connection.state == .exchanging {
            answer += stepped.takeAnswers()
            connection.descriptorIsWritable()
            if !leased.isPaused { leased.descriptorIsReadable() }
        }
        connection.descriptorIsWritable()
        answer += stepped.takeAnswers()
        #expect(answer.utf8.count { $0 == UInt8(ascii: "#") } == count * 2048)
        #expect(connection.state == .idle)
        #expect(leased.server.meter.failureCount == 0)
    }

    @Test("and is gone before its answer was whole is noticed at once", arguments: [true, false])
    func cutAnswer(isUnix: Bool) throws {
        let stepped = try begin(isUnix: isUnix, framing: "Transfer-Encoding: chunked")
        let leased = try #require(stepped.leased)
        _ = try fill(stepped, isChunked: true)
        if isUnix { stepped.closeUpstream() } else { stepped.resetUpstream() }
        // As the loop does: the first call says that there is something, and nothing is read.
        leased.descriptorIsReadable()
        leased.descriptorIsReadable()
        #expect(leased.state == .closed)
        #expect(stepped.connection.state == .closed)
    }

    @Test("is watched until more comes, and again when the client has taken what waited")
    func watch() throws {
        let stepped = try begin(isUnix: false, framing: "Content-Length: 100000000")
        let leased = try #require(stepped.leased)
        _ = try fill(stepped, isChunked: false)
        let transport = try #require(leased.transport)
        #expect(transport.isReading)
        // More comes before the client is ready.
        let block = Self.block(isChunked: false)
        #expect(Socket.write(stepped.upstream, block.span) == .bytes(block.count))
        leased.descriptorIsReadable()
        #expect(!transport.isReading)
        #expect(leased.isPaused)
        try repeatWhile(leased.isPaused) {
            _ = stepped.takeAnswers()
            stepped.connection.descriptorIsWritable()
        }
        #expect(transport.isReading)
        _ = try fill(stepped, isChunked: false)
        // The client is ready before more comes.
        try repeatWhile(leased.isPaused) {
            _ = stepped.takeAnswers()
            stepped.connection.descriptorIsWritable()
        }
        #expect(transport.isReading)
    }

    @Test("goes on where the last piece of a read took everything that waited along")
    func lastPiece() throws {
        let stepped = try begin(isUnix: false, framing: "Transfer-Encoding: chunked")
        let small = "40\r\n" + String(repeating: "#", count: 64) + "\r\n"
        let large = "1388\r\n" + String(repeating: "#", count: 5000) + "\r\n"
        try stepped.relay(Array((String(repeating: small, count: 100) + large).utf8))
        #expect(stepped.waitingByteCount == 0)
        #expect(try #require(stepped.leased).isPaused == false)
    }

    @Test("and has begun its answer may go on with it as long as the client's body comes")
    func earlyAnswer() throws {
        let clock = ManualClock(now: .now(), wallMilliseconds: WallClock.milliseconds())
        let stepped = try SteppedWorker(clock: clock) {
            $0.upstreams[0].readTimeout = .seconds(3)
            $0.routes[0].streamsBody = true
        }
        let loop = stepped.worker.services.loop
        try stepped.begin(method: "POST", fields: "Transfer-Encoding: chunked\r\n")
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8))
        let leased = try #require(stepped.leased)
        for _ in 0..<4 {
            stepped.send("1\r\na\r\n")
            loop.runUntilIdle()
            clock.now = clock.now + .seconds(2)
            loop.runUntilIdle()
        }
        #expect(leased.state == .readingBody)
        clock.now = clock.now + .seconds(2)
        loop.runUntilIdle()
        #expect(leased.state == .closed)
    }

    @Test("does so no longer where its request looks for another")
    func retriedStream() throws {
        let stepped = try SteppedWorker {
            $0.routes[0].streamsBody = true
            $0.upstreams[0].connectionCountMax = 1
            $0.upstreams[0].queue.requestCountMax = 1
        }
        try stepped.begin(method: "PUT", fields: "Content-Length: 9\r\n")
        let exchange = try #require(stepped.connection.exchange)
        let leased = try #require(stepped.leased)
        #expect(exchange.forwarder.state.clientWait.since != nil)
        // The place of the connection that broke is another request's already.
        exchange.upstreamFailed(
            .broken(description: "reset"), wasReused: true, isUnsent: true, sawAnswer: false)
        #expect(exchange.forwarder.pool?.waitingCount == 1)
        #expect(exchange.forwarder.state.clientWait.since == nil)
        leased.abandon()
    }
}
