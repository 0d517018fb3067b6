public import Crypto
public import HTTPSClient
public import JWT
public import Policy
import TLS

/// An issuer of tokens that routes accept beside those of the gateway and of Apple.
public struct ProofSettings: Hashable, Sendable {
    /// An issuer whose keys, claims and algorithms are known.
    public enum Preset: String, Hashable, Sendable, CaseIterable {
        case firebaseAppCheck = "firebase_app_check"
        case approov
    }

    /// The source of the issuer's keys.
    public enum Keys: Hashable, Sendable {
        /// The URL from which they are fetched regularly.
        case url(String)
        /// Pinned keys: the path of the document and its content.
        case file(path: String, document: [UInt8])
        /// Secrets that are shared with the issuer.
        case secrets(path: String, secrets: [Secret])
    }

    public var name = ""
    public var preset: Preset?
    /// The number of the project at Firebase.
    public var project: String?
    public var issuer: String?
    public var audiences: [String] = []
    public var algorithms: [TokenAlgorithm] = []
    /// Nil only while the section is read.
    public var jwks: Keys?
    public var secrets: Keys?
    /// The name of the header with the token, in lower case.
    public var header = ""
    public var tier = TrustTier.foreign
    public var subjects: [String] = []
    /// The path of the authorities, or nil for the system's.
    public var authoritiesPath: String?
    /// Those authorities, if the keys are fetched by TLS.
    var authorities: TLSAuthorities?
    /// The proxy for requests to the Internet.
    var proxy = HTTPSConfiguration.Proxy.environment

    public init() {}

    public var keys: Keys? { secrets ?? jwks }

    /// The URL from which the keys are fetched; nil if they are in a file.
    public var url: String? { if case .url(let url)? = jwks { url } else { nil } }

    /// The bounds on fetching the keys. No request waits for it, and an answer is a small document.
    public var configuration: HTTPSConfiguration {
        var https = HTTPSConfiguration(authorities: authorities)
        https.proxy = proxy
        https.allowsPlainHTTP = url?.hasPrefix("http:") ?? false
        https.connectTimeout = .seconds(5)
        https.timeout = .seconds(15)
        https.responseByteCountMax = JSONWebKeySet.byteCountMax
        https.inFlightCountMax = 1
        return https
    }
}

extension ProofSettings {
    /// The names and places that Firebase documents for App Check.
    enum Firebase {
        static let header = "x-firebase-appcheck"
        static let jwks = "https://firebaseappcheck.googleapis.com/v1/jwks"
        static func issuer(_ project: String) -> String {
            "https://firebaseappcheck.googleapis.com/\(project)"
        }
        static func audience(_ project: String) -> String { "projects/\(project)" }
    }

    /// The header that Approov's quick starts use.
    static let approovHeader = "approov-token"
}
