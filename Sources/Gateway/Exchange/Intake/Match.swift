import HTTP
import Settings

/// The route or endpoint that a request belongs to; neither before it was matched.
struct Match {
    var routeIndex: Int?
    var handling: RouteHandling?
    var endpoint: AppEndpoint?
}
