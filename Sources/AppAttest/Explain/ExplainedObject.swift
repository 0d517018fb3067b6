public import Attestation

/// An object of App Attest's, as the `explain` command names it.
///
/// What has to be given for `valid`:
/// - for an attestation the challenge or client data hash (without it, the object may be a copy of
///   another device's),
/// - for an assertion the client data or its hash, and the public key,
/// - for a receipt nothing.
///
/// App id, key id and environment are compared if they are given.
public enum ExplainedObject: String, Sendable, CaseIterable {
    case attestation
    case assertion
    case receipt

    /// Explains `object`, which should be of this kind.
    public func explanation(
        of object: [UInt8], expecting expected: Expectations
    ) -> Explanation {
        switch self {
        case .attestation: .attestation(object, expecting: expected)
        case .assertion: .assertion(object, expecting: expected)
        case .receipt: .receipt(object, expecting: expected)
        }
    }
}
