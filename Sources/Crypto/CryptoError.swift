/// The reason why OpenSSL, or a check around it, refused its input.
///
/// The text is for an operator's log: the step and OpenSSL's reason strings, never key material.
public enum CryptoError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input has not the form that it must have: wrong DER, wrong PEM, too large, a point off
    /// the curve.
    case malformed(String)
    /// A step failed that does not fail because of valid input: no memory, no provider.
    case failed(String)

    public var description: String {
        switch self {
        case .malformed(let reason): "malformed \(reason)"
        case .failed(let reason): "\(reason) failed"
        }
    }
}
