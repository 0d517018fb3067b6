/// The reason why bytes are not the expected CBOR, with the place.
public struct CBORError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Reason: String, Sendable {
        case truncated
        case trailingBytes = "trailing bytes"
        case tooLong = "too long"
        case tooDeep = "nested too deep"
        case tooManyEntries = "too many map entries"
        case indefiniteLength = "indefinite length"
        case notShortest = "not the shortest form"
        case reserved = "reserved initial byte"
        case tag
        case float
        case simpleValue = "simple value"
        case keyType = "map key is neither an integer nor a string"
        case duplicateKey = "duplicate map key"
        case invalidUTF8 = "invalid UTF-8"
        case unexpectedType = "unexpected type"
        case integerRange = "integer out of range"
    }

    public let reason: Reason
    /// The offset of the faulty item, from the start of the reader's bytes.
    public let offset: Int

    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    public var description: String { "\(reason.rawValue) at byte \(offset)" }
}
