/// Why OpenSSL, or a check around it, refused.
///
/// The text is for an operator's log: the step and OpenSSL's reason strings, never key material.
public enum CryptoError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input is not what its name says: wrong DER, wrong PEM, too large, a point off the curve.
    case malformed(String)
    /// A step failed that valid input does not make fail: no memory, no provider.
    case failed(String)

    public var description: String {
        switch self {
        case .malformed(let reason): "malformed \(reason)"
        case .failed(let reason): "\(reason) failed"
        }
    }
}
