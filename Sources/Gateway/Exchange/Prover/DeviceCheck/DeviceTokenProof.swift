import AppAttest
import Bytes
import KeyStore

/// How far the gateway has come with a token of DeviceCheck.
enum DeviceTokenProof {
    /// The header is there.
    case announced
    /// Decoded, and known by 128 bits of its SHA-256; stores and Apple are asked about it.
    case read(Bytes16)
    /// Apple knows the device; the bits where they were asked for.
    case genuine(Bytes16, AttestEnvironment, DeviceBits?)

    /// The ID by which the token is remembered.
    var id: Bytes16? {
        switch self {
        case .announced: nil
        case .read(let id), .genuine(let id, _, _): id
        }
    }

    /// The environment, once Apple knows the device.
    var environment: AttestEnvironment? {
        if case .genuine(_, let environment, _) = self { environment } else { nil }
    }

    var bits: DeviceBits? {
        if case .genuine(_, _, let bits) = self { bits } else { nil }
    }
}
