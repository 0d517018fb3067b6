public import Bytes
public import Crypto
public import JSON

/// What vouches for keys, such as Apple's App Attest: how a key enrols, and what a request of an
/// enrolled key has to bring.
///
/// A platform is made once for a configuration, and knows its own apps. It does no I/O and takes
/// the time as an argument. All platforms have the same client data, challenges, stores, policies
/// and refusals; only what differs between them is here.
public protocol Platform: AnyObject, Sendable {
    var name: PlatformName { get }

    /// The evidence in the body of an enrolment: a JSON object that holds `key_id`, `challenge` and
    /// members of the platform's own.
    func evidence(
        in members: borrowing JSONObjectReader
    ) throws(EnrolmentFormFailure) -> EnrolmentEvidence

    /// Verifies an enrolment at `seconds` since 1970.
    func verify(
        _ request: EnrolmentRequest, at seconds: Int64
    ) throws(PlatformFailure) -> VerifiedEnrolment

    /// Throws if `evidence`, as a request brings it, does not have the form of this platform's. It
    /// is called before the request's body and key are known.
    func checkForm(of evidence: Span<UInt8>) throws(PlatformFailure)

    /// Finds in `evidence` what `publicKey` has to have signed. `clientDataHash` is the SHA-256 of
    /// the client data.
    func unverified(
        _ evidence: [UInt8], clientDataHash: Bytes32, publicKey: P256PublicKey
    ) throws(PlatformFailure) -> UnverifiedRequest

    /// Reads what the evidence says, whose signature is valid. `appDigest` is the
    /// ``AppIdentity/idDigest`` of the app that the key was enrolled for.
    func facts(
        of evidence: borrowing SignedEvidence, appDigest: Bytes32
    ) throws(PlatformFailure) -> RequestFacts
}

/// A detail of a platform's enrolments that a metric counts by its value.
public struct CountedDetail: Sendable {
    /// The name of the detail, whose values are words.
    public let name: String
    /// The metric's name, the label with the value, and the description.
    public let metric: String
    public let label: String
    public let help: String

    public init(name: String, metric: String, label: String, help: String) {
        self.name = name
        self.metric = metric
        self.label = label
        self.help = help
    }
}
