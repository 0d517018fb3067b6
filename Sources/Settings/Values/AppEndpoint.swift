import Policy

/// The gateway's own endpoints towards apps.
public enum AppEndpoint: Int, CaseIterable, Sendable {
    case attestChallenge
    case attestVerify
    /// Reports from apps about steps that failed in them.
    case attestFailure
    case assertChallenge
    case assertToken
    /// The public keys of identity tokens.
    case identityKeys
    /// The settings that clients must know, at the root of every host.
    case discovery

    /// The name in metrics, in place of a route's. It is also the path below
    /// ``EndpointSettings/base``, or, for ``discovery``, below the root.
    public var routeName: String {
        switch self {
        case .attestChallenge: "attest/challenge"
        case .attestVerify: "attest/verify"
        case .attestFailure: "attest/failure"
        case .assertChallenge: "assert/challenge"
        case .assertToken: "assert/token"
        case .identityKeys: "identity/jwks.json"
        case .discovery: ".well-known/app-attest"
        }
    }
}

extension Settings {
    /// The well-known path (RFC 8615) at which clients learn the settings that they need. It does
    /// not depend on ``EndpointSettings/base``.
    public static let discoveryPath = "/" + AppEndpoint.discovery.routeName

    /// The endpoints that these settings turn on, and their paths. Routes may use the paths of the
    /// others.
    public var ownEndpoints: [(endpoint: AppEndpoint, path: String)] {
        AppEndpoint.allCases.compactMap { endpoint in
            switch endpoint {
            case .assertToken where !takesTokens: nil
            case .identityKeys where identity.keys.isEmpty: nil
            case .discovery: (endpoint, Self.discoveryPath)
            default: (endpoint, endpoints.base + endpoint.routeName)
            }
        }
    }

    private var takesTokens: Bool {
        routes.contains { $0.attest.accept.contains(.token) }
    }
}
