import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import HTTP
import KeyStore
import Settings
import Testing

@testable import Gateway

/// A worker whose loop does not run: the test makes each call of a watch itself, in the order that
/// it wants to see.
final class SteppedWorker {
    let worker: Worker
    /// The client's end of its connection, and the upstream's end of the gateway's.
    let client: Int32
    let connection: HTTP1Connection
    private let upstreamListener: Int32
    private(set) var upstream: Int32 = -1

    init(_ configure: (inout Settings) -> Void = { _ in }) throws {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        upstreamListener = try Socket.listen(on: address)
        let port = try #require(Socket.localAddress(upstreamListener)?.port)
        var settings = Settings()
        settings.log.access = .off
        settings.log.events = .off
        settings.upstreams = [
            UpstreamSettings(name: "api", servers: [.tcp(host: "127.0.0.1", port: port)])
        ]
        settings.routes = [GatewayUnderTest.route("open", "/") { _ in }]
        configure(&settings)
        let site = try Site(
            settings: settings, challengeKeys: [GatewayUnderTest.challengeKey], generation: 0)
        let hub = Hub(
            registry: ScriptedRegistry(),
            embeddedCounters: EmbeddedCounters(nowMilliseconds: 0, raiseFloors: { _ in }),
            meters: [WorkerMeter()], logs: try LogWriters(settings.log))
        try hub.resolve(settings.upstreams)
        worker = try Worker(index: 0, site: site, hub: hub, mailbox: try Mailbox(countMax: 16))
        let (ours, clients) = try Socket.pair()
        client = clients
        worker.accepted(ours, address, worker.idleListener)
        connection = try #require(worker.clients.first)
    }

    deinit {
        connection.lose()
        for descriptor in [client, upstream, upstreamListener] where descriptor >= 0 {
            Socket.close(descriptor)
        }
    }

    /// Bytes of the answer that the kernel has not taken yet.
    var waitingByteCount: Int { connection.output.count }

    /// Sends the head of a request and lets the gateway connect to its upstream.
    func begin() throws {
        let head = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        guard case .bytes = Socket.write(client, head.span) else { return }
        connection.descriptorIsReadable()
        let leased = try #require(connection.exchange?.upstream)
        // A connection on the loopback is made at once.
        leased.descriptorIsWritable()
        guard case .accepted(let accepted, _) = Socket.accept(upstreamListener) else { return }
        upstream = accepted
    }

    /// The upstream sends `bytes`, all of which fit into the kernel, and the gateway reads.
    func relay(_ bytes: [UInt8]) throws {
        let leased = try #require(connection.exchange?.upstream)
        #expect(Socket.write(upstream, bytes.span) == .bytes(bytes.count))
        leased.descriptorIsReadable()
    }

    /// Takes everything that waits for the client in the kernel.
    func drainClient() -> Int {
        var scrap = ByteBuffer()
        while case .bytes = Socket.read(client, into: &scrap, atMost: 1 << 20) {}
        return scrap.count
    }
}

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
