import Bytes
import Policy
import Settings

/// The gateway's own endpoints towards apps.
enum AppEndpoint: Int, CaseIterable {
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

    /// Stands where a route's name stands in metrics.
    var routeName: String {
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

/// The endpoints' paths: below `endpoints.base`, but for ``AppEndpoint/discovery``, which clients
/// find without knowing anything (RFC 8615).
struct EndpointPaths: Sendable {
    private let attestChallenge: [UInt8]
    private let attestVerify: [UInt8]
    private let attestFailure: [UInt8]
    private let assertChallenge: [UInt8]
    /// The path of `assert/token`, or nil if no route accepts tokens. The path is then like any
    /// other.
    private let assertToken: [UInt8]?
    /// The path of `identity/jwks.json`, or nil if no keys are configured. The path is then like
    /// any other.
    private let identityKeys: [UInt8]?
    private let discovery = Array(Settings.discoveryPath.utf8)

    init(base: String, issuesTokens: Bool, publishesKeys: Bool) {
        identityKeys = publishesKeys ? Array((base + "identity/jwks.json").utf8) : nil
        assertToken = issuesTokens ? Array((base + "assert/token").utf8) : nil
        attestChallenge = Array((base + "attest/challenge").utf8)
        attestVerify = Array((base + "attest/verify").utf8)
        attestFailure = Array((base + "attest/failure").utf8)
        assertChallenge = Array((base + "assert/challenge").utf8)
    }

    /// Which endpoint answers for `path`, given in normal form.
    func endpoint(at path: Span<UInt8>) -> AppEndpoint? {
        if ASCII.equals(path, assertChallenge) { return .assertChallenge }
        if ASCII.equals(path, attestChallenge) { return .attestChallenge }
        if ASCII.equals(path, attestVerify) { return .attestVerify }
        if ASCII.equals(path, attestFailure) { return .attestFailure }
        if let assertToken, ASCII.equals(path, assertToken) { return .assertToken }
        if let identityKeys, ASCII.equals(path, identityKeys) { return .identityKeys }
        if ASCII.equals(path, discovery) { return .discovery }
        return nil
    }

    /// The path of `endpoint`; nil if it is like any other.
    func path(of endpoint: AppEndpoint) -> [UInt8]? {
        switch endpoint {
        case .attestChallenge: attestChallenge
        case .attestVerify: attestVerify
        case .attestFailure: attestFailure
        case .assertChallenge: assertChallenge
        case .assertToken: assertToken
        case .identityKeys: identityKeys
        case .discovery: discovery
        }
    }
}

/// The gateway's own endpoints, as one configuration has them.
struct SiteEndpoints: Sendable {
    let paths: EndpointPaths
    let discovery: ClientDiscovery

    init(_ settings: Settings, _ routes: RouteTable, issuesTokens: Bool) {
        paths = EndpointPaths(
            base: settings.endpoints.base, issuesTokens: issuesTokens,
            publishesKeys: !settings.identity.keys.isEmpty)
        discovery = ClientDiscovery(settings, routes, paths)
    }
}
