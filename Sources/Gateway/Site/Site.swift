import AppAttest
import Attestation
import Background
import Bytes
import Crypto
import EventLoop
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Policy
public import Settings

/// The settings as the request path uses them: checked and compiled once, shared by all workers,
/// and replaced as a whole by a reload. An exchange keeps the one that it began with.
public final class Site: Sendable {
    public let settings: Settings
    let routes: RouteTable
    let rateLimits: SiteRateLimits
    /// Nil if none are configured.
    let signals: SiteSignals?
    /// Nil if no upstream gets identity tokens.
    let identity: IdentityIssuer?
    /// The issuers of other tokens, as the configuration lists them.
    let issuers: [ForeignIssuer]
    /// The treatment of each route's requests; nil if the route only forwards them.
    let handlings: [RouteHandling?]
    /// The demands of each route.
    let demands: [RouteDemand]
    /// The share of each route's rollout; nil if the configuration sets the share.
    let rollouts: [RolloutShare?]
    /// The share of installations that may attest; nil if the configuration sets it.
    let attestRollout: RolloutShare?
    let sealer: ChallengeSealer
    let platforms: PlatformTable
    let receipts: ReceiptVerifier
    let receiptSchedule: ReceiptSchedule
    let fieldNames: SiteFieldNames
    let tokens: SessionTokenSealer
    let tickets: SuccessionTicketSealer
    let developerTokens: DeveloperTokenSealer
    /// Makes the names of keys in the log.
    let pseudonyms: Pseudonyms
    let tokenRoutes: TokenRoutes
    let headLimits: HeadLimits
    let responseHeadLimits: HeadLimits
    private let challengeLives: ChallengeLives
    let endpoints: SiteEndpoints
    let timeouts: TimeoutNanoseconds
    let bodyPace: BodyPace
    let responsePace: BodyPace
    let tls: TLSContexts
    /// Nil if no request gets spans.
    let tracing: SiteTracing?
    /// A number that grows with each reload. Workers use it to tell whether what they hold is
    /// current.
    public let generation: Int

    /// `challengeKeys`: 32 bytes each, the first seals. `pseudonymKeys`: likewise; empty if they
    /// are derived from the others. Errors are texts for the operator.
    init(
        settings: Settings, challengeKeys: [[UInt8]], pseudonymKeys: [[UInt8]] = [],
        generation: Int, ticketKeys: TicketKeyRings = TicketKeyRings(),
        rollouts register: RolloutRegister = RolloutRegister(),
        issuerKeys: IssuerKeyRegister = IssuerKeyRegister(),
        platforms entries: [PlatformEntry] = PlatformEntry.all
    ) throws(ConfigurationFailure) {
        guard let sealer = ChallengeSealer(keys: challengeKeys),
            let tokens = SessionTokenSealer(keys: challengeKeys),
            let tickets = SuccessionTicketSealer(keys: challengeKeys),
            let developerTokens = DeveloperTokenSealer(keys: challengeKeys)
        else {
            throw ConfigurationFailure("the challenge keys are not 32 bytes each")
        }
        let secrets = pseudonymKeys.isEmpty ? challengeKeys : pseudonymKeys
        guard let pseudonyms = Pseudonyms(secrets: secrets) else {
            throw ConfigurationFailure("the pseudonym keys are not 32 bytes each")
        }
        self.settings = settings
        tracing = SiteTracing(settings)
        self.sealer = sealer
        self.tokens = tokens
        self.tickets = tickets
        self.developerTokens = developerTokens
        self.pseudonyms = pseudonyms
        self.generation = generation
        routes = RouteTable(settings.routes)
        let limits = RateLimit.byName(settings.rateLimits)
        rateLimits = SiteRateLimits(settings, limits)
        signals = SiteSignals(settings, limits)
        identity = IdentityIssuer(settings)
        issuers = try settings.proofs.map { proof throws(ConfigurationFailure) in
            try ForeignIssuer(
                proof, clockSkewSeconds: settings.trust.clockSkew.components.seconds,
                register: issuerKeys)
        }
        handlings = settings.routes.map { RouteHandling($0, settings) }
        let teamID = settings.deviceCheck?.teamID
        demands = settings.routes.map { route in
            RouteDemand(route.attest) { apps in
                teamID.map { settings.takesDevices(of: $0, for: apps) } ?? false
            }
        }
        let shares = register.shares(of: settings.plannedRollouts)
        rollouts = settings.routes.map { shares[.route($0.name)] }
        attestRollout = shares[.attestation]
        platforms = try PlatformTable(entries, settings)
        receipts = try PlatformEntry.receiptVerifier(settings.trust)
        receiptSchedule = ReceiptSchedule(settings.receipts)
        fieldNames = SiteFieldNames(settings)
        tokenRoutes = TokenRoutes(settings.routes)
        headLimits = Self.headLimits(settings.limits)
        responseHeadLimits = Self.responseHeadLimits(settings.limits)
        challengeLives = ChallengeLives(settings.challenge)
        endpoints = SiteEndpoints(settings, routes)
        timeouts = TimeoutNanoseconds(settings.timeouts)
        bodyPace = BodyPace(byteRate: settings.limits.bodyRateMin, grace: timeouts.bodyGrace)
        responsePace = BodyPace(
            byteRate: settings.limits.responseRateMin, grace: timeouts.responseGrace)
        tls = try TLSContexts(settings, ticketKeys: ticketKeys)
    }

    var developerTokenLifeMax: Int64 { settings.developerTokens.lifeMax.components.seconds }

    /// The lifetime of a challenge. A bound one for an attestation lives as long as Apple may take.
    func challengeLifeMilliseconds(_ purpose: ChallengePurpose, isBound: Bool) -> Int64 {
        purpose == .attestation && isBound ? challengeLives.attestation : challengeLives.usual
    }

    /// The name of the platform of an app; empty for an app that is not configured (any more).
    func platform(ofApp id: String) -> String {
        settings.apps.first { $0.id == id }?.platform.text ?? ""
    }

    var renewal: RenewalConfiguration {
        RenewalConfiguration(settings: settings, verifier: receipts, schedule: receiptSchedule)
    }

    private static func headLimits(_ limits: Limits) -> HeadLimits {
        HeadLimits(
            headByteCountMax: limits.headByteCountMax, fieldCountMax: limits.fieldCountMax,
            targetByteCountMax: limits.targetByteCountMax)
    }

    private static func responseHeadLimits(_ limits: Limits) -> HeadLimits {
        HeadLimits(
            headByteCountMax: limits.responseHeadByteCountMax,
            fieldCountMax: limits.fieldCountMax * 2, targetByteCountMax: 0)
    }
}

/// The lifetimes of challenges, in milliseconds.
private struct ChallengeLives: Sendable {
    let usual: Int64
    let attestation: Int64

    init(_ settings: ChallengeSettings) {
        usual = settings.timeToLive.milliseconds
        attestation = settings.attestationTimeToLive.milliseconds
    }
}

/// The time-outs of the request path in nanoseconds, divided once because `Duration` counts in 128
/// bits.
struct TimeoutNanoseconds: Sendable {
    let requestHead: UInt64
    let requestBody: UInt64
    let idle: UInt64
    let send: UInt64
    let bodyGrace: UInt64
    let responseGrace: UInt64
    let settings: UInt64
    /// 0 for no bound.
    let request: UInt64
    let tunnel: UInt64
    let registry: UInt64
    let bodyFile: UInt64
    let tlsHandshake: UInt64
    /// 0 for no bound.
    let backlog: UInt64

    init(_ timeouts: Timeouts) {
        requestHead = timeouts.requestHead.wholeNanoseconds
        requestBody = timeouts.requestBody.wholeNanoseconds
        idle = timeouts.idle.wholeNanoseconds
        send = timeouts.send.wholeNanoseconds
        responseGrace = timeouts.responseGrace.wholeNanoseconds
        bodyGrace = timeouts.bodyGrace.wholeNanoseconds
        settings = timeouts.settings.wholeNanoseconds
        request = timeouts.request.wholeNanoseconds
        tunnel = timeouts.tunnel.wholeNanoseconds
        registry = timeouts.registry.wholeNanoseconds
        bodyFile = timeouts.bodyFile.wholeNanoseconds
        tlsHandshake = timeouts.tlsHandshake.wholeNanoseconds
        backlog = timeouts.backlog.wholeNanoseconds
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
