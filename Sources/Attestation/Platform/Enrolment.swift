public import Bytes
public import Crypto

/// The evidence of an enrolment, decoded and not verified: one object, or a chain of them.
public struct EnrolmentEvidence: Sendable {
    public let objects: [[UInt8]]

    public init(_ objects: [[UInt8]]) { self.objects = objects }
}

/// A key that asks to be enrolled.
public struct EnrolmentRequest: Sendable {
    /// The key id that the client names.
    public let keyID: KeyID
    public let evidence: EnrolmentEvidence
    /// The challenge's bytes as the client has most probably used them.
    public let challenge: [UInt8]
    /// The other bytes that the client may have used, if the challenge has two spellings.
    public let otherChallenge: [UInt8]?

    public init(
        keyID: KeyID, evidence: EnrolmentEvidence, challenge: [UInt8], otherChallenge: [UInt8]?
    ) {
        self.keyID = keyID
        self.evidence = evidence
        self.challenge = challenge
        self.otherChallenge = otherChallenge
    }
}

/// A key that a platform vouches for. Only its verifier should make one.
public struct VerifiedEnrolment: Sendable {
    public let keyID: KeyID
    public let publicKey: P256PublicKey
    public let app: AppIdentity
    public let environment: AttestEnvironment
    /// The place in which the key is kept; nil if the platform has only one.
    public var securityLevel: SecurityLevel?
    /// The app's version and its way onto the device; nil if the evidence does not tell.
    public var bundleVersion: String?
    public var validationCategory: UInt32?
    /// Evidence that is renewed later; nil if the platform has none.
    public var receipt: Receipt?
    /// The serial numbers of the certificates that vouch for the key, in lower-case hexadecimal
    /// without leading zeros; empty if none of them can be withdrawn.
    public var certificates: [String] = []
    /// The certificate whose key has signed that of the enrolled key; nil if the platform does not
    /// count enrolments under it.
    public var attestationCertificate: AttestationCertificate?
    /// Facts for the log.
    public var details: [EnrolmentDetail] = []
    /// A fault in a part of the evidence that enrolment does not depend on. It is logged.
    public var flaw: PlatformFailure?

    public init(
        keyID: KeyID, publicKey: P256PublicKey, app: AppIdentity, environment: AttestEnvironment
    ) {
        self.keyID = keyID
        self.publicKey = publicKey
        self.app = app
        self.environment = environment
    }
}

/// A certificate that vouches for the keys of one phone, or of all phones of a batch.
public struct AttestationCertificate: Hashable, Sendable {
    /// The serial number, in lower-case hexadecimal without leading zeros, for the log. It is
    /// unique only among the certificates of one issuer.
    public let serial: String
    /// The SHA-256 of the SubjectPublicKeyInfo, by which enrolments are counted. What leaks is the
    /// private key, and its thief may have several certificates of it, but no other key.
    public let keyDigest: Bytes32

    public init(serial: String, keyDigest: Bytes32) {
        self.serial = serial
        self.keyDigest = keyDigest
    }
}

/// A fact about the device that enrolled, which is logged.
public struct EnrolmentDetail: Hashable, Sendable {
    /// The value, by its JSON type.
    public enum Value: Hashable, Sendable {
        /// One of a few words, which are counted too.
        case word(String)
        case number(UInt64)
    }

    /// The name of the log line's member.
    public let name: String
    public let value: Value

    public init(name: String, value: Value) {
        self.name = name
        self.value = value
    }
}

/// A fault in the form of an enrolment's body, with a sentence for the client.
public enum EnrolmentFormFailure: Error, Sendable {
    /// A member is missing or of another type.
    case members(StaticString)
    /// A member is not base64.
    case base64(StaticString)
}
