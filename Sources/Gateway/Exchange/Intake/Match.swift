import HTTP
import Settings

/// Where a request belongs.
struct Match {
    var routeIndex: Int?
    var handling: RouteHandling?
    var endpoint: AppEndpoint?
}
