import Policy

/// The routes that accept session tokens.
struct TokenRoutes: Sendable {
    let names: [String]
    /// The apps of each route that accepts only some, by the route's name.
    let apps: [String: Set<String>]

    init(_ routes: [Route]) {
        names = routes.filter { $0.attest.accept.contains(.token) }.map(\.name)
        apps = Dictionary(
            routes.compactMap { route in route.attest.apps.only.map { (route.name, $0) } },
            uniquingKeysWith: { $0.intersection($1) })
    }
}
