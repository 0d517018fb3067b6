/// A place in a YAML text in the numbering of editors: both numbers start at 1, and columns count
/// characters.
public struct YAMLMark: Hashable, Sendable, Comparable {
    public let line: Int
    public let column: Int

    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    public static func < (left: YAMLMark, right: YAMLMark) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A part of a YAML document, with the place of its beginning.
public struct YAMLNode: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// The text after YAML's own escapes; `isPlain` if it was not quoted.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        /// A mapping, in the order of the text. Keys are scalars, and one may occur twice.
        case mapping([YAMLEntry])
    }

    public let kind: Kind
    public let mark: YAMLMark

    public init(kind: Kind, mark: YAMLMark) {
        self.kind = kind
        self.mark = mark
    }
}

/// One key of a mapping and its value.
public struct YAMLEntry: Hashable, Sendable {
    public let key: String
    public let keyMark: YAMLMark
    public let value: YAMLNode

    public init(key: String, keyMark: YAMLMark, value: YAMLNode) {
        self.key = key
        self.keyMark = keyMark
        self.value = value
    }
}
