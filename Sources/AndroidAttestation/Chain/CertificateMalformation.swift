/// The reason why a certificate of a chain was not read.
public enum CertificateMalformation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The certificate has more bytes than ``AndroidAttestationVerifier/certificateByteCountMax``.
    case tooLong(byteCount: Int)
    /// The bytes are not exactly one X.509 certificate of version 3 in DER.
    case structure
    /// The serial number is negative, or longer than the 20 bytes of RFC 5280 section 4.1.2.2.
    case serialNumber
    /// A time of an issuer's validity is not one of RFC 5280 section 4.1.2.5.
    case validity
    /// The signed part names another algorithm than the signature.
    case algorithm
    /// An extension is malformed or occurs twice.
    case extensions
    /// An extension that is not known here is marked as critical.
    case criticalExtension
    /// The extension of remote provisioning does not hold the CBOR that it must.
    case provisioningInfo

    public var description: String {
        switch self {
        case .tooLong(let byteCount):
            "it has \(byteCount) bytes, more than "
                + "\(AndroidAttestationVerifier.certificateByteCountMax)"
        case .structure: "it is not one X.509 certificate of version 3 in DER"
        case .serialNumber: "its serial number is negative or too long"
        case .validity: "a time of its validity is malformed"
        case .algorithm: "it names two algorithms of its signature"
        case .extensions: "its extensions are malformed"
        case .criticalExtension: "it has an unknown critical extension"
        case .provisioningInfo: "its provisioning extension is malformed"
        }
    }
}
