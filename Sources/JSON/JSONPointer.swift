/// A JSON Pointer (RFC 6901): the place of a value in a JSON text.
public struct JSONPointer: Hashable, Sendable {
    struct Token: Hashable, Sendable {
        /// The name of a member, without escapes.
        let name: [UInt8]
        /// The index of an element; nil if the token can only be a name.
        let index: Int?

        init(_ name: [UInt8]) {
            self.name = name
            // RFC 6901 section 4 allows no leading zero, and `Int` would also take a sign.
            let isIndex =
                !name.isEmpty && name.allSatisfy { (0x30...0x39).contains($0) }
                && (name.count == 1 || name[0] != 0x30)
            index = isIndex ? Int(String(decoding: name, as: UTF8.self)) : nil
        }
    }

    let tokens: [Token]

    /// The number of tokens: 0 for the whole text, 1 for a member of the outermost object.
    public var tokenCount: Int { tokens.count }

    /// Nil if the text is not a pointer: it neither is empty nor begins with `/`, or a `~` in it is
    /// not followed by `0` or `1`.
    public init?(_ text: String) {
        guard let first = text.utf8.first else {
            tokens = []
            return
        }
        guard first == UInt8(ascii: "/") else { return nil }
        var tokens: [Token] = []
        let parts = text.utf8.dropFirst()
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for part in parts {
            guard let name = Self.unescape(part) else { return nil }
            tokens.append(Token(name))
        }
        self.tokens = tokens
    }

    /// A pointer to the member `name` of the outermost object.
    public init(name: [UInt8]) { tokens = [Token(name)] }

    private static func unescape(_ text: Substring.UTF8View) -> [UInt8]? {
        var name: [UInt8] = []
        name.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                name.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): name.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): name.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return name
    }
}

extension JSONPointer: CustomStringConvertible {
    public var description: String {
        tokens.map { token in
            "/"
                + String(decoding: token.name, as: UTF8.self)
                .replacing("~", with: "~0").replacing("/", with: "~1")
        }.joined()
    }
}
