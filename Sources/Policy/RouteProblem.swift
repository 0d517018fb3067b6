public import HTTP

/// A route that cannot do what it says.
public struct RouteProblem: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// The path has no normal form: ``TargetPath``.
        case pathInvalid(HTTPFault)
        /// A prefix pattern that does not end in `/`.
        case prefixWithoutSlash
        /// No request has this method: not upper-case letters (and digits, `-`, `_`), or CONNECT.
        case methodInvalid(String)
        /// The earlier route at this index has the same path, a host in common and the same
        /// headers, and takes one of the methods.
        case neverMatches(earlier: Int)
        /// An earlier route has the same path with other headers, and a request may meet both:
        /// neither is more specific.
        case undecided(earlier: Int)
        /// Routes with more headers, this one among them, take every request that it asks for.
        case shadowed(by: Int)
        /// The routes have more different header conditions than ``RouteTable/conditionCountMax``.
        case tooManyConditions
        /// A request reaches the same place of the same upstream, with another host, header
        /// or path, by the route at this index, which demands more.
        case weaker(than: Int, path: String)
    }

    /// Index into the routes given to ``RouteTable``.
    public var routeIndex: Int
    public var kind: Kind

    public init(routeIndex: Int, kind: Kind) {
        self.routeIndex = routeIndex
        self.kind = kind
    }
}
