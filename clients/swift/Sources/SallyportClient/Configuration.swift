import Foundation

/// A client's knowledge of its gateway. Ask the operator for whatever differs from the defaults.
public struct Configuration: Sendable {
    /// The order in which requests are signed.
    public enum Signing: Sendable, Equatable {
        /// For routes with `replay: strict`: a request is signed after the one before it was
        /// answered, because the gateway accepts only rising counters.
        case inOrder
        /// For routes with `replay: { window: N }`: up to this many requests are under way at once.
        case window(Int)

        var places: Int {
            switch self {
            case .inOrder: 1
            case .window(let size): max(1, size)
            }
        }
    }

    /// The data that is signed.
    public enum Shape: Sendable, Equatable {
        /// JSON in a header, which names method, path, query and the body's digest.
        case header
        /// The body itself, a JSON object; the challenge is its member of this name.
        case body(challengeMember: String)
    }

    /// The treatment of a request that cannot be proved now.
    public enum Unproved: Sendable, Equatable {
        /// The request is not sent.
        case fail
        /// The request is sent without a proof, and the gateway decides.
        case sendUnproved
    }

    /// The names of the request headers: the gateway's setting `headers`.
    public struct HeaderNames: Sendable, Equatable {
        public var assertion = "X-App-Attest-Assertion"
        public var clientData = "X-App-Attest-Client-Data"
        public var keyID = "X-App-Attest-Key-Id"

        public init() {}
    }

    /// The base URL of the gateway's own endpoints: scheme, host, port and `endpoints.base`.
    public var gateway: URL
    public var signing = Signing.inOrder
    public var shape = Shape.header
    public var headers = HeaderNames()
    public var retries = RetryPolicy()
    /// The treatment of a request that cannot be proved now: because the device has no App Attest,
    /// an enrolment has to wait, Apple cannot be reached, or the keychain is locked.
    ///
    /// By default it is sent without a proof. While a roll-out lets installations in step by step,
    /// most of them have no key, and a gateway that observes serves them all. One that enforces
    /// refuses such a request, which then fails with the reason why it has no proof.
    public var whenUnproved = Unproved.sendUnproved
    /// A name of 1 to 128 bytes that this installation keeps when its key changes, so that it keeps
    /// its place while the operator lets installations in step by step.
    public var installation: String?
    /// A token of `sallyport developer-token`, sent if App Attest is not supported: in simulators
    /// and on build machines. Do not ship it in your app.
    public var developerToken: String?
    /// The header that session tokens are bound to: the gateway's setting `session_tokens.bind_to`.
    public var sessionTokenHeader: String?
    /// True to send a DeviceCheck token with an enrolment, for `signals.keys_per_device_bit`.
    public var sendsDeviceToken = false
    /// True to report failures on this device to the gateway: the step, the error's code, the
    /// versions of system and app. Reports help the operator to find out that Apple is down, or
    /// that a release is broken.
    public var reportsFailures = true

    public init(gateway: URL) { self.gateway = gateway }
}
