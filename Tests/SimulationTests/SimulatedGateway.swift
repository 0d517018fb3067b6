import AndroidAttestation
import AndroidAttestationTesting
import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Policy
import Redis
import RedisKeyStore
import Settings
import Testing

@testable import Gateway

/// One worker of the gateway, all of its own code, stepped by the simulation: its clocks, the other
/// ends of its sockets and its registry are the simulation's.
final class SimulatedGateway {
    static let appID = "ABCDE12345.com.example.app"
    /// Asked for strictly increasing counters, and for those within a window.
    static let strictPath = "/strict"
    static let windowPath = "/window"

    let clock: ManualClock
    let worker: Worker
    let counters: EmbeddedCounters?
    let floors: FloorTable
    private let storeListener: Int32
    private let upstreamListener: Int32
    private(set) var storeConnections: [StoreConnection] = []
    private var upstreamConnections: [UpstreamEnd] = []
    private let idle: ListenerContext

    /// By the library where it is.
    static let batching: SignatureBatching =
        TestSignatures.library.map { .on($0, auditPercent: 0, laneCountMin: 1) } ?? .off

    /// - `directory`: for its unix sockets; each life of each gateway has one of its own.
    /// - `embedded`: the counters inside, nil for those of a simulated Redis.
    /// - `signatures`: by the library where nobody says otherwise, one alone as well as many.
    /// - `routes`: those of ``strictPath`` and ``windowPath`` where nobody says otherwise.
    /// - `configure`: what else the settings say.
    init(
        clock: ManualClock, registry: SimulatedRegistry, directory: String,
        embedded: EmbeddedCounters?, floors: FloorTable = FloorTable(),
        signatures: SignatureBatching = SimulatedGateway.batching,
        routes: [Route]? = nil, configure: (inout Settings) -> Void = { _ in }
    ) throws {
        self.clock = clock
        counters = embedded
        self.floors = floors
        let storePath = directory + "/store"
        let upstreamPath = directory + "/upstream"
        storeListener = try Socket.listen(on: try #require(SocketAddress.unix(storePath)))
        upstreamListener = try Socket.listen(on: try #require(SocketAddress.unix(upstreamPath)))
        var settings = Settings()
        settings.log.access = .off
        settings.log.events = .off
        settings.apps = [
            AppIdentity(id: Self.appID, environments: [.production]),
            AppIdentity(
                android: GatewayConfiguration.package, environments: [.production],
                demands: AndroidDemands(signingDigests: [GatewayConfiguration.signingDigest])),
        ]
        settings.upstreams = [
            UpstreamSettings(name: "api", servers: [.unix(path: upstreamPath)])
        ]
        settings.routes =
            routes ?? [
                Self.route("strict", Self.strictPath) { $0.replay = .strict },
                Self.route("window", Self.windowPath) { $0.replay = .window(64) },
            ]
        configure(&settings)
        let site = try Site(
            settings: settings, challengeKeys: [[UInt8](repeating: 7, count: 32)], generation: 0)
        let hub = Hub(
            registry: registry, counters: embedded.map { .embedded($0) } ?? Self.redis(storePath),
            floors: floors,
            meters: [WorkerMeter()], logs: try LogWriters(settings.log),
            descriptors: DescriptorReserve(limit: 0), signatures: signatures)
        hub.take(settings.upstreams, try hub.addresses(of: settings.upstreams))
        let mailbox = try Mailbox<WorkerMessage>(countMax: 1 << 12)
        worker = try Worker(index: 0, site: site, hub: hub, mailbox: mailbox, clock: clock)
        worker.attachMailbox()
        registry.onChange { _ = mailbox.post(.keysChanged($0)) }
        floors.onNews { _ = mailbox.post(.floorsRaised($0)) }
        idle = worker.services.idleListener
    }

    private static func redis(_ path: String) -> CounterAccess {
        CounterAccess(isRemote: true) { loop in
            let connection = RedisConfiguration(endpoint: .unix(path: path))
            return OpenedCounters(
                RedisCounters(
                    loop: loop,
                    configuration: RedisCounterConfiguration(connection: connection)))
        }
    }

    /// A route that enforces, unless `configure` says otherwise.
    static func route(
        _ name: String, _ path: String, _ configure: (inout RoutePolicy) -> Void
    ) -> Route {
        var policy = RoutePolicy()
        policy.mode = .enforce
        configure(&policy)
        return Route(
            name: name, path: .exact(path), methods: [], upstream: 0, attest: policy,
            bodyByteCountMax: 64 * 1024)
    }

    deinit {
        for connection in worker.clients { connection.lose() }
        worker.services.counters.close()
        worker.end()
        Socket.close(storeListener)
        Socket.close(upstreamListener)
    }

    /// The clients' ends of connections are theirs to close.
    func connect() throws -> Int32 {
        let (ours, clients) = try Socket.pair()
        let peer = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 1))
        worker.accepted(ours, peer, idle)
        return clients
    }

    /// Lets the worker do all that it can, takes in what it has sent, and hands each request that
    /// reached the upstream to `upstream`, which says whether it is answered.
    func step(store: () -> StoreProcess?, upstream: (String) -> Bool) {
        worker.services.loop.runUntilIdle()
        takeStoreConnections { descriptor in
            if let process = store() {
                storeConnections.append(StoreConnection(descriptor, to: process))
            } else {
                Socket.close(descriptor)
            }
        }
        for connection in storeConnections { connection.receive() }
        storeConnections.removeAll { !$0.isOpen }
        serveUpstream(upstream)
    }

    /// Hands over connections that the worker has made to its store, to be closed by who takes
    /// them.
    func takeStoreConnections(_ take: (Int32) -> Void) {
        while case .accepted(let descriptor, _) = Socket.accept(storeListener) { take(descriptor) }
    }

    /// Hands each request that reached the upstream to `upstream`, as ``step(store:upstream:)``.
    func serveUpstream(_ upstream: (String) -> Bool) {
        while case .accepted(let descriptor, _) = Socket.accept(upstreamListener) {
            upstreamConnections.append(UpstreamEnd(descriptor))
        }
        var isAnswered = false
        for connection in upstreamConnections where connection.serve(upstream) { isAnswered = true }
        upstreamConnections.removeAll { !$0.isOpen }
        if isAnswered { worker.services.loop.runUntilIdle() }
    }
}

/// The upstream's end of one connection.
private final class UpstreamEnd {
    private let descriptor: Int32
    private var received: [UInt8] = []
    private(set) var isOpen = true

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    private func close() {
        guard isOpen else { return }
        isOpen = false
        Socket.close(descriptor)
    }

    /// True where something was sent to the gateway.
    func serve(_ upstream: (String) -> Bool) -> Bool {
        var chunk = ByteBuffer()
        reading: while true {
            switch Socket.read(descriptor, into: &chunk, atMost: 1 << 16) {
            case .bytes: continue
            case .wouldBlock: break reading
            case .endOfFile, .failed:
                close()
                return false
            }
        }
        received += chunk.readable.array
        guard let message = WholeMessage(received) else { return false }
        received.removeFirst(message.byteCount)
        guard upstream(message.body) else {
            close()
            return true
        }
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
        _ = Socket.write(descriptor, answer.span)
        return true
    }
}

/// One message with `Content-Length` off the front of what was received; nil where it is not whole.
struct WholeMessage {
    let byteCount: Int
    let head: String
    let body: String

    init?(_ received: [UInt8]) {
        let text = String(decoding: received, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        head = String(text[..<end.lowerBound])
        var length = 0
        for line in head.split(separator: "\r\n")
        where line.lowercased().hasPrefix("content-length:") {
            length = Int(line.split(separator: ":")[1].trimming()) ?? 0
        }
        let start = text[..<end.upperBound].utf8.count
        guard received.count >= start + length else { return nil }
        byteCount = start + length
        body = String(decoding: received[start..<byteCount], as: UTF8.self)
    }

    /// The value of the field `name`, in lower case.
    func field(_ name: String) -> String? {
        for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix(name + ":") {
            return String(line.dropFirst(name.utf8.count + 1).trimming())
        }
        return nil
    }

    var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }
}

extension Substring {
    func trimming() -> Substring {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return text
    }
}

extension TestDevice {
    /// A device of ``SimulatedGateway``'s apps: Apple's if `number` is even, or else a phone.
    /// `key`: nil for a new one.
    static func numbered(_ number: Int, key: P256PrivateKey? = nil) throws -> TestDevice {
        number.isMultiple(of: 2)
            ? .apple(try SimulatedDevice(appID: SimulatedGateway.appID, key: key))
            : .android(try .ofTests(key: key))
    }

    /// The record of the device's key.
    var record: KeyRecord {
        switch self {
        case .apple(let device):
            KeyRecord(
                keyID: device.keyID, publicKey: device.publicKey, appID: device.appID,
                environment: .production, enrolledAt: 1)
        case .android(let phone):
            KeyRecord(
                keyID: phone.keyID, publicKey: phone.publicKey,
                appID: GatewayConfiguration.package, environment: .production, enrolledAt: 1,
                platform: .android, securityLevel: .tee)
        }
    }
}
