import AppAttest
import AppAttestTesting
import Attestation
import Background
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Policy
import Settings
import Testing

import class EventLoop.Thread

@testable import Gateway

/// One worker of a gateway on a thread of this process, with a registry in memory and embedded
/// counters, in front of an upstream that does what a test says.
final class GatewayUnderTest {
    static let appID = "ABCDE12345.com.example.app"
    static let otherAppID = "ABCDE12345.com.example.other"
    static let challengeKey = [UInt8](repeating: 7, count: 32)
    /// Made once: its keys take longer than most tests.
    private static let sharedApple = Result {
        try SimulatedApple(around: Int64(Date().timeIntervalSince1970))
    }

    let apple: SimulatedApple
    let upstream: RecordingUpstream
    let registry: ScriptedRegistry
    let counters: EmbeddedCounters
    let hub: Hub
    /// What the gateway takes for the system's resolver.
    let names: ScriptedNames
    /// Where the shares of rollouts stand that move by themselves; nobody else writes there.
    let rollouts = RolloutRegister()
    /// Of the data listener, of one whose peers are trusted proxies, of the admin listener, and of
    /// one whose connections begin with a PROXY header and whose trusted proxies are 10.0.0.0/8.
    let port: UInt16
    let trustedPort: UInt16
    let adminPort: UInt16
    let proxiedPort: UInt16
    let logPath: String
    private let platforms: [PlatformEntry]
    private(set) var settings: Settings
    private let mailbox: Mailbox<WorkerMessage>
    private let thread: Thread
    /// As the worker has them, by the order of their ports.
    private var listeners: [ListenerContext]
    private var generation = 0
    private var isStopped = false

    /// In front of an upstream that answers everything with 200.
    convenience init(
        registry: ScriptedRegistry = ScriptedRegistry(),
        platforms: [PlatformEntry] = PlatformEntry.all,
        counters options: EmbeddedCounters.Options = EmbeddedCounters.Options(),
        _ configure: (inout Settings) -> Void = { _ in }
    ) throws {
        try self.init(
            upstream: { _ in .response() }, registry: registry,
            platforms: platforms, counters: options, configure)
    }

    init(
        upstream script: @escaping RecordingUpstream.Script,
        registry: ScriptedRegistry = ScriptedRegistry(),
        platforms: [PlatformEntry] = PlatformEntry.all,
        counters options: EmbeddedCounters.Options = EmbeddedCounters.Options(),
        descriptors: DescriptorReserve = DescriptorReserve(limit: 0),
        names: ScriptedNames = ScriptedNames(), _ configure: (inout Settings) -> Void = { _ in }
    ) throws {
        self.names = names
        let apple = try Self.sharedApple.get()
        let upstream = try RecordingUpstream(script)
        let logPath = NSTemporaryDirectory() + "sallyport-\(UUID().uuidString).log"
        var settings = Self.settings(upstreamPort: upstream.port, root: apple.root.der)
        settings.log.access = .file(path: logPath)
        configure(&settings)
        self.apple = apple
        self.upstream = upstream
        self.registry = registry
        self.logPath = logPath
        self.platforms = platforms
        self.settings = settings
        counters = EmbeddedCounters(options: options, clock: .now())
        let hub = Hub(
            registry: registry, counters: .embedded(counters),
            floors: FloorTable(
                lifeMilliseconds: Int64(options.challengeLifeMilliseconds)),
            meters: (0..<Hub.threadCount(forWorkers: 1)).map { _ in WorkerMeter() },
            logs: try LogWriters(settings.log),
            descriptors: descriptors, resolver: names.resolver,
            signatures: TestSignatures.batching)
        hub.take(
            settings.upstreams,
            try hub.addresses(of: settings.upstreams, within: ChildProcess.patience))
        self.hub = hub
        let mailbox = try Mailbox<WorkerMessage>(countMax: 1 << 16)
        self.mailbox = mailbox
        registry.onChange { _ = mailbox.post(.keysChanged($0)) }
        hub.floors.onNews { _ = mailbox.post(.floorsRaised($0)) }
        let rateLimits = settings.rateLimits
        let bound = try (0..<4).map { try Self.listen(index: $0, rateLimits) }
        let opened = bound.map(\.listener)
        listeners = opened.map(\.context)
        (port, trustedPort, adminPort) = (bound[0].port, bound[1].port, bound[2].port)
        proxiedPort = bound[3].port
        let site = try Site(
            settings: settings, challengeKeys: [Self.challengeKey], generation: 0,
            rollouts: rollouts, platforms: platforms)
        thread = try Thread.spawn(
            name: "worker",
            preparing: { try Worker(index: 0, site: site, hub: hub, mailbox: mailbox) }
        ) { worker in worker.run() }
        _ = mailbox.post(.listen(opened))
    }

    deinit {
        stop()
        hub.logs.close()
        try? FileManager.default.removeItem(atPath: logPath)
    }

    private static func settings(upstreamPort: UInt16, root: [UInt8]) -> Settings {
        var settings = Settings()
        settings.apps = [appID, otherAppID].map {
            AppIdentity(id: $0, environments: [.production])
        }
        settings.trust.extraRoots = [root]
        settings.upstreams = [
            UpstreamSettings(
                name: "api", servers: [.tcp(host: "127.0.0.1", port: upstreamPort)])
        ]
        settings.log.events = .off
        settings.timeouts.drain = .seconds(10)
        // On a busy machine requests wait longer than a gateway allows.
        settings.timeouts.backlog = .zero
        settings.routes = [
            route("attested", "/attested/") { $0.mode = .enforce },
            route("observed", "/observed/") { $0.mode = .observe },
            route("durable", "/durable/") {
                $0.mode = .enforce
                $0.replay = .durable
            },
            route("unchallenged", "/unchallenged/") {
                $0.mode = .enforce
                $0.replay = .durable
                $0.challenge = .off
            },
            route("window", "/window/") {
                $0.mode = .enforce
                $0.replay = .window(64)
            },
            route("body", "/body/") {
                $0.mode = .enforce
                $0.clientData = .body
                $0.keyIDMember = "keyId"
            },
            route("nobody", "/rollout0/") {
                $0.mode = .enforce
                $0.rolloutPercent = 0
            },
            route("open", "/") { _ in },
        ]
        return settings
    }

    static func route(
        _ name: String, _ prefix: String, _ configure: (inout RoutePolicy) -> Void
    ) -> Route {
        var policy = RoutePolicy()
        configure(&policy)
        return Route(
            name: name, path: .prefix(prefix), methods: [], upstream: 0, attest: policy,
            bodyByteCountMax: 256 * 1024)
    }

    /// Every listener but the admin's counts against a limit named `listener`, where a test makes
    /// one.
    private static func listen(
        index: Int, _ rateLimits: [RateLimitSettings]
    ) throws -> (listener: BoundListener, port: UInt16) {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let descriptor = try Socket.listen(on: address)
        let port = try #require(Socket.localAddress(descriptor)?.port)
        let loopback = TrustedProxy.block(
            AddressBlock(address: [127, 0, 0, 0], prefixBitCount: 8))
        var settings = ListenerSettings(bind: .tcp(host: "127.0.0.1", port: port))
        if index != 2 { settings.rateLimits = ["listener"] }
        switch index {
        case 1: settings.trustedProxies = [loopback]
        case 3:
            settings.proxyProtocol = [loopback]
            settings.trustedProxies = [
                .block(AddressBlock(address: [10, 0, 0, 0], prefixBitCount: 8))
            ]
        default: break
        }
        let context = ListenerContext(
            settings, for: index == 2 ? .operators : .apps, rateLimits: rateLimits)
        return (BoundListener(context: context, descriptor: descriptor), port)
    }

    // MARK: steering

    /// Gives the worker another configuration, with the listeners as they are, and waits until it
    /// has taken it.
    func reload(
        challengeKeys: [[UInt8]] = [challengeKey], _ configure: (inout Settings) -> Void
    ) throws {
        configure(&settings)
        generation += 1
        let site = try Site(
            settings: settings, challengeKeys: challengeKeys, generation: generation,
            rollouts: rollouts, platforms: platforms)
        hub.take(
            settings.upstreams,
            try hub.addresses(of: settings.upstreams, within: ChildProcess.patience))
        let kept = listeners.map { BoundListener(context: $0) }
        let reports = try Mailbox<WorkerReport>(countMax: 1)
        try #require(
            mailbox.post(
                .reload(WorkerUpdate(site: site, listeners: kept, reports: reports))))
        let admin = try RawClient(port: adminPort, host: "127.0.0.1")
        let line = "\nsallyport_config_generation \(generation)\n"
        try repeatWhile(!admin.exchange("GET", "/metrics").bodyText.contains(line)) {}
    }

    /// By the clock that challenges are judged by.
    func now(for purpose: ChallengePurpose) -> Int64 {
        switch purpose {
        case .attestation:
            let now = WallClock.now()
            return now.seconds * 1000 + Int64(now.nanoseconds) / 1_000_000
        case .assertion:
            let monotonic = MonotonicInstant.now().nanoseconds / 1_000_000
            return counters.moment(nowMilliseconds: Int64(monotonic)).milliseconds
        }
    }

    /// Gives the worker another configuration of one listener: of the data listener, of the one
    /// with trusted proxies, or of the last one with PROXY headers. Nil: it has it no more.
    func reload(listener index: Int, _ configure: ((inout ListenerSettings) -> Void)?) throws {
        let old = listeners.remove(at: index)
        if let configure {
            var settings = old.settings
            configure(&settings)
            let next = ListenerContext(settings, rateLimits: self.settings.rateLimits)
            listeners.insert(next, at: index)
        }
        try reload { _ in }
    }

    func post(_ message: WorkerMessage) { #expect(mailbox.post(message)) }

    /// Drains the worker and waits for its end: everything is counted and logged then.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        _ = mailbox.post(.drain)
        thread.join()
    }

    /// Exchanges counted so far, by `decision reason`.
    func outcomes(of route: String) -> [String: UInt64] {
        guard let meter = hub.meters[0].routeMeters[route] else { return [:] }
        var counts: [String: UInt64] = [:]
        for decision in Decision.allCases {
            for reason in Reason.allCases where meter.count(decision, reason) > 0 {
                counts["\(decision.name) \(reason.code)"] = meter.count(decision, reason)
            }
        }
        return counts
    }

    /// Stops the gateway and gives its access lines.
    func logLines() throws -> [String] {
        stop()
        hub.logs.close()
        let text = try String(contentsOfFile: logPath, encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
    }

    /// What the upstream was told last in this header.
    func told(_ name: String) -> String? { upstream.requests.last?[name] }

    func client(receiveBufferByteCount: Int32? = nil) throws -> RawClient {
        try RawClient(port: port, receiveBufferByteCount: receiveBufferByteCount)
    }
}
