import AppAttest
import EventLoop
import KeyStore
import Policy
import Settings
import TLS
import Telemetry

/// What one worker counts about one route (or endpoint). Written by its thread alone.
final class RouteMeter: Sendable {
    /// One for each decision and reason.
    private let outcomes = CounterBlock(count: Decision.allCases.count * Reason.allCases.count)
    /// Answers by the first digit of their status; 0 where none was given.
    private let statusClasses = CounterBlock(count: 10)
    /// Requests of an attested route by what their proof was worth, then those of outdated apps and
    /// those of keys at risk.
    private let standings = CounterBlock(count: TrustTier.allCases.count + 2)
    let duration = Histogram(.requestDuration)
    /// One for each side of a rollout and bucket.
    private let buckets = CounterBlock(
        count: RolloutSide.allCases.count * RequestBucket.allCases.count)
    /// Of the enforced side: judged, and of those refused.
    private let judgements = CounterBlock(count: 2)

    func countStanding(of exchange: Exchange) {
        standings.add(Int(exchange.provedTier.rawValue))
        if exchange.isOutdated { standings.add(TrustTier.allCases.count) }
        if exchange.isRisky { standings.add(TrustTier.allCases.count + 1) }
    }

    func count(_ tier: TrustTier) -> UInt64 { standings.value(Int(tier.rawValue)) }

    var outdatedCount: UInt64 { standings.value(TrustTier.allCases.count) }

    var riskyCount: UInt64 { standings.value(TrustTier.allCases.count + 1) }

    func count(decision: Decision, reason: Reason, status: UInt16, nanoseconds: UInt64) {
        outcomes.add(Self.index(decision, reason))
        statusClasses.add(min(9, Int(status) / 100))
        duration.record(nanoseconds: nanoseconds)
    }

    func count(_ bucket: RequestBucket, _ side: RolloutSide, isRefused: Bool) {
        buckets.add(Self.index(bucket, side))
        guard side == .enforced, bucket.isJudged else { return }
        judgements.add(0)
        if isRefused { judgements.add(1) }
    }

    func count(_ bucket: RequestBucket, _ side: RolloutSide) -> UInt64 {
        buckets.value(Self.index(bucket, side))
    }

    /// What the guard of a rollout looks at.
    var cohort: RolloutCounts {
        // Refused ones first: one that comes in between must not make them more than all.
        let refused = Int64(clamping: judgements.value(1))
        return RolloutCounts(judged: Int64(clamping: judgements.value(0)), refused: refused)
    }

    /// The same of attestations.
    var attestations: RolloutCounts {
        let reasons: [Reason] = [
            .attestationInvalid, .keyRevoked, .appOutdated, .distributionNotAllowed,
        ]
        let refused = reasons.reduce(0) { $0 + Int64(clamping: count(.refused, $1)) }
        return RolloutCounts(
            judged: refused + Int64(clamping: count(.answered, .ok)), refused: refused)
    }

    func count(_ decision: Decision, _ reason: Reason) -> UInt64 {
        outcomes.value(Self.index(decision, reason))
    }

    func count(statusClass: Int) -> UInt64 { statusClasses.value(statusClass) }

    private static func index(_ bucket: RequestBucket, _ side: RolloutSide) -> Int {
        Int(side.rawValue) * RequestBucket.allCases.count + Int(bucket.rawValue)
    }

    private static func index(_ decision: Decision, _ reason: Reason) -> Int {
        Int(decision.rawValue) * Reason.allCases.count + Int(reason.rawValue)
    }
}

/// What one worker counts. Its thread writes, whoever scrapes reads.
final class WorkerMeter: @unchecked Sendable {
    /// Counters that are not about a route.
    enum Count: Int, CaseIterable {
        case requests
        case challenges
        case tokens
        case retries
        case connectionsRefused
        case proxyHeadersRefused
        /// Safe, but beyond the budget.
        case retriesDenied
        case tunnels
        /// TLS handshakes that came to their end, and those of them that a ticket shortened.
        case handshakes
        case resumptions
        /// Counters that another challenge had used: two devices with one key.
        case counterConflicts
        /// Requests that developer tokens were accepted for.
        case developerTokens
        /// Enrolled keys of Macs, with Full Security and without.
        case macsWithFullSecurity
        case macsWithReducedSecurity
        /// Accepted counters that too few replicas of Redis had in time.
        case unconfirmed
        /// Keys that users had not used before, who had others.
        case newUserKeys
        /// Identity tokens that were made, and those that were sent again.
        case identitiesSigned
        case identitiesReused
    }

    private let counts = CounterBlock(count: Count.allCases.count)
    private let waits = CounterBlock(count: Phase.allCases.count)
    /// One for each kind of failure, then the time-outs.
    private let handshakeFailures = CounterBlock(count: TLSFailure.Kind.allCases.count + 1)
    private let signals = CounterBlock(count: Signal.allCases.count)
    private let deviceTokens = CounterBlock(count: DeviceTokenFate.allCases.count)
    /// One for each bit and state.
    private let deviceBits = CounterBlock(count: 2 * DeviceBitState.allCases.count)
    private let gauges = GaugeBlock(count: 2)
    /// By name, so that a reload keeps what a route has counted.
    private let byName = Locked<[String: RouteMeter]>([:])
    /// By app id, likewise: a counter for each bucket.
    private let byApp = Locked<[String: CounterBlock]>([:])
    private let servers = Locked<[ServerLabel: ServerMeter]>([:])
    // The worker's own thread only: the meters of the current site's routes, by index.
    private var routes: [RouteMeter] = []
    private var generation = -1
    private lazy var unrouted = meter(named: "none")
    private lazy var endpoints = AppEndpoint.allCases.map { meter(named: $0.routeName) }

    func count(_ exchange: Exchange, nanoseconds: UInt64) {
        let meter = meter(of: exchange)
        meter.count(
            decision: exchange.decision, reason: exchange.reason,
            status: exchange.responseStatus, nanoseconds: nanoseconds)
        if exchange.policy.mode != .off, exchange.endpoint == nil {
            meter.countStanding(of: exchange)
        }
        guard let bucket = exchange.requestBucket else { return }
        meter.count(bucket, exchange.rolloutSide, isRefused: exchange.isRefusedByProof)
        if let app = app(of: exchange) { app.add(Int(bucket.rawValue)) }
    }

    /// Nil where the app is not known, or is not of the configuration.
    private func app(of exchange: Exchange) -> CounterBlock? {
        guard let id = exchange.claimedAppID,
            exchange.site.settings.apps.contains(where: { $0.id == id })
        else { return nil }
        return byApp.withLock { meters in
            if let known = meters[id] { return known }
            let fresh = CounterBlock(count: RequestBucket.allCases.count)
            meters[id] = fresh
            return fresh
        }
    }

    private func meter(of exchange: Exchange) -> RouteMeter {
        guard let index = exchange.routeIndex else {
            return exchange.endpoint.map { endpoints[$0.rawValue] } ?? unrouted
        }
        let site = exchange.site
        if site.generation > generation {
            routes = site.settings.routes.map { meter(named: $0.name) }
            generation = site.generation
        }
        guard site.generation == generation else {
            return meter(named: site.settings.routes[index].name)
        }
        return routes[index]
    }

    func meter(named name: String) -> RouteMeter {
        byName.withLock { meters in
            if let known = meters[name] { return known }
            let fresh = RouteMeter()
            meters[name] = fresh
            return fresh
        }
    }

    /// The meter of an upstream's server, one for all reloads.
    func server(_ label: ServerLabel) -> ServerMeter {
        servers.withLock { meters in
            if let known = meters[label] { return known }
            let fresh = ServerMeter()
            meters[label] = fresh
            return fresh
        }
    }

    /// A name stands for other addresses now: they would add up for ever.
    func forget(_ label: ServerLabel) { servers.withLock { $0[label] = nil } }

    func add(_ count: Count) { counts.add(count.rawValue) }

    func add(_ count: Count, _ number: Int) { counts.add(count.rawValue, UInt64(number)) }

    /// An exchange had to wait at `phase` and goes on.
    func resumed(_ phase: Phase) { waits.add(Int(phase.rawValue)) }

    /// A signal was raised on a request.
    func raised(_ signal: Signal) { signals.add(signal.rawValue) }

    /// An attestation verified, and this is known of its device.
    func enrols(_ fate: DeviceTokenFate, _ bits: DeviceBits?) {
        deviceTokens.add(fate.index)
        for bit in 0..<2 { deviceBits.add(Self.index(bit, DeviceBitState(bits?[bit]))) }
    }

    private static func index(_ bit: Int, _ state: DeviceBitState) -> Int {
        bit * DeviceBitState.allCases.count + state.index
    }

    func handshakeFailed(_ kind: TLSFailure.Kind) { handshakeFailures.add(Int(kind.rawValue)) }

    func handshakeTimedOut() { handshakeFailures.add(TLSFailure.Kind.allCases.count) }

    func connections(_ count: Int) { gauges.set(0, Int64(count)) }

    func tunnelOpened() {
        add(.tunnels)
        gauges.add(1, 1)
    }

    func tunnelClosed() { gauges.add(1, -1) }

    // MARK: reading, from any thread

    func value(_ count: Count) -> UInt64 { counts.value(count.rawValue) }
    func handshakeFailureCount(_ kind: TLSFailure.Kind) -> UInt64 {
        handshakeFailures.value(Int(kind.rawValue))
    }
    var handshakeTimeoutCount: UInt64 {
        handshakeFailures.value(TLSFailure.Kind.allCases.count)
    }
    func raisedCount(_ signal: Signal) -> UInt64 { signals.value(signal.rawValue) }
    func deviceTokenCount(_ fate: DeviceTokenFate) -> UInt64 { deviceTokens.value(fate.index) }
    func deviceBitCount(_ bit: Int, _ state: DeviceBitState) -> UInt64 {
        deviceBits.value(Self.index(bit, state))
    }
    func waitCount(_ phase: Phase) -> UInt64 { waits.value(Int(phase.rawValue)) }
    var connectionCount: Int64 { gauges.value(0) }
    var tunnelCount: Int64 { gauges.value(1) }
    func serverMeter(_ label: ServerLabel) -> ServerMeter? { servers.withLock { $0[label] } }
    var routeMeters: [String: RouteMeter] { byName.withLock { $0 } }
    var appIDs: Set<String> { byApp.withLock { Set($0.keys) } }
    func appCount(_ id: String, _ bucket: RequestBucket) -> UInt64 {
        byApp.withLock { $0[id] }?.value(Int(bucket.rawValue)) ?? 0
    }
}
