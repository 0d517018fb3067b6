public import Attestation
public import Bytes

extension AttestEnvironment {
    /// The environment that an AAGUID names; nil if the AAGUID is not one of Apple's.
    ///
    /// `appattestsandbox` stands in Apple's text, but in no object seen so far. It counts as
    /// development, the environment that is trusted less: an app that accepts only production never
    /// accepts it, and a device that does send it can be used for tests.
    public init?(aaguid: Bytes16) {
        switch aaguid {
        case AAGUID.production: self = .production
        case AAGUID.development, AAGUID.sandbox: self = .development
        default: return nil
        }
    }
}

/// The identifiers of Apple's attestation services: sixteen ASCII bytes each.
public enum AAGUID {
    /// `appattest` and seven zero bytes.
    public static let production = Bytes16(
        word0: 0x6170_7061_7474_6573, word1: 0x7400_0000_0000_0000)
    /// `appattestdevelop`.
    public static let development = Bytes16(
        word0: 0x6170_7061_7474_6573, word1: 0x7464_6576_656C_6F70)
    /// `appattestsandbox`.
    public static let sandbox = Bytes16(
        word0: 0x6170_7061_7474_6573, word1: 0x7473_616E_6462_6F78)
}
