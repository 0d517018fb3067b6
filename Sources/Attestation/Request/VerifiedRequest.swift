public import Bytes
public import Crypto

/// A request's evidence before its signature is verified.
public struct UnverifiedRequest: Sendable {
    /// The signature that has to be valid.
    public let check: P256Check
    /// The bytes of ``P256Check/bytes`` that the signature covers, which say something. Empty if
    /// they say nothing.
    public let signedRange: Range<Int>

    public init(check: P256Check, signedRange: Range<Int>) {
        self.check = check
        self.signedRange = signedRange
    }
}

/// Evidence whose signature is valid. Only ``SignatureBatch`` makes one.
public struct SignedEvidence: ~Escapable {
    /// The bytes of ``UnverifiedRequest/signedRange``.
    public let bytes: Span<UInt8>
    /// The digest that was signed.
    public let digest: Bytes32

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, digest: Bytes32) {
        self.bytes = bytes
        self.digest = digest
    }
}

/// The property that makes a request impossible to repeat.
public enum Uniqueness: Hashable, Sendable {
    /// The key counts its signatures, and no counter is accepted twice.
    case counter(UInt32)
    /// The key does not count. The challenge that was signed is accepted once. `mark` tells
    /// requests with one challenge apart: it is a part of the digest that was signed.
    case challenge(mark: UInt32)

    /// The number that a store keeps with a spent challenge.
    public var mark: UInt32 {
        switch self {
        case .counter(let counter): counter
        case .challenge(let mark): mark
        }
    }

    /// The counter; nil of a key that does not count.
    public var counter: UInt32? { if case .counter(let counter) = self { counter } else { nil } }
}

/// The content of the signed bytes of a request.
public struct RequestFacts: Hashable, Sendable {
    public let uniqueness: Uniqueness
    /// The app's version and its way onto the device; nil if the platform does not tell.
    public let bundleVersion: String?
    public let validationCategory: UInt32?

    public init(
        _ uniqueness: Uniqueness, bundleVersion: String? = nil, validationCategory: UInt32? = nil
    ) {
        self.uniqueness = uniqueness
        self.bundleVersion = bundleVersion
        self.validationCategory = validationCategory
    }
}

/// A request whose signature and app are right. Only ``SignatureBatch`` makes one, so code that
/// asks for it, such as the step that spends the challenge, cannot run before the verification.
public struct VerifiedRequest: Hashable, Sendable {
    public let facts: RequestFacts

    init(_ facts: RequestFacts) { self.facts = facts }
}
