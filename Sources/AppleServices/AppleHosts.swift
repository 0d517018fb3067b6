public import Attestation

/// The base URLs of one of Apple's services, one for each environment.
public struct AppleHosts: Hashable, Sendable {
    public var production: String
    public var development: String

    public init(production: String, development: String) {
        self.production = production
        self.development = development
    }

    public static let attestationData = AppleHosts(
        production: "https://data.appattest.apple.com",
        development: "https://data-development.appattest.apple.com")

    public static let deviceCheck = AppleHosts(
        production: "https://api.devicecheck.apple.com",
        development: "https://api.development.devicecheck.apple.com")

    public func base(_ environment: AttestEnvironment) -> String {
        switch environment {
        case .production: production
        case .development: development
        }
    }
}
