public import Crypto
public import HTTPSClient
public import JWT
public import Policy
import TLS

/// An issuer of tokens that routes take beside those of the gateway and of Apple.
public struct ProofSettings: Hashable, Sendable {
    /// An issuer whose ways are known.
    public enum Preset: String, Hashable, Sendable, CaseIterable {
        case firebaseAppCheck = "firebase_app_check"
        case approov
    }

    /// Where the issuer's keys come from.
    public enum Keys: Hashable, Sendable {
        /// Fetched again and again.
        case url(String)
        /// Pinned: the path of the document and what it holds.
        case file(path: String, document: [UInt8])
        /// Shared with the issuer.
        case secrets(path: String, secrets: [Secret])
    }

    public var name = ""
    public var preset: Preset?
    /// Firebase's number of the project.
    public var project: String?
    public var issuer: String?
    public var audiences: [String] = []
    public var algorithms: [TokenAlgorithm] = []
    /// Nil only while the section is read.
    public var jwks: Keys?
    public var secrets: Keys?
    /// In lower case.
    public var header = ""
    public var tier = TrustTier.foreign
    public var subjects: [String] = []
    /// The path of the authorities, or nil for the system's.
    public var authoritiesPath: String?
    /// Those authorities, if the keys are fetched by TLS.
    var authorities: TLSAuthorities?
    /// The way to everything outside.
    var proxy = HTTPSConfiguration.Proxy.environment

    public init() {}

    public var keys: Keys? { secrets ?? jwks }

    /// Where the keys are fetched; nil where they are in a file.
    public var url: String? { if case .url(let url)? = jwks { url } else { nil } }

    /// The bounds on fetching the keys: nobody waits for that, and an answer is one small document.
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
