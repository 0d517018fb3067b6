public import HTTPSClient
import TLS

/// The export of spans and metrics to an OpenTelemetry collector.
public struct OTLPSettings: Hashable, Sendable {
    /// The URL of the collector without `/v1/traces` and without a slash at its end.
    public var endpoint = ""
    public var headers: [OTLPHeader] = []
    /// The path of the authorities, or nil for the system's.
    public var authoritiesPath: String?
    /// Nil for a collector without TLS.
    var authorities: TLSAuthorities?
    /// Zero for no metrics.
    public var metricsInterval: Duration = .seconds(30)
    /// The share of requests that get spans, in percent; nil if none gets any.
    public var samplePercent: Int? = 1
    /// The rate of further requests that may get spans for a reason that clients decide, such as a
    /// `traceparent` or a refusal.
    public var spanLimit = RateLimitSettings.Rate(count: 100, period: .second)

    var isPlain: Bool { endpoint.hasPrefix("http://") }

    public var configuration: HTTPSConfiguration {
        var https = HTTPSConfiguration(authorities: authorities)
        https.allowsPlainHTTP = isPlain
        https.connectTimeout = Self.connectTimeout
        https.timeout = Self.timeout
        // One request of spans and one of metrics.
        https.inFlightCountMax = 2
        return https
    }

    private static let connectTimeout = Duration.seconds(5)
    /// OpenTelemetry's own default.
    private static let timeout = Duration.seconds(10)
}

/// A header of each request to a collector.
public struct OTLPHeader: Hashable, Sendable {
    public let name: String
    public let value: String
    /// Whether the value came from a file or the environment.
    let isSecret: Bool
}
