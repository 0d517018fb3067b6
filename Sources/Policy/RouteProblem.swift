public import HTTP

/// A fault of a route that makes its configuration invalid.
public struct RouteProblem: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// The path has no normal form: ``TargetPath``.
        case pathInvalid(HTTPFault)
        /// A prefix pattern does not end in `/`.
        case prefixWithoutSlash
        /// The method is not one that a request can have: upper-case letters (and digits, `-`,
        /// `_`), and not CONNECT.
        case methodInvalid(String)
        /// The earlier route at this index has the same path, a host in common and the same
        /// headers, and takes one of the methods.
        case neverMatches(earlier: Int)
        /// An earlier route has the same path with other headers, and a request may meet both:
        /// neither is more specific.
        case undecided(earlier: Int)
        /// Routes with more headers, including this one, take every request that the route asks
        /// for.
        case shadowed(by: Int)
        /// The routes have more different header conditions than ``RouteTable/conditionCountMax``.
        case tooManyConditions
        /// A request reaches the same place of the same upstream, with another host, header
        /// or path, by the route at this index, which demands more.
        case weaker(than: Int, path: String)
    }

    /// The index into the routes given to ``RouteTable``.
    public var routeIndex: Int
    public var kind: Kind

    public init(routeIndex: Int, kind: Kind) {
        self.routeIndex = routeIndex
        self.kind = kind
    }
}
