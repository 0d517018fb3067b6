import HTTP
import Settings

/// The route or endpoint that a request belongs to; neither before it was matched.
struct Match {
    var routeIndex: Int?
    /// The upstream of the route, as the settings list them; nil if the route has none.
    var upstreamIndex: Int?
    var handling: RouteHandling?
    var endpoint: AppEndpoint?
}
