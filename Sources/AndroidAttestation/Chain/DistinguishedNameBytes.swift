import Bytes
import DER

/// A name in a certificate as its bytes: names chain if the bytes are equal.
struct DistinguishedNameBytes: Hashable, Sendable {
    /// The Name (RFC 5280 section 4.1.2.4) with its tag and length.
    let encoded: [UInt8]

    /// The values of all attributes, or of those with this OBJECT IDENTIFIER, as text. What cannot
    /// be read is left out.
    func values(_ oid: [UInt8]? = nil) -> [String] {
        var outer = DERReader(encoded.span)
        guard let content = outer.read(.sequence) else { return [] }
        var sets = DERReader(content)
        var values: [String] = []
        while !sets.isAtEnd {
            guard let set = sets.read(.set) else { break }
            var attributes = DERReader(set)
            while !attributes.isAtEnd {
                guard let attribute = attributes.read(.sequence) else { break }
                var parts = DERReader(attribute)
                guard let type = parts.read(.objectIdentifier), let value = parts.readElement(),
                    oid.map({ ASCII.equals(type, $0) }) ?? true
                else { continue }
                values.append(String(decoding: value.content.array, as: UTF8.self))
            }
        }
        return values
    }
}
