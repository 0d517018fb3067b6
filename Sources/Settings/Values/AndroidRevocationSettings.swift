public import HTTPSClient
import TLS

/// The list of withdrawn Android attestation certificates, and how old it may be.
public struct AndroidRevocationSettings: Hashable, Sendable {
    /// The place of the list.
    public enum Source: Hashable, Sendable {
        /// The URL from which it is fetched regularly.
        case url(String)
        /// A file that something else keeps up to date.
        case file(String)
        /// No certificate is looked up.
        case off
    }

    public var source = Source.url(Self.google)
    /// The time between two fetches if the answer does not say, and the longest one if it does.
    public var refresh: Duration = .seconds(3600)
    /// The age from which the list does not count any more, and no Android key can enrol.
    public var ageMax: Duration = .seconds(7 * 86_400)
    /// The path of the authorities, or nil for the system's.
    public var authoritiesPath: String?
    /// Those authorities, if the list is fetched by TLS.
    var authorities: TLSAuthorities?
    /// The proxy for requests to the Internet.
    var proxy = HTTPSConfiguration.Proxy.environment

    /// Google's list (developer.android.com, *Verify hardware-backed key pairs*).
    public static let google = "https://android.googleapis.com/attestation/status"

    public init() {}

    public var url: String? { if case .url(let url) = source { url } else { nil } }
    public var path: String? { if case .file(let path) = source { path } else { nil } }

    /// The bounds on fetching a list of at most `byteCountMax` bytes. No request waits for it.
    public func configuration(byteCountMax: Int) -> HTTPSConfiguration {
        var https = HTTPSConfiguration(authorities: authorities)
        https.proxy = proxy
        https.allowsPlainHTTP = url?.hasPrefix("http:") ?? false
        https.connectTimeout = .seconds(5)
        https.timeout = .seconds(60)
        https.responseByteCountMax = byteCountMax
        https.inFlightCountMax = 1
        return https
    }
}
