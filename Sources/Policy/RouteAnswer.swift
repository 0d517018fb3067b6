/// The answer that a route gives itself, without an upstream.
public enum RouteAnswer: Hashable, Sendable {
    case redirect(Redirect)
    case respond(FixedResponse)
}

/// An answer that sends the client elsewhere (RFC 9110 section 15.4).
public struct Redirect: Hashable, Sendable {
    /// An absolute URL, or a path of the same host.
    public var location: TextTemplate
    public var status: UInt16

    public init(location: TextTemplate, status: UInt16) {
        self.location = location
        self.status = status
    }
}

/// An answer that is always the same.
public struct FixedResponse: Hashable, Sendable {
    public var status: UInt16
    public var body: String
    public var contentType: String

    public init(status: UInt16, body: String = "", contentType: String = "text/plain") {
        self.status = status
        self.body = body
        self.contentType = contentType
    }
}
