import Bytes
import EventLoop
import Settings
import Testing

@testable import Gateway

@Suite("Back-pressure")
struct BackPressureTests {
    /// One turn of the loop may serve the upstream first and the client, who has just taken
    /// everything, not at all: nothing waits for the client then, so nobody else would resume.
    @Test("an upstream that was paused goes on when the flush of the same turn takes everything")
    func pausedAndDrained() throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 4096 }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".utf8))
        let block = [UInt8](repeating: 0x2E, count: 2048)
        while stepped.waitingByteCount == 0 { try stepped.relay(block) }
        let leased = try #require(stepped.connection.exchange?.upstream)
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
        while connection.watch?.isReading == true, turnCount < 1000 {
            turnCount += 1
            if stepped.send(block) > 0 { connection.descriptorIsReadable() }
        }
        #expect(turnCount < 1000)
        #expect(connection.input.count <= 2 * HTTP1Connection.readByteCount)
        #expect(stepped.waitingByteCount < 8192)
        while stepped.drainClient() > 0 { connection.descriptorIsWritable() }
        #expect(connection.watch?.isReading == true)
        #expect(connection.input.count < HTTP1Connection.readByteCount)
    }

    @Test("an upstream waits while the client takes nothing, and goes on when it does")
    func paused() throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 4096 }
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".utf8))
        let leased = try #require(stepped.connection.exchange?.upstream)
        let block = [UInt8](repeating: 0x2E, count: 2048)
        while !leased.isPaused { try stepped.relay(block) }
        #expect(stepped.waitingByteCount <= 4096 + 2 * 2048)
        #expect(stepped.drainClient() > 0)
        stepped.connection.descriptorIsWritable()
        #expect(!leased.isPaused)
    }
}
