import EventLoop
import Testing

@testable import Gateway

/// What an upstream sends beyond the answer must not become another client's.
@Suite("More than an answer")
struct SurplusTests {}

extension SurplusTests {
    private static let other = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother"

    @Test("that came before the next request was sent is not its answer")
    func beforeRequest() throws {
        let stepped = try SteppedWorker()
        try stepped.begin()
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
        #expect(stepped.takeAnswers().hasSuffix("ok"))
        let other = Array(Self.other.utf8)
        #expect(Socket.write(stepped.upstream, other.span) == .bytes(other.count))
        // Both are ready in one turn of the loop, and the client's event comes first.
        stepped.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        stepped.connection.descriptorIsReadable()
        let leased = try #require(stepped.leased)
        leased.descriptorIsReadable()
        #expect(leased.state == .closed)
        #expect(stepped.takeAnswers().isEmpty)
        #expect(
            stepped.connection.exchange?.forwarder.state.upstream != nil,
            "tried again on a fresh connection")
    }

    @Test("behind a read that took all it could ends the connection", arguments: [0, 1])
    func behindFullRead(surplusCount: Int) throws {
        let stepped = try SteppedWorker()
        try stepped.begin()
        let leased = try #require(stepped.leased)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\nX: "
        let filler = 16 * 1024 - 10_000 - head.utf8.count - 4
        let answer =
            head + String(repeating: "x", count: filler) + "\r\n\r\n"
            + String(repeating: ".", count: 10_000)
            + String(repeating: Self.other, count: surplusCount)
        try stepped.relay(Array(answer.utf8))
        #expect(stepped.takeAnswers().hasSuffix("..."))
        #expect(leased.state == (surplusCount == 0 ? .idle : .closed))
    }
}
