import Foundation
import Policy
import Settings
import Testing

@testable import EventLoop
@testable import Gateway

/// A server may end an idle connection at any time: a request that cannot be repeated must not be
/// lost by that, since an assertion is spent before it is sent.
@Suite("Idle connections to servers")
struct IdleUpstreamTests {}

extension IdleUpstreamTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"

    /// A worker with one idle connection, and that connection.
    private func idle(
        fields: String = "", streamsBody: Bool = false
    ) throws -> (SteppedWorker, UpstreamConnection) {
        let stepped = try SteppedWorker(isUpstreamUnix: false) {
            $0.upstreams[0].retries.countMax = 0
            $0.routes[0].streamsBody = streamsBody
        }
        try stepped.begin()
        let leased = try #require(stepped.leased)
        try stepped.relay(Array("\(Self.answer)\(fields)\r\nok".utf8))
        #expect(stepped.takeAnswers().hasSuffix("ok"))
        // What it does not read makes a reset of its end.
        #expect(stepped.upstreamText().hasPrefix("GET"))
        return (stepped, leased)
    }

    private func expectAnotherTry(_ stepped: SteppedWorker, after leased: UpstreamConnection) {
        #expect(leased.state == .closed)
        #expect(stepped.takeAnswers().isEmpty)
        #expect(stepped.leased != nil && stepped.leased !== leased)
    }

    @Test(
        "what cannot be repeated is not written where the server has closed",
        arguments: [true, false])
    func closedBefore(saysWhy: Bool) throws {
        let (stepped, leased) = try idle()
        if saysWhy {
            let text = "HTTP/1.1 408 Late\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            _ = Socket.write(stepped.upstream, Array(text.utf8).span)
        }
        stepped.closeUpstream()
        stepped.await(POLLIN, of: leased)
        // No event has told the gateway so far.
        try stepped.begin(method: "POST")
        if leased.state != .closed { leased.descriptorIsReadable() }
        expectAnotherTry(stepped, after: leased)
    }

    @Test("what was on its way when the server closed is sent again: nothing of it came there")
    func closedMeanwhile() throws {
        let (stepped, leased) = try idle()
        stepped.send("POST / HTTP/1.1\r\nHost: a\r\n\r\n")
        stepped.connection.descriptorIsReadable()
        #expect(stepped.leased === leased)
        stepped.closeUpstream()
        stepped.await(POLLIN, of: leased)
        // As if the server had closed just after the look at its connection.
        leased.sendMore()
        stepped.await(POLLHUP, of: leased)
        #expect(leased.writtenCount.plain > 0)
        leased.descriptorIsReadable()
        expectAnotherTry(stepped, after: leased)
    }

    @Test("the part of a streamed body that was on its way is sent again too")
    func streamedMeanwhile() throws {
        let (stepped, leased) = try idle(streamsBody: true)
        stepped.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        stepped.connection.descriptorIsReadable()
        #expect(stepped.leased === leased)
        stepped.closeUpstream()
        stepped.await(POLLIN, of: leased)
        leased.sendMore()
        stepped.await(POLLHUP, of: leased)
        #expect(leased.isRequestSent == false && leased.writtenCount.plain > 0)
        leased.descriptorIsReadable()
        expectAnotherTry(stepped, after: leased)
        stepped.send("cd")
        try stepped.beginWhatCame()
        #expect(stepped.upstreamText().hasSuffix("\r\n\r\nabcd"))
    }

    @Test("what had come there when the server closed is not sent again", arguments: [true, false])
    func closedAfter(isRead: Bool) throws {
        let (stepped, leased) = try idle()
        try stepped.begin(method: "POST")
        #expect(stepped.leased === leased)
        if isRead { #expect(stepped.upstreamText().contains("POST")) }
        stepped.closeUpstream()
        stepped.await(POLLIN, of: leased)
        leased.descriptorIsReadable()
        #expect(stepped.takeAnswers().hasPrefix("HTTP/1.1 502"))
    }

    @Test("what cannot be repeated gets a fresh connection where the idle one is old")
    func old() throws {
        let (stepped, leased) = try idle()
        leased.idleSince = MonotonicInstant(nanoseconds: 0)
        try stepped.begin(method: "POST")
        #expect(stepped.leased != nil && stepped.leased !== leased)
        #expect(leased.state == .idle)
        try stepped.relay(Array("\(Self.answer)\r\nok".utf8))
        // Both are there for what can be repeated, however old.
        leased.idleSince = MonotonicInstant(nanoseconds: 0)
        try stepped.begin()
        #expect(stepped.leased?.requestCount == 2)
    }

    @Test(
        "nor is a streamed body risked there that may become too long to be kept",
        arguments: [
            ("Content-Length: 65536\r\n", true), ("Content-Length: 65537\r\n", false),
            ("Transfer-Encoding: chunked\r\n", false),
        ])
    func oldStreamed(framing: String, isUsed: Bool) throws {
        let (stepped, leased) = try idle(streamsBody: true)
        leased.idleSince = MonotonicInstant(nanoseconds: 0)
        try stepped.begin(method: "PUT", fields: framing)
        #expect((stepped.leased === leased) == isUsed)
    }

    @Test("one that the server says to keep is used for as long, less a second")
    func announced() throws {
        let (stepped, leased) = try idle(fields: "Keep-Alive: max=9, Timeout=5\r\n")
        let deadline = leased.deadline
        let limit = leased.idleSince.advanced(byNanoseconds: 4_000_000_000)
        #expect(deadline.due <= (limit + DeadlineWheel.granularity).nanoseconds)
        leased.idleSince = MonotonicInstant(nanoseconds: 0)
        try stepped.begin(method: "POST")
        #expect(stepped.leased === leased)
    }

    @Test("one that the server keeps for a second or less is not used again", arguments: [0, 1])
    func notKept(seconds: Int) throws {
        let (_, leased) = try idle(fields: "Keep-Alive: timeout=\(seconds)\r\n")
        #expect(leased.state == .closed)
    }
}
