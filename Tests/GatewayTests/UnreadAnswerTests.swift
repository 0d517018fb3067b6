import EventLoop
import GatewayTesting
import Settings
import TLS
import Testing

@testable import Gateway

/// Long answers, whose content the kernel hands from one socket to the other.
@Suite("An answer that is not read")
struct UnreadAnswerTests {}

extension UnreadAnswerTests {
    private static let pieceByteCount = 64 * 1024
    /// What comes in one piece goes on when at least as much is missing.
    private static let wholeByteCount = 5 * pieceByteCount

    private static let content = (0..<wholeByteCount).map { index in
        UInt8(ascii: "a") + UInt8(truncatingIfNeeded: (index &* 31 &+ index >> 9) % 26)
    }

    /// A gateway that has relayed the head of an answer of so many bytes.
    private func begun(
        byteCount: Int = wholeByteCount, isUnix: Bool = false, bufferByteCount: Int = 1 << 20
    ) throws -> SteppedWorker {
        let stepped = try SteppedWorker(isUpstreamUnix: isUnix) {
            $0.limits.responseBufferByteCountMax = bufferByteCount
        }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: \(byteCount)\r\n\r\n".utf8))
        _ = stepped.takeAnswers()
        return stepped
    }

    private func isPiped(_ stepped: SteppedWorker) -> Bool {
        stepped.worker.answerPipe.pipe != nil
    }

    /// The upstream sends all of `content`; returns what the client received.
    private func carry(_ content: [UInt8], _ stepped: SteppedWorker) throws -> [UInt8] {
        let leased = try #require(stepped.leased)
        let connection = stepped.connection
        var sentCount = 0
        var received: [UInt8] = []
        for _ in 0..<10_000 where connection.state == .exchanging {
            let rest = content.span.extracting(sentCount...)
            if !rest.isEmpty, case .bytes(let count) = Socket.write(stepped.upstream, rest) {
                sentCount += count
            }
            if !leased.isPaused { leased.descriptorIsReadable() }
            received += Array(stepped.takeAnswers().utf8)
            if connection.transport?.isWriting == true { connection.descriptorIsWritable() }
        }
        return received + Array(stepped.takeAnswers().utf8)
    }

    @Test("comes whole and unchanged, and its connection goes on", arguments: [true, false])
    func whole(isUnix: Bool) throws {
        let stepped = try begun(isUnix: isUnix)
        let leased = try #require(stepped.leased)
        let received = try carry(Self.content, stepped)
        #expect(received == Self.content)
        #expect(isPiped(stepped))
        #expect(leased.state == .idle)
        #expect(stepped.connection.state == .idle)
        // The next answer on both connections is the next one.
        stepped.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        stepped.connection.descriptorIsReadable()
        stepped.worker.services.outbox.flush()
        #expect(stepped.leased === leased)
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
        #expect(stepped.takeAnswers().hasSuffix("\r\n\r\nok"))
    }

    @Test("waits for a client that takes nothing, and holds little of it meanwhile")
    func slow() throws {
        let bufferByteCount = 4096
        let content = (0..<40).flatMap { _ in Self.content }
        let stepped = try begun(byteCount: content.count, bufferByteCount: bufferByteCount)
        let leased = try #require(stepped.leased)
        var sentCount = 0
        try repeatWhile(!leased.isPaused) {
            let rest = content.span.extracting(sentCount...)
            if case .bytes(let count) = Socket.write(stepped.upstream, rest) { sentCount += count }
            leased.descriptorIsReadable()
        }
        #expect(isPiped(stepped))
        #expect(stepped.waitingByteCount > bufferByteCount)
        #expect(stepped.waitingByteCount <= Self.pieceByteCount)
        let received = try carry(Array(content[sentCount...]), stepped)
        #expect(received == content)
        #expect(stepped.connection.state == .idle)
    }

    @Test("ends where its length says, and what the upstream sends beyond it goes nowhere")
    func surplus() throws {
        let stepped = try begun()
        let leased = try #require(stepped.leased)
        #expect(try carry(Self.content + Array("HTTP/1.1 200 OK".utf8), stepped) == Self.content)
        #expect(isPiped(stepped))
        #expect(leased.state == .closed)
        #expect(stepped.connection.state == .idle)
    }

    @Test("of which a part is missing is cut short for the client, too")
    func cut() throws {
        let stepped = try begun()
        let leased = try #require(stepped.leased)
        let piece = Array(Self.content[..<Self.pieceByteCount])
        try stepped.relay(piece)
        #expect(isPiped(stepped))
        stepped.closeUpstream()
        leased.descriptorIsReadable()
        #expect(stepped.connection.state == .closed)
        #expect(leased.server.meter.failureCount == 1)
        #expect(stepped.takeAnswers().utf8.elementsEqual(piece))
    }

    @Test("that a lost client was to get is nobody else's")
    func lost() throws {
        let stepped = try begun()
        try stepped.relay(Array(Self.content[..<Self.pieceByteCount]))
        #expect(isPiped(stepped))
        let leased = try #require(stepped.leased)
        stepped.closeClient()
        try stepped.relay(Array(Self.content[..<Self.pieceByteCount]))
        #expect(!isPiped(stepped))
        #expect(stepped.connection.state == .closed)
        #expect(leased.state == .closed)
        #expect(leased.server.meter.failureCount == 0)
    }

    @Test(
        "is read where little of it is missing, or its length is not known",
        arguments: [
            "Content-Length: 65535", "Transfer-Encoding: chunked",
        ])
    func read(framing: String) throws {
        let stepped = try SteppedWorker()
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n".utf8))
        try stepped.relay(Array("1\r\nx\r\n".utf8))
        #expect(stepped.takeAnswers().hasSuffix("1\r\nx\r\n"))
        #expect(!isPiped(stepped))
    }
}
