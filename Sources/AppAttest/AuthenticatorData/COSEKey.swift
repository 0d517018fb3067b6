import Bytes
import CBOR
import Crypto

/// The COSE form of a P-256 key (RFC 9052 section 7, RFC 9053 section 7.1.1).
enum COSEKey {
    /// Parses the point. Other labels are skipped, because the point is compared with the
    /// certificate's.
    static func parse(_ bytes: Span<UInt8>) throws(Malformation) -> P256PublicKey {
        do throws(CBORError) {
            var reader = try CBORReader(bytes, limits: AuthenticatorData.limits)
            if let key = try read(&reader) { return key }
        } catch {
            guard error.reason == .unexpectedType || error.reason == .integerRange else {
                throw .cbor(error)
            }
        }
        throw .coseKey
    }

    private static func read(_ reader: inout CBORReader) throws(CBORError) -> P256PublicKey? {
        var keyType: Int64?
        var algorithm: Int64?
        var curve: Int64?
        var x: Bytes32?
        var y: Bytes32?
        for _ in 0..<(try reader.readMapCount()) {
            switch try label(&reader) {
            case 1: keyType = try reader.readInteger()
            case 3: algorithm = try reader.readInteger()
            case -1: curve = try reader.readInteger()
            case -2: x = Bytes32(try reader.readBytes())
            case -3: y = Bytes32(try reader.readBytes())
            default: try reader.readItem()
            }
        }
        guard keyType == 2, algorithm == -7, curve == 1, let x, let y else { return nil }
        return P256PublicKey(x: x, y: y)
    }

    /// The label of the next entry. Nil for a label that is a string; it is skipped.
    private static func label(_ reader: inout CBORReader) throws(CBORError) -> Int64? {
        switch try reader.peekKind() {
        case .unsigned, .negative: return try reader.readInteger()
        default:
            try reader.readItem()
            return nil
        }
    }
}
