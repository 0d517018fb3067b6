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
        /// The earlier route at this index has the same path and takes one of the methods.
        case neverMatches(earlier: Int)
    }

    /// Index into the routes given to ``RouteTable``.
    public var routeIndex: Int
    public var kind: Kind

    public init(routeIndex: Int, kind: Kind) {
        self.routeIndex = routeIndex
        self.kind = kind
    }
}
