import Attestation
import Crypto
import EventLoop
import JWT
import Judgement
import KeyStore
import Policy
import Settings
import TLS
import Telemetry

/// The counts of one worker about one route or endpoint. Only its thread writes them.
final class RouteMeter: Sendable {
    /// One count for each decision and reason.
    private let outcomes = CountBlock(count: Decision.allCases.count * Reason.allCases.count)
    /// The answers by the first digit of their status; 0 if there was none.
    private let statusClasses = CountBlock(count: 10)
    /// The requests of an attested route by the tier of their proof, then those of outdated apps
    /// and those of keys at risk.
    private let standings = CountBlock(count: TrustTier.allCases.count + 2)
    let duration = Histogram(.requestDuration)
    /// One count for each side of a rollout and bucket.
    private let buckets = CountBlock(
        count: RolloutSide.allCases.count * RequestBucket.allCases.count)
    /// The counts of the enforced side: judged requests, and the refused ones among them.
    private let judgements = CountBlock(count: 2)

    func countStanding(of verdict: borrowing Verdict) {
        standings.add(Int(verdict.tier.rawValue))
        if verdict.isOutdated { standings.add(TrustTier.allCases.count) }
        if verdict.isRisky { standings.add(TrustTier.allCases.count + 1) }
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

    /// The counts that the guard of a rollout reads.
    var cohort: RolloutCounts {
        // Refused ones first: one that comes between the two reads must not make them more than
        // all.
        let refused = Int64(clamping: judgements.value(1))
        return RolloutCounts(judged: Int64(clamping: judgements.value(0)), refused: refused)
    }

    /// The counts of attestations that the guard of their rollout reads.
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
        Int(side.rawValue) * bucketCount + Int(bucket.rawValue)
    }

    private static func index(_ decision: Decision, _ reason: Reason) -> Int {
        Int(decision.rawValue) * reasonCount + Int(reason.rawValue)
    }

    // Counted once, because each request needs it and `allCases` may make its list anew.
    private static let reasonCount = Reason.allCases.count
    private static let bucketCount = RequestBucket.allCases.count
}

/// The counts of one worker. Its thread writes, and any thread may read.
final class WorkerMeter: @unchecked Sendable {
    /// Counters that are not about a route.
    enum Count: Int, CaseIterable {
        case requests
        case challenges
        case tokens
        case retries
        case connectionsRefused
        case proxyHeadersRefused
        /// Retries that would have been safe, but were beyond the budget.
        case retriesDenied
        case tunnels
        /// TLS handshakes that were shortened by a ticket.
        case resumptions
        /// Counters that were used with another challenge before: two devices with one key.
        case counterConflicts
        /// Requests that were accepted for their developer tokens.
        case developerTokens
        /// Accepted counters that too few replicas of Redis had in time.
        case unconfirmed
        /// Keys that were new for users who had other keys.
        case newUserKeys
        /// Identity tokens that were made, and those that were reused.
        case identitiesSigned
        case identitiesReused
        /// Accepted assertions with the counter 1, which a key has only once.
        case firstAssertions
        /// Requests refused because registry, counters or Apple failed. Refusals because an
        /// issuer's keys cannot be fetched do not count.
        case storeFailures
        /// Signatures that the library could not judge and that OpenSSL has verified instead.
        case signaturesUndecided
    }

    private let counts = CountBlock(count: Count.allCases.count)
    /// Enrolled keys by the details that their platforms tell, `name=value`.
    let enrolmentDetails = NamedCounts()
    /// Completed TLS handshakes, by the group that was agreed on.
    let handshakes = NamedCounts()
    /// The times of checking signatures.
    let signatures = SignatureTimes()
    /// One count for each number of signatures that were checked together.
    private let batches = CountBlock(count: P256BatchVerifier.laneCount + 1)
    /// The results of requests with tokens of other issuers.
    let foreign = ForeignMeter()
    /// The charges to quotas, and requests that could not be charged.
    let quotas = QuotaMeter()
    private let waits = CountBlock(count: Phase.allCases.count)
    /// One count for each kind of failure, then the time-outs.
    private let handshakeFailures = CountBlock(count: TLSFailure.Kind.allCases.count + 1)
    private let signals = CountBlock(count: Signal.allCases.count)
    private let deviceTokens = CountBlock(count: DeviceTokenOutcome.allCases.count)
    /// One count for each bit and state.
    private let deviceBits = CountBlock(count: 2 * DeviceBitState.allCases.count)
    private let gauges = GaugeBlock(count: 2)
    /// The meters of routes by their names, so that a reload keeps a route's counts.
    private let byName = Locked<[String: RouteMeter]>([:])
    /// The meters of apps by their ids, for the same reason.
    private let byApp = Locked<[String: AppMeter]>([:])
    private let byUpstream = Locked<[String: Histogram]>([:])
    private let storeDurations = StoreOperation.allCases.map { _ in Histogram(.storeDuration) }
    private let servers = Locked<[ServerLabel: ServerMeter]>([:])
    // The worker's own thread only: the meters of the current site's routes, by index.
    private var routes: [RouteMeter] = []
    private var generation = -1
    private var lastApp: (id: String, generation: Int, meter: AppMeter)?
    private lazy var unrouted = meter(named: "none")
    private lazy var endpoints = AppEndpoint.allCases.map { meter(named: $0.routeName) }

    func count(_ exchange: Exchange, _ verdict: borrowing Verdict, nanoseconds: UInt64) {
        let meter = meter(of: exchange)
        let (decision, reason) = (exchange.decision, exchange.reason)
        meter.count(
            decision: decision, reason: reason, status: exchange.progress.status,
            nanoseconds: nanoseconds)
        if reason == .storeUnavailable, decision == .refused,
            exchange.outcome.cause != .proofFailed(.keysMissing)
        {
            add(.storeFailures)
        }
        if verdict.isJudged { meter.countStanding(of: verdict) }
        if let proof = verdict.sender.foreign { countForeign(proof, exchange) }
        if exchange.intake.match.endpoint == .attestVerify, decision == .answered, reason == .ok {
            app(verdict, exchange.site)?.count(.attested)
        }
        guard let bucket = verdict.bucket else { return }
        meter.count(bucket, verdict.side, isRefused: verdict.isRefusedByProof)
        app(verdict, exchange.site)?.count(
            bucket, version: exchange.prover.known.key?.bundleVersion)
    }

    private func countForeign(_ proof: String, _ exchange: Exchange) {
        guard let index = exchange.intake.match.routeIndex,
            case .foreign(let token) = exchange.prover.proof
        else { return }
        let use = ForeignUse(
            route: exchange.site.settings.routes[index].name, proof: proof,
            subject: token.subject ?? ForeignUse.noSubject)
        foreign.count(use, exchange.outcome.decision)
    }

    /// Notes a batch of `count` signatures.
    func countBatch(of count: Int) { batches.add(count) }

    /// The batches of `count` signatures.
    func batchCount(of count: Int) -> UInt64 { batches.value(count) }

    /// The counts of the exchange's app; nil if the app is unknown or not configured.
    private func app(_ verdict: borrowing Verdict, _ site: Site) -> AppMeter? {
        verdict.sender.appID.flatMap { app($0, site) }
    }

    /// Counts the first assertion of a key of an app.
    func countFirstAssertion(ofApp id: String?, _ site: Site) {
        add(.firstAssertions)
        if let id { app(id, site)?.count(.firstAssertion) }
    }

    private func app(_ id: String, _ site: Site) -> AppMeter? {
        // Most gateways have few apps, and most requests are from the same one.
        if let lastApp, lastApp.generation == site.generation, lastApp.id == id {
            return lastApp.meter
        }
        guard let app = site.settings.apps.first(where: { $0.id == id }) else { return nil }
        let meter = byApp.withLock { meters in
            if let known = meters[id] { return known }
            let fresh = AppMeter(platform: app.platform)
            meters[id] = fresh
            return fresh
        }
        lastApp = (id, site.generation, meter)
        return meter
    }

    private func meter(of exchange: Exchange) -> RouteMeter {
        guard let index = exchange.intake.match.routeIndex else {
            return exchange.intake.match.endpoint.map { endpoints[$0.rawValue] } ?? unrouted
        }
        if exchange.site.generation > generation {
            routes = exchange.site.settings.routes.map { meter(named: $0.name) }
            generation = exchange.site.generation
        }
        guard exchange.site.generation == generation else {
            return meter(named: exchange.site.settings.routes[index].name)
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

    /// The times of an upstream, by its name, for all of its servers and all reloads.
    func upstream(_ name: String) -> Histogram {
        byUpstream.withLock { histograms in
            if let known = histograms[name] { return known }
            let fresh = Histogram(.requestDuration)
            histograms[name] = fresh
            return fresh
        }
    }

    /// A store has answered the exchange that waited for it, or the wait was given up.
    func storeAnswered(_ operation: StoreOperation, nanoseconds: UInt64) {
        storeDurations[operation.rawValue].record(nanoseconds: nanoseconds)
    }

    /// Forgets a server, because its name stands for other addresses now and meters would add up
    /// forever.
    func forget(_ label: ServerLabel) { servers.withLock { $0[label] = nil } }

    func add(_ count: Count) { counts.add(count.rawValue) }

    func add(_ count: Count, _ number: Int) { counts.add(count.rawValue, UInt64(number)) }

    /// An exchange that had to wait at `phase` goes on.
    func resumed(_ phase: Phase) { waits.add(Int(phase.rawValue)) }

    /// A signal was raised on a request.
    func raised(_ signal: Signal) { signals.add(signal.rawValue) }

    /// An attestation was verified, with this knowledge of its device.
    func enrols(_ outcome: DeviceTokenOutcome, _ bits: DeviceBits?) {
        deviceTokens.add(outcome.index)
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
    func deviceTokenCount(_ outcome: DeviceTokenOutcome) -> UInt64 {
        deviceTokens.value(outcome.index)
    }
    func deviceBitCount(_ bit: Int, _ state: DeviceBitState) -> UInt64 {
        deviceBits.value(Self.index(bit, state))
    }
    func waitCount(_ phase: Phase) -> UInt64 { waits.value(Int(phase.rawValue)) }
    var connectionCount: Int64 { gauges.value(0) }
    var tunnelCount: Int64 { gauges.value(1) }
    func serverMeter(_ label: ServerLabel) -> ServerMeter? { servers.withLock { $0[label] } }
    var routeMeters: [String: RouteMeter] { byName.withLock { $0 } }
    var appIDs: Set<String> { byApp.withLock { Set($0.keys) } }
    func addCounts(of id: String, to sum: inout AppCounts) {
        byApp.withLock { $0[id] }?.add(to: &sum)
    }
    var upstreams: [String: Histogram] { byUpstream.withLock { $0 } }
    func duration(of operation: StoreOperation) -> Histogram {
        storeDurations[operation.rawValue]
    }
}
