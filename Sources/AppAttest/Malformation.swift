import Bytes
public import CBOR

/// A fault in the structure of an object, found before anything in it is compared or verified.
public enum Malformation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The outer CBOR, or a nested one, is not in the bounded deterministic subset.
    case cbor(CBORError)
    /// A member that must be there is missing or of another type.
    case member(String)
    /// `fmt` is something else than `apple-appattest`.
    case format
    case authenticatorDataTooLong(byteCount: Int)
    /// The authenticator data ends before this part of it does.
    case truncated(AuthenticatorData.Part)
    /// The credential public key is not an EC2 key on P-256 (RFC 9053 section 7.1.1).
    case coseKey
    /// The bytes after the fixed parts are not exactly one map, or a known key has another type.
    case extensions
    case certificateCount(Int)
    /// The element of `x5c` at this index is not a certificate.
    case certificate(index: Int)

    public var description: String {
        switch self {
        case .cbor(let error): "CBOR: \(error)"
        case .member(let name): "member \(name) is missing or of another type"
        case .format: "fmt is not apple-appattest"
        case .authenticatorDataTooLong(let byteCount):
            "\(byteCount) bytes of authenticator data, more than \(AuthenticatorData.byteCountMax)"
        case .truncated(let part): "authenticator data ends inside its \(part.rawValue)"
        case .coseKey: "the credential public key is not a P-256 key"
        case .extensions: "the bytes that follow are not one extension map"
        case .certificateCount(let count): "x5c holds \(String(counting: count, "certificate"))"
        case .certificate(let index): "x5c[\(index)] is not a certificate"
        }
    }
}
