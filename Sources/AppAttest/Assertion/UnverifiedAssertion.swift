import CBOR

/// An assertion as it came: its two parts, in place, not verified.
///
/// CBOR `{signature: DER ECDSA, authenticatorData: bytes}`. Other top-level members (`cdHash` is
/// one) are not covered by any signature: tolerated, never looked at.
public struct UnverifiedAssertion: ~Escapable {
    /// The signature in DER, not yet decoded.
    public let signature: Span<UInt8>
    /// The exact bytes that were signed.
    public let authenticatorData: Span<UInt8>

    /// The most bytes of an assertion. Real ones have about 150.
    public static let byteCountMax = 4096
    private static let limits = CBORLimits(byteCountMax: byteCountMax, depthMax: 4)

    /// Finds the parts. The authenticator data is not read before its signature is verified.
    @_lifetime(copy object)
    public init(parsing object: Span<UInt8>) throws(AssertionFailure) {
        let places = try Self.places(in: object)
        signature = object.extracting(places.signature)
        authenticatorData = object.extracting(places.authenticatorData)
    }

    /// The ranges of the signature and of the authenticator data in `object`.
    static func places(
        in object: Span<UInt8>
    ) throws(AssertionFailure) -> (signature: Range<Int>, authenticatorData: Range<Int>) {
        let parts: (signature: Range<Int>?, authenticatorData: Range<Int>?)
        do {
            parts = try Self.parts(of: object)
        } catch {
            throw .malformed(.cbor(error))
        }
        guard let signature = parts.signature else { throw .malformed(.member("signature")) }
        guard let authenticatorData = parts.authenticatorData else {
            throw .malformed(.member("authenticatorData"))
        }
        return (signature, authenticatorData)
    }

    private static func parts(
        of object: Span<UInt8>
    ) throws(CBORError) -> (signature: Range<Int>?, authenticatorData: Range<Int>?) {
        var reader = try CBORReader(object, limits: limits)
        var signature: Range<Int>?
        var authenticatorData: Range<Int>?
        for _ in 0..<(try reader.readMapCount()) {
            let key = try reader.readTextKey()
            if let key, key.isText("signature") {
                signature = try reader.readBytesRange()
            } else if let key, key.isText("authenticatorData") {
                authenticatorData = try reader.readBytesRange()
            } else {
                try reader.readItem()
            }
        }
        return (signature, authenticatorData)
    }
}
