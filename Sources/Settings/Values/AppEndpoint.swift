import Policy

/// The gateway's own endpoints towards apps.
public enum AppEndpoint: Int, CaseIterable, Sendable {
    case attestChallenge
    case attestVerify
    /// What failed in an app, told by the app.
    case attestFailure
    case assertChallenge
    case assertToken
    /// The public keys of identity tokens.
    case identityKeys
    /// What clients have to know, at the root of every host.
    case discovery

    /// Stands where a route's name stands in metrics. It is the path, too: below
    /// ``EndpointSettings/base``, but for ``discovery``.
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
    /// Where clients learn what they have to know, without knowing anything (RFC 8615), whatever
    /// ``EndpointSettings/base`` is.
    public static let discoveryPath = "/" + AppEndpoint.discovery.routeName

    /// The endpoints that there are with these settings, and their paths. Those of the others are
    /// paths like any.
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
