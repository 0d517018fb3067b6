/// The settings that a route sets in place of general ones. Nil means the general one.
public struct RouteOverrides: Hashable, Sendable {
    /// The bytes of a request's body that are held in memory.
    public var bodyMemoryByteCountMax: Int?
    /// The time for a whole request, to the head of its response. Zero means no bound.
    public var requestTimeout: Duration?
    /// The time between two reads of a request body.
    public var requestBodyTimeout: Duration?
    /// The upstream's `response_timeout`.
    public var responseTimeout: Duration?
    /// The upstream's `read_timeout`.
    public var readTimeout: Duration?

    public init() {}
}
