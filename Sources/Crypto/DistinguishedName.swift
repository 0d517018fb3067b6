/// A name to be written into a certificate: attribute types (`CN`, `O`, `OU`, `ST`, `C`) and their
/// values, in order.
public struct DistinguishedName: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    public struct Attribute: Hashable, Sendable {
        public let type: String
        public let value: String

        public init(type: String, value: String) {
            self.type = type
            self.value = value
        }
    }

    public var attributes: [Attribute]

    public init(dictionaryLiteral elements: (String, String)...) {
        attributes = elements.map { Attribute(type: $0.0, value: $0.1) }
    }
}
