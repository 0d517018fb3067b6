public import Attestation
public import HTTP
public import Policy

/// Everything that the operator decides, checked and immutable. A reload replaces the whole value.
public struct Settings: Hashable, Sendable {
    public var workerCount = 1
    public var listeners: [ListenerSettings] = []
    public var apps: [AppIdentity] = []
    /// The settings of Apple's services, or nil if Apple is not asked.
    public var apple: AppleSettings?
    public var deviceCheck: DeviceCheckSettings?
    /// The issuers of tokens that are accepted beside those of the gateway and of Apple.
    public var proofs: [ProofSettings] = []
    /// The names of a device's two bits.
    public var deviceBitNames: [String] {
        deviceCheck?.bitNames ?? DeviceCheckSettings.appleBitNames
    }
    public var trust = TrustSettings()
    public var registry = RegistrySettings.sqlite(path: "")
    public var counterKeeping = CounterKeeping()
    public var counters: CounterSettings {
        get { counterKeeping.store }
        set { counterKeeping.store = newValue }
    }
    public var floors: FloorSettings {
        get { counterKeeping.floors }
        set { counterKeeping.floors = newValue }
    }
    public var keyCache = KeyCacheSettings()
    public var challenge = ChallengeSettings()
    public var sessionTokens = SessionTokenSettings()
    public var receipts = ReceiptSettings()
    public var developerTokens = DeveloperTokenSettings()
    public var secrets = SecretSettings()
    public var crypto = CryptoSettings()
    public var signals = SignalSettings()
    public var identity = IdentitySettings()
    public var endpoints = EndpointSettings()
    public var senderLimits = SenderLimits()
    public var rateLimits: [RateLimitSettings] {
        get { senderLimits.rates }
        set { senderLimits.rates = newValue }
    }
    public var quotas: [Quota] {
        get { senderLimits.quotas }
        set { senderLimits.quotas = newValue }
    }
    public var forwarded = ForwardedForm.xForwarded
    public var headers = HeaderNames()
    public var upstreams: [UpstreamSettings] = []
    public var routes: [Route] = []
    public var admin: AdminSettings?
    public var log = LogSettings()
    /// The export of spans and metrics, or nil if they are not sent.
    public var otlp: OTLPSettings?
    /// The capture of refused objects, or nil if they are not kept.
    public var capture: CaptureSettings?
    public var limits = Limits()
    public var timeouts = Timeouts()

    public init() {}

    /// Every address that the gateway listens on.
    public var binds: [Endpoint] {
        listeners.map(\.bind)
            + [admin?.bind, admin?.probes?.bind, admin?.api?.bind].compactMap(\.self)
    }

    /// Names of the routes that take developer tokens.
    public var developerRoutes: [String] {
        routes.filter { $0.attest.accept.contains(.developer) }.map(\.name)
    }

    /// The listeners and routes whose refusals tell clients the cause, as the configuration has
    /// them.
    public var detailedPlaces: [String] {
        listeners.enumerated().filter(\.element.tellsCause).map { "listeners[\($0.offset)]" }
            + routes.filter(\.tellsCause).map { "route \($0.name)" }
    }
}

/// An address to listen at or to connect to.
public enum Endpoint: Hashable, Sendable {
    /// A numeric address or a name, and a port; IPv6 without brackets.
    case tcp(host: String, port: UInt16)
    case unix(path: String)
}

public struct ListenerSettings: Hashable, Sendable {
    public var bind: Endpoint
    /// Spellings of a request target that are refused unless named here.
    public var allow: TargetAllowances
    /// Peers whose `Forwarded`, `X-Forwarded-*` and `X-Request-Id` are kept.
    public var trustedProxies: [TrustedProxy]
    /// Peers whose connections begin with a PROXY header. No other peer may send one.
    public var proxyProtocol: [TrustedProxy] = []
    /// Names of the rate limits that every request is counted against.
    public var rateLimits: [String] = []
    /// The TLS settings, or nil for HTTP without TLS.
    public var tls: ListenerTLSSettings?
    /// The protocols spoken there, the preferred one first. With TLS ALPN decides (RFC 7301);
    /// without, HTTP/2 is recognized by its first bytes (prior knowledge).
    public var protocols: [HTTPProtocol]
    public var redirect: ListenerRedirect?
    /// True if refusals tell clients the cause.
    public var tellsCause = false
    /// The peers that ask about requests here, and how; nil for a listener that takes requests.
    public var check: CheckSettings?

    public init(
        bind: Endpoint, allow: TargetAllowances = [], trustedProxies: [TrustedProxy] = [],
        protocols: [HTTPProtocol] = [.http1]
    ) {
        self.bind = bind
        self.allow = allow
        self.trustedProxies = trustedProxies
        self.protocols = protocols
    }
}

/// A listener that answers questions of a proxy about requests, which the proxy forwards itself.
public struct CheckSettings: Hashable, Sendable {
    public var dialect = CheckDialect.nginx
    /// The peers that may ask.
    public var from: [TrustedProxy] = []

    public init() {}
}

/// The way in which a proxy asks about a request.
public enum CheckDialect: String, Hashable, Sendable, CaseIterable {
    /// `auth_request`: `X-Original-Method`, `X-Original-URI`, and `X-Original-Host` or `Host`.
    case nginx
    /// Traefik, Caddy, HAProxy: `X-Forwarded-Method`, `X-Forwarded-Uri`, `X-Forwarded-Host`.
    case forward
    /// Envoy's `ext_authz` over HTTP: the call itself, behind the prefix `/check`.
    case envoy
    /// Envoy's `ext_authz` and `ext_proc` over gRPC.
    case envoyGRPC = "envoy_grpc"
    /// An object in the body of `POST /check`, for everything else.
    case json
}

/// A version of HTTP, by its name in ALPN (RFC 7301).
public enum HTTPProtocol: String, Hashable, Sendable, CaseIterable {
    case http1 = "http/1.1"
    case http2 = "h2"
}

/// Peers whose statements about the client are believed.
public enum TrustedProxy: Hashable, Sendable {
    case block(AddressBlock)
    /// Every process that may connect to the listener's unix socket, by the mode of its file.
    case unix
}

/// A CIDR block (RFC 4632); IPv4 blocks have 4 address bytes, IPv6 ones 16.
public struct AddressBlock: Hashable, Sendable {
    public var address: [UInt8]
    public var prefixBitCount: Int

    public init(address: [UInt8], prefixBitCount: Int) {
        self.address = address
        self.prefixBitCount = prefixBitCount
    }
}

public struct TrustSettings: Hashable, Sendable {
    /// Paths of PEM files trusted beside Apple's root: for tests with a simulated device only.
    public var extraRootPaths: [String] = []
    /// The DER certificates those files hold.
    public var extraRoots: [[UInt8]] = []
    /// Paths of PEM files trusted beside Google's roots: for tests with a simulated phone only.
    public var androidRootPaths: [String] = []
    /// The DER certificates those files hold.
    public var androidRoots: [[UInt8]] = []
    /// The source of Google's list of withdrawn certificates.
    public var androidRevocation = AndroidRevocationSettings()
    /// True if any root is trusted that no platform has published.
    public var hasExtraRoots: Bool { !extraRoots.isEmpty || !androidRoots.isEmpty }
    /// The error of this machine's clock that is allowed for the dates of certificates.
    public var clockSkew: Duration = .seconds(60)
}

public enum RegistrySettings: Hashable, Sendable {
    case sqlite(path: String)
    case postgres(PostgresSettings)
}

public enum CounterSettings: Hashable, Sendable {
    case embedded
    case redis(RedisSettings)
}

public struct KeyCacheSettings: Hashable, Sendable {
    public var recordCountMax = 100_000
}

public struct ChallengeSettings: Hashable, Sendable {
    public var timeToLive: Duration = .seconds(120)
    public var attestationTimeToLive: Duration = .seconds(24 * 3600)
}

public struct SessionTokenSettings: Hashable, Sendable {
    public var timeToLive: Duration = .seconds(300)
    /// The header, in lower case, whose value must be the same as when the token was issued; nil
    /// for none.
    public var boundHeader: String?
}

public struct DeveloperTokenSettings: Hashable, Sendable {
    public var lifeMax: Duration = .seconds(30 * 24 * 3600)
    public var revoked: [String] = []

    public init() {}

    /// A duration as the configuration writes it; nil for anything else.
    public static func life(_ text: String) -> Duration? {
        guard case .amount(let milliseconds) = Quantity.parse(text, Quantity.durationUnits) else {
            return nil
        }
        return .milliseconds(milliseconds)
    }

    /// True if a token may have this name, so that ``revoked`` can hold it.
    public static func isName(_ text: String) -> Bool { Name.isValid(text) }
}

public struct SecretSettings: Hashable, Sendable {
    /// The path of the file, or nil for keys that are made and kept beside the registry.
    public var challengeKeyFile: String?
    /// The path of the file. If nil, a secret is made and kept beside the registry, if that is a
    /// file; else it is derived from the first challenge key.
    public var pseudonymKeyFile: String?
}

public struct EndpointSettings: Hashable, Sendable {
    /// The path below which the endpoints are. It starts and ends with `/`.
    public var base = "/"
    public var bodyByteCountMax = 64 * 1024
    public var challengeRateLimits = ["challenge"]
    /// The limits of `attest/challenge` alone, or nil for the same as of the others. Apple
    /// throttles attestations over all installations of an app, so a limit for all belongs here.
    public var attestationChallengeRateLimits: [String]?
    public var attestationRateLimits = ["attestation"]
    public var attestRollout = AttestRollout()
}

/// Request headers, in lower case.
public struct HeaderNames: Hashable, Sendable {
    public var assertion = "x-app-attest-assertion"
    public var clientData = "x-app-attest-client-data"
    public var keyID = "x-app-attest-key-id"
    public var token = "x-app-attest-token"
    public var deviceCheck = "x-device-check-token"

    /// The names of all headers that carry proofs.
    public var all: [String] { [assertion, clientData, keyID, token, deviceCheck] }
}

public struct AdminSettings: Hashable, Sendable {
    public var bind: Endpoint
    /// A listener for liveness and readiness alone; nil if only ``bind`` answers them.
    public var probes: ProbeSettings?
    public var api: AdminAPISettings?
    /// Names under which browsers reach the status page.
    public var hosts: [HostPattern] = []

    public init(bind: Endpoint) { self.bind = bind }
}

/// A listener that tells liveness and readiness, and nothing else.
public struct ProbeSettings: Hashable, Sendable {
    public var bind: Endpoint

    public init(bind: Endpoint) { self.bind = bind }
}

public struct LogSettings: Hashable, Sendable {
    public enum Destination: Hashable, Sendable {
        case off
        case standardOutput
        case standardError
        case file(path: String)

        public var isFile: Bool { if case .file = self { true } else { false } }
    }

    /// The way in which lines name a key.
    public enum KeyNaming: String, Hashable, Sendable, CaseIterable {
        /// A name that cannot be traced back to the key without the secret.
        case pseudonym
        /// The beginning of the key id.
        case prefix
        case off
    }

    /// The form of access lines.
    public enum Format: String, Hashable, Sendable, CaseIterable {
        case json
        /// The combined format of Apache and nginx.
        case combined
        /// A short text for people.
        case text
    }

    public var access = Destination.standardOutput
    public var format = Format.json
    /// The share, in percent, of lines that are written about requests that passed.
    public var samplePercent = 100
    public var events = Destination.standardError
    public var keys = KeyNaming.pseudonym

    public init() {}
}
