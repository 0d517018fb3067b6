public import AppAttest

/// The services that a stand-in for Apple has.
public enum StandInService: String, Sendable, CaseIterable {
    case attestationData = "attestation_data"
    case deviceCheck = "device_check"
}

/// What came to a stand-in for Apple.
public struct StandInRequest: Sendable {
    /// Told by the port, as Apple tells it by the host.
    public var environment: AttestEnvironment
    public var method: String
    public var path: String
    public var authorization: String?
    public var body: [UInt8]

    public init(
        environment: AttestEnvironment, method: String, path: String, authorization: String?,
        body: [UInt8]
    ) {
        self.environment = environment
        self.method = method
        self.path = path
        self.authorization = authorization
        self.body = body
    }
}

/// What goes back, and how.
public struct StandInReply: Hashable, Sendable {
    /// How an answer goes wrong on its way.
    public enum Conduct: String, Sendable, CaseIterable {
        case whole
        /// Half of the body, then the connection ends.
        case cut
        /// The connection ends before any answer.
        case close
        /// Nothing comes, and the connection stays.
        case silent
        /// Bytes that are no HTTP.
        case garbage
        /// A body without end.
        case endless
    }

    public var status: Int
    public var body: [UInt8]
    public var retryAfter: String?
    public var conduct = Conduct.whole
    public var delay: Duration = .zero

    public init(status: Int, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }

    public init(status: Int, text: String) { self.init(status: status, body: Array(text.utf8)) }
}

/// Something that a stand-in does instead of what it should, for the next requests.
public struct StandInFault: Sendable {
    /// Nil for any.
    public var service: StandInService?
    /// Nil for any.
    public var environment: AttestEnvironment?
    /// How many more requests; nil for all, until the faults are cleared.
    public var count: Int?
    /// Nil: what it should be.
    public var reply: StandInReply?
    public var conduct = StandInReply.Conduct.whole
    public var delay: Duration = .zero

    public init() {}

    func concerns(_ service: StandInService, _ environment: AttestEnvironment) -> Bool {
        (self.service ?? service) == service && (self.environment ?? environment) == environment
    }
}
