import Attestation
import Bytes
import KeyStore

/// How far the gateway has come with a token of DeviceCheck.
enum DeviceTokenProof {
    /// The header is there.
    case announced
    /// The token was decoded; 128 bits of its SHA-256 are its id. The stores and Apple are asked
    /// about it.
    case read(Bytes16)
    /// Apple knows the device. The bits are there if the gateway asked for them.
    case genuine(Bytes16, AttestEnvironment, DeviceBits?)

    /// The id by which the stores remember the token.
    var id: Bytes16? {
        switch self {
        case .announced: nil
        case .read(let id), .genuine(let id, _, _): id
        }
    }

    /// Apple's environment; nil until Apple knows the device.
    var environment: AttestEnvironment? {
        if case .genuine(_, let environment, _) = self { environment } else { nil }
    }

    var bits: DeviceBits? {
        if case .genuine(_, _, let bits) = self { bits } else { nil }
    }
}
