import Bytes
import Foundation
import GatewayTesting
import HTTP
import HTTP2
import Policy
import Settings
import TLS
import Testing

@testable import EventLoop
@testable import Gateway

/// A body's file whose thread does not answer for a while. The worker's loop is turned by the test,
/// so that a wake-up that repeats itself is seen as a turn that does not end the work.
@Suite("A body whose file is waited for", .timeLimit(.minutes(30)))
struct AwaitedFileTests {
    /// More than a socket's buffers and what is made resident ahead.
    private static let byteCount = 16 << 20
    private static let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(byteCount)\r\n\r\n"

    private let stepped: SteppedWorker
    private let directory: BodyFileDirectory

    init(upstream: HTTPProtocol = .http1) throws {
        let path = NSTemporaryDirectory()
        stepped = try SteppedWorker {
            $0.limits.bodyMemoryByteCountMax = 1024
            $0.limits.temporaryDirectory = path
            $0.routes[0].bodyByteCountMax = 16 << 20
            $0.upstreams[0].protocol = upstream
        }
        directory = stepped.worker.services.hub.bodyFileThreads.directory(path)
    }
}

extension AwaitedFileTests {
    /// Keeps every thread of the directory busy until it is signalled, once for each.
    private func block() throws -> DispatchSemaphore {
        let mayGoOn = DispatchSemaphore(value: 0)
        for _ in 0..<4 { #expect(try directory.queue().post { mayGoOn.wait() }) }
        return mayGoOn
    }

    /// Waits until the threads have done every job that they have got.
    private func awaitThreads() throws {
        let isDone = DispatchSemaphore(value: 0)
        for _ in 0..<4 { #expect(try directory.queue().post { isDone.signal() }) }
        for _ in 0..<4 { isDone.wait() }
    }

    /// Turns the loop until nothing is ready. False if that never comes.
    private func settle() -> Bool {
        for _ in 0..<1000 where !stepped.worker.services.loop.turn() { return true }
        return false
    }

    /// Sends the rest of the body as far as the worker takes it, and returns what is left.
    private func send(_ byteCount: Int) -> Int {
        var rest = byteCount
        while rest > 0 {
            let count = stepped.send(String(repeating: "a", count: min(rest, 64 * 1024)))
            rest -= count
            guard settle(), count > 0 else { break }
        }
        return rest
    }

    /// Sends the rest of the body, whose file takes all of it, until the upstream is connected to.
    private func sendAll(_ byteCount: Int) throws {
        var rest = byteCount
        while rest > 0 || stepped.connection.exchange?.forwarder.state.upstream == nil {
            rest = send(rest)
            try awaitThreads()
            try #require(settle())
        }
    }

    @Test("wakes the worker for nothing while its client has to wait")
    func writing() throws {
        let mayGoOn = try block()
        stepped.send(Self.head)
        let rest = send(Self.byteCount)
        #expect(rest > 0)
        let connection = stepped.connection
        #expect(connection.transport?.isReading == false)
        #expect(connection.exchange?.intake.state.body.isBehind == true)
        #expect(settle())
        for _ in 0..<4 { mayGoOn.signal() }
        try awaitThreads()
        #expect(settle())
        try sendAll(rest)
        #expect(connection.exchange?.intake.state.body.byteCount == Self.byteCount)
    }

    @Test("wakes the worker for nothing while its upstream waits for the next bytes")
    func reading() throws {
        stepped.send(Self.head)
        try sendAll(Self.byteCount)
        let mayGoOn = try block()
        try stepped.acceptUpstream()
        try #require(stepped.upstream >= 0)
        var byteCount = 0
        while true {
            #expect(settle())
            let count = stepped.upstreamText().utf8.count
            if count == 0 { break }
            byteCount += count
        }
        #expect(byteCount < Self.byteCount)
        for _ in 0..<4 { mayGoOn.signal() }
        let leased = try #require(stepped.leased)
        try repeatWhile(!leased.isRequestSent) {
            try awaitThreads()
            #expect(settle())
            byteCount += stepped.upstreamText().utf8.count
        }
        byteCount += stepped.upstreamText().utf8.count
        #expect(byteCount > Self.byteCount)
        try stepped.relay(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
        #expect(settle())
        #expect(stepped.takeAnswers().hasSuffix("\r\n\r\nok"))
    }

    @Test("wakes the worker for nothing while its upstream in HTTP/2 waits for the next bytes")
    func readingForHTTP2() throws {
        try Self(upstream: .http2).readForHTTP2()
    }

    private func readForHTTP2() throws {
        stepped.send(Self.head)
        try sendAll(Self.byteCount)
        // Nothing goes on before the server's SETTINGS.
        let mayGoOn = try block()
        try stepped.acceptUpstream()
        try #require(stepped.upstream >= 0)
        let server = HTTP2Server(stepped.upstream)
        // SETTINGS go back and forth before the first bytes come.
        var idleCount = 0
        while idleCount < 4 {
            let byteCount = server.byteCount
            server.serve()
            #expect(settle())
            idleCount = server.byteCount == byteCount ? idleCount + 1 : 0
        }
        // No more than was made resident when the body was whole.
        #expect(server.byteCount <= BodyFile.residentByteCount)
        for _ in 0..<4 { mayGoOn.signal() }
        try repeatWhile(!server.isWhole) {
            try awaitThreads()
            #expect(settle())
            server.serve()
        }
        #expect(server.byteCount == Self.byteCount)
    }
}

/// The upstream's end of a connection in HTTP/2, on a descriptor of somebody else.
private final class HTTP2Server {
    private let descriptor: Int32
    private let session: HTTP2Session
    private(set) var byteCount = 0
    private(set) var isWhole = false

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        session = HTTP2Session(
            limits: HTTP2Limits(), fieldSection: FieldSectionLimits(byteCountMax: 64 * 1024),
            now: 0)
    }

    /// Takes what has come, and sends what the session says to it.
    func serve() {
        var taken = ByteBuffer()
        while case .bytes = Socket.read(descriptor, into: &taken, atMost: 1 << 16) {}
        session.receive(taken.readable, now: 0)
        while let event = session.takeEvent() {
            switch event {
            case .body(let stream, let count):
                byteCount += count
                session.takeBody(stream: stream, byteCount: count) { _ in ((), false) }
            case .end: isWhole = true
            default: break
            }
        }
        session.fill(atMost: 1 << 16)
        guard session.hasOutput else { return }
        let sent = session.withOutput { Socket.write(descriptor, $0) }
        if case .bytes(let count) = sent { session.outputWasSent(count) }
    }
}
