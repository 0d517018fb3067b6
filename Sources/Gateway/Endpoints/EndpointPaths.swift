import Bytes

/// The gateway's own endpoints towards apps.
enum AppEndpoint: Int, CaseIterable {
    case attestChallenge
    case attestVerify
    case assertChallenge

    /// Stands where a route's name stands in metrics.
    var routeName: String {
        switch self {
        case .attestChallenge: "attest/challenge"
        case .attestVerify: "attest/verify"
        case .assertChallenge: "assert/challenge"
        }
    }
}

/// The endpoints' paths below `endpoints.base`.
struct EndpointPaths: Sendable {
    private let attestChallenge: [UInt8]
    private let attestVerify: [UInt8]
    private let assertChallenge: [UInt8]

    init(base: String) {
        attestChallenge = Array((base + "attest/challenge").utf8)
        attestVerify = Array((base + "attest/verify").utf8)
        assertChallenge = Array((base + "assert/challenge").utf8)
    }

    /// Which endpoint answers for `path`, given in normal form.
    func endpoint(at path: Span<UInt8>) -> AppEndpoint? {
        if ASCII.equals(path, assertChallenge) { return .assertChallenge }
        if ASCII.equals(path, attestChallenge) { return .attestChallenge }
        if ASCII.equals(path, attestVerify) { return .attestVerify }
        return nil
    }
}
