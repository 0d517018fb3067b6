public import AttestationTesting
import Bytes
import Crypto

/// The faults that the signature of one request can have. Each is its only fault.
public enum PhoneSignatureFault: String, Sendable, CaseIterable {
    case otherKey
    case otherClientData
    /// The app has hashed the client data, and ECDSA hashes it once more.
    case hashedTwice
    /// The signature is `r || s` instead of DER.
    case rawSignature
    case signatureTrailingByte
    case cutShort
    case empty
}

extension SimulatedPhone {
    /// The signature of a request, with one fault.
    public func sign(
        clientData: [UInt8], fault: PhoneSignatureFault
    ) throws(SimulationError) -> [UInt8] {
        switch fault {
        case .otherKey:
            let other = try SimulatedPhone(profile)
            return try other.sign(clientData: clientData)
        case .otherClientData: return try sign(clientData: clientData + [0x20])
        case .hashedTwice: return try sign(clientData: SHA256.hash(clientData).array)
        case .rawSignature:
            let signature = try SimulationError.wrap { () throws(CryptoError) in
                try key.signature(of: clientData)
            }
            return signature.r.array + signature.s.array
        case .signatureTrailingByte: return try sign(clientData: clientData) + [0]
        case .cutShort: return Array(try sign(clientData: clientData).dropLast())
        case .empty: return []
        }
    }
}
