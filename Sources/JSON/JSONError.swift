/// The reason why a text is not the JSON that was asked for.
///
/// It holds no part of the text, because client data carries challenges, which must not reach a
/// log.
public enum JSONError: Error, Hashable, Sendable {
    /// The text has more bytes than the caller allows.
    case tooLarge(byteCountMax: Int)
    /// Arrays and objects are nested deeper than the caller allows.
    case tooDeep(depthMax: Int)
    /// An object has two members of one name (RFC 8259 section 4 leaves their meaning open).
    case duplicateMember(offset: Int)
    /// An object was asked for, but the text is another value.
    case notAnObject
    /// There is a `\u0000` in a string or a member's name.
    case nulCharacter(offset: Int)
    case notUTF8(offset: Int)
    /// A number fits neither 64 bits nor a double.
    case numberOutOfRange(offset: Int)
    /// The text ends before its value does, or is empty.
    case truncated
    /// There are bytes after the value.
    case trailingBytes(offset: Int)
    case malformed(offset: Int)
    case outOfMemory
}

extension JSONError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooLarge(let byteCountMax): "JSON of more than \(byteCountMax) bytes"
        case .tooDeep(let depthMax): "JSON nested deeper than \(depthMax)"
        case .duplicateMember(let offset): "a duplicate JSON member at byte \(offset)"
        case .notAnObject: "JSON that is not an object"
        case .nulCharacter(let offset): "a NUL character in JSON at byte \(offset)"
        case .notUTF8(let offset): "JSON that is not UTF-8 at byte \(offset)"
        case .numberOutOfRange(let offset): "a JSON number out of range at byte \(offset)"
        case .truncated: "JSON that ends too early"
        case .trailingBytes(let offset): "bytes after the JSON value at byte \(offset)"
        case .malformed(let offset): "malformed JSON at byte \(offset)"
        case .outOfMemory: "no memory for JSON"
        }
    }
}
