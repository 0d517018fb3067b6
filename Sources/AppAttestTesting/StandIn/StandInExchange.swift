public import Attestation

/// The services that a stand-in for Apple has.
public enum StandInService: String, Sendable, CaseIterable {
    case attestationData = "attestation_data"
    case deviceCheck = "device_check"
}

/// A request that came to a stand-in for Apple.
public struct StandInRequest: Sendable {
    /// The environment. The port tells it, as Apple's host does.
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

/// The reply that a stand-in sends, and how it sends it.
public struct StandInReply: Hashable, Sendable {
    /// The way in which a reply goes wrong.
    public enum Conduct: String, Sendable, CaseIterable {
        case whole
        /// Half of the body comes, then the connection ends.
        case cut
        /// The connection ends before any answer.
        case close
        /// Nothing comes, and the connection stays open.
        case silent
        /// The bytes are no HTTP.
        case garbage
        /// The body never ends.
        case endless
    }

    /// A header field.
    public struct Field: Hashable, Sendable {
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    public var status: Int
    /// Header fields beside those that frame the body.
    public var fields: [Field] = []
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

/// A wrong behaviour of a stand-in for the next requests.
public struct StandInFault: Sendable {
    /// The service that the fault affects, or nil for any.
    public var service: StandInService?
    /// The environment that the fault affects, or nil for any.
    public var environment: AttestEnvironment?
    /// The number of further requests that the fault affects; nil for all until the faults are
    /// cleared.
    public var count: Int?
    /// The reply to send, or nil for the right one.
    public var reply: StandInReply?
    public var conduct = StandInReply.Conduct.whole
    public var delay: Duration = .zero

    public init() {}

    func concerns(_ service: StandInService, _ environment: AttestEnvironment) -> Bool {
        (self.service ?? service) == service && (self.environment ?? environment) == environment
    }
}
