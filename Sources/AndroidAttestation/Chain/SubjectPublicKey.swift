import Bytes
import Crypto
import DER

/// The public key of a certificate, read and not yet checked to be a point of its curve.
enum SubjectPublicKey: Hashable, Sendable {
    case rsa(modulus: [UInt8], exponent: [UInt8])
    /// An uncompressed point: X and Y have 32 or 48 bytes each.
    case p256(x: [UInt8], y: [UInt8])
    case p384(x: [UInt8], y: [UInt8])
    /// Any other kind of key, or one in another form.
    case other

    /// Reads a SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7).
    init(_ info: Span<UInt8>) {
        self = Self.rsa(info) ?? Self.ec(info) ?? .other
    }

    /// The key on P-256; nil for any other kind.
    var p256: P256PublicKey? {
        guard case .p256(let x, let y) = self, let x = Bytes32(x), let y = Bytes32(y) else {
            return nil
        }
        return P256PublicKey(x: x, y: y)
    }

    /// The key as OpenSSL checks signatures with it; nil if it may not issue certificates: RSA
    /// below 2048 bits, a point that is not on its curve, any other kind.
    func issuerKey() -> TokenKey? {
        switch self {
        case .rsa(let modulus, let exponent):
            try? TokenKey(modulus: modulus, exponent: exponent)
        case .p256(let x, let y): try? TokenKey(.p256, x: x, y: y)
        case .p384(let x, let y): try? TokenKey(.p384, x: x, y: y)
        case .other: nil
        }
    }

    /// True if a certificate with this key may issue others, as far as can be told cheaply.
    var mayIssue: Bool {
        switch self {
        case .rsa(let modulus, _):
            let bitCount = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
            return TokenKey.modulusBitCounts.contains(bitCount)
        case .p256, .p384: return true
        case .other: return false
        }
    }

    private static func parts(
        _ info: Span<UInt8>, algorithm oid: [UInt8]
    ) -> (parameters: [UInt8], key: [UInt8])? {
        var outer = DERReader(info)
        guard let content = outer.read(.sequence), outer.isAtEnd else { return nil }
        var parts = DERReader(content)
        guard let algorithm = parts.read(.sequence), let key = parts.read(.bitString),
            parts.isAtEnd, key.count > 1, key[0] == 0
        else { return nil }
        var identifier = DERReader(algorithm)
        guard let type = identifier.read(.objectIdentifier), ASCII.equals(type, oid),
            let parameters = identifier.readElement(), identifier.isAtEnd,
            parameters.tag == (oid == ObjectIdentifiers.rsaEncryption ? .null : .objectIdentifier)
        else { return nil }
        return (parameters.content.array, key.extracting(1..<key.count).array)
    }

    private static func rsa(_ info: Span<UInt8>) -> SubjectPublicKey? {
        guard let (parameters, key) = parts(info, algorithm: ObjectIdentifiers.rsaEncryption),
            parameters.isEmpty
        else { return nil }
        var outer = DERReader(key.span)
        guard let content = outer.read(.sequence), outer.isAtEnd else { return nil }
        var numbers = DERReader(content)
        guard let modulus = readPositive(&numbers), let exponent = readPositive(&numbers),
            numbers.isAtEnd
        else { return nil }
        return .rsa(modulus: modulus, exponent: exponent)
    }

    /// The bytes of a number above zero in its shortest form, without a leading zero.
    private static func readPositive(_ reader: inout DERReader) -> [UInt8]? {
        guard let content = reader.read(.integer), !content.isEmpty, content[0] < 0x80 else {
            return nil
        }
        guard content[0] == 0 else { return content.array }
        guard content.count > 1, content[1] >= 0x80 else { return nil }
        return content.extracting(1..<content.count).array
    }

    private static func ec(_ info: Span<UInt8>) -> SubjectPublicKey? {
        guard let (curve, point) = parts(info, algorithm: ObjectIdentifiers.ecPublicKey),
            point.first == 0x04
        else { return nil }
        let coordinates = point.dropFirst()
        let half = coordinates.count / 2
        let x = Array(coordinates.prefix(half))
        let y = Array(coordinates.dropFirst(half))
        switch (curve, coordinates.count) {
        case (ObjectIdentifiers.p256, 64): return .p256(x: x, y: y)
        case (ObjectIdentifiers.p384, 96): return .p384(x: x, y: y)
        default: return nil
        }
    }
}
