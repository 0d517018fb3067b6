import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Settings
import TLS
import Testing

@testable import Gateway

/// A worker whose loop does not run: the test makes each call of a watch itself, in the order that
/// it wants to see.
final class SteppedWorker {
    let worker: Worker
    /// The client's end of its connection, and the upstream's end of the gateway's.
    private(set) var client: Int32
    let connection: HTTP1Connection
    private let upstreamListener: Int32
    private(set) var upstream: Int32 = -1
    /// The socket file of an upstream that has one.
    private let upstreamPath: String?

    /// The client's connection came over a listener without trusted proxies, or over a unix socket
    /// with `unixListener`. The upstream's goes over a unix socket, where what one end writes is at
    /// the other at once, or over TCP, where a busy kernel may deliver it later. `clock`: for
    /// time-outs, which pass when the test moves it and steps the loop.
    init(
        unixListener: ListenerSettings? = nil, isUpstreamUnix: Bool = true,
        clock: ManualClock? = nil, _ configure: (inout Settings) -> Void = { _ in }
    ) throws {
        SignalWatch.ignoreBrokenPipes()
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let path = isUpstreamUnix ? NSTemporaryDirectory() + "\(UUID().uuidString).sock" : nil
        upstreamPath = path
        upstreamListener = try Socket.listen(on: path.flatMap { .unix($0) } ?? address)
        let port = Socket.localAddress(upstreamListener)?.port ?? 0
        var settings = Settings()
        settings.log.access = .off
        settings.log.events = .off
        settings.upstreams = [
            UpstreamSettings(
                name: "api",
                servers: [path.map { .unix(path: $0) } ?? .tcp(host: "127.0.0.1", port: port)])
        ]
        settings.routes = [GatewayUnderTest.route("open", "/") { _ in }]
        configure(&settings)
        let site = try Site(
            settings: settings, challengeKeys: [GatewayUnderTest.challengeKey], generation: 0)
        let hub = Hub(
            registry: ScriptedRegistry(),
            counters: .fresh,
            meters: [WorkerMeter()], logs: try LogWriters(settings.log),
            descriptors: DescriptorReserve(limit: 0))
        hub.take(settings.upstreams, try hub.addresses(of: settings.upstreams))
        worker = try Worker(
            index: 0, site: site, hub: hub, mailbox: try Mailbox(countMax: 16), clock: clock)
        let (ours, clients) = try Socket.pair()
        client = clients
        let unix = try #require(SocketAddress.unix("/run/client"))
        worker.accepted(
            ours, unixListener == nil ? address : unix,
            unixListener.map { ListenerContext($0) } ?? worker.services.idleListener)
        connection = try #require(worker.clients.first as? HTTP1Connection)
    }

    deinit {
        connection.lose()
        // No loop runs here to end its turn: what waits for that would be held for ever.
        worker.services.outbox.flush()
        worker.end()
        for descriptor in [client, upstream, upstreamListener] where descriptor >= 0 {
            Socket.close(descriptor)
        }
        if let upstreamPath { try? FileManager.default.removeItem(atPath: upstreamPath) }
    }

    private var isUpstreamTCP: Bool { upstreamPath == nil }

    private static func await(_ events: Int32, on descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        let result = poll(&entry, 1, Int32(ChildProcess.patienceSeconds * 1000))
        #expect(result == 1, "nothing came on the connection")
    }

    /// Waits for what the upstream has done to a connection by TCP.
    func await(_ events: Int32, of connection: UpstreamConnection) {
        guard let transport = connection.transport else { return }
        Self.await(events, on: transport.descriptor)
    }

    /// The upstream's connection that serves the client's request.
    var leased: UpstreamConnection? {
        connection.exchange?.forwarder.state.upstream as? UpstreamConnection
    }

    /// Bytes of the answer that the kernel has not taken yet.
    var waitingByteCount: Int { connection.output.count }

    /// Sends the head of a request and lets the gateway connect to its upstream.
    func begin(method: String = "GET", fields: String = "") throws {
        let head = Array("\(method) / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8)
        guard case .bytes = Socket.write(client, head.span) else { return }
        try beginWhatCame()
    }

    /// Lets the gateway connect to its upstream for the request that the client has sent.
    func beginWhatCame() throws {
        connection.descriptorIsReadable()
        let leased = try #require(leased)
        if let dial = leased.dial {
            if isUpstreamTCP { Self.await(POLLIN, on: upstreamListener) }
            dial.descriptorIsWritable()
        }
        // No loop runs here to end its turn.
        worker.services.outbox.flush()
        try acceptUpstream()
    }

    /// The upstream accepts the gateway's connection, if there is one.
    func acceptUpstream() throws {
        guard case .accepted(let accepted, _) = Socket.accept(upstreamListener) else { return }
        upstream = accepted
    }

    /// The upstream sends `bytes`, all of which fit into the kernel, and the gateway reads.
    func relay(_ bytes: [UInt8]) throws {
        let leased = try #require(leased)
        #expect(Socket.write(upstream, bytes.span) == .bytes(bytes.count))
        if isUpstreamTCP { self.await(POLLIN, of: leased) }
        leased.descriptorIsReadable()
    }

    /// The upstream closes its end of the connection.
    func closeUpstream() {
        Socket.close(upstream)
        upstream = -1
    }

    /// What the upstream has received.
    func upstreamText() -> String {
        var taken = ByteBuffer()
        while case .bytes = Socket.read(upstream, into: &taken, atMost: 1 << 16) {}
        return String(decoding: taken.readable.array, as: UTF8.self)
    }

    /// The client sends `text`, as far as the kernel takes it.
    @discardableResult
    func send(_ text: String) -> Int {
        guard case .bytes(let count) = Socket.write(client, Array(text.utf8).span) else { return 0 }
        return count
    }

    /// Takes everything that waits for the client in the kernel.
    func drainClient() -> Int { takeAnswers().utf8.count }

    func takeAnswers() -> String {
        var taken = ByteBuffer()
        while case .bytes = Socket.read(client, into: &taken, atMost: 1 << 20) {}
        return String(decoding: taken.readable.array, as: UTF8.self)
    }

    /// The upstream, which is connected by TCP, resets its connection.
    func resetUpstream() {
        Socket.closeWithReset(upstream)
        upstream = -1
        if let leased { self.await(POLLHUP, of: leased) }
    }

    func closeClient() {
        Socket.close(client)
        client = -1
    }
}
