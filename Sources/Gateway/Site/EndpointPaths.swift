import Bytes
import Policy
import Settings

/// The paths of the gateway's own endpoints.
struct EndpointPaths: Sendable {
    /// The paths, one after another.
    private var text: [UInt8] = []
    private var ranges: [(endpoint: AppEndpoint, range: Range<Int>)] = []

    init(_ settings: Settings) {
        for (endpoint, path) in settings.ownEndpoints {
            let start = text.count
            text += path.utf8
            ranges.append((endpoint, start..<text.count))
        }
    }

    /// The endpoint that answers for `path`, given in normal form.
    func endpoint(at path: Span<UInt8>) -> AppEndpoint? {
        let text = text.span
        for (endpoint, range) in ranges where ASCII.equals(path, text.extracting(range)) {
            return endpoint
        }
        return nil
    }

    /// The path of `endpoint`; nil if the endpoint is off, so that its path is like any other.
    func path(of endpoint: AppEndpoint) -> [UInt8]? {
        ranges.first { $0.endpoint == endpoint }.map { Array(text[$0.range]) }
    }
}

/// The gateway's own endpoints by one configuration.
struct SiteEndpoints: Sendable {
    let paths: EndpointPaths
    let discovery: ClientDiscovery

    init(_ settings: Settings, _ routes: RouteTable) {
        paths = EndpointPaths(settings)
        discovery = ClientDiscovery(settings, routes, paths)
    }
}
