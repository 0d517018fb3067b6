/// The reason why a text is not an accepted document, with the place.
public struct YAMLError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Reason: Hashable, Sendable {
        case tooLarge(byteCountMax: Int)
        case tooDeep(depthMax: Int)
        case notUTF8
        /// The text holds no document, or an empty one.
        case empty
        case secondDocument
        case anchor
        case alias
        case tag
        case directive
        case mergeKey
        /// A key is a list or a mapping.
        case complexKey
        case tabIndentation
        /// A syntax error, in the parser's words.
        case syntax(String)
        case outOfMemory
    }

    public let reason: Reason
    public let mark: YAMLMark

    public init(_ reason: Reason, at mark: YAMLMark) {
        self.reason = reason
        self.mark = mark
    }

    /// The reason alone, for callers that print the place themselves.
    public var message: String {
        switch reason {
        case .tooLarge(let byteCountMax): "more than \(byteCountMax) bytes"
        case .tooDeep(let depthMax): "nested deeper than \(depthMax) levels"
        case .notUTF8: "not UTF-8, or a control character"
        case .empty: "the document is empty"
        case .secondDocument: "a second document: the file must hold one"
        case .anchor: "anchors (&name) are not supported"
        case .alias: "aliases (*name) are not supported; quote a text that begins with *"
        case .tag: "tags (!name) are not supported; quote a text that begins with !"
        case .directive: "directives (%NAME) are not supported"
        case .mergeKey: "merge keys (<<) are not supported"
        case .complexKey: "a key must be a text, not a list or a mapping"
        case .tabIndentation: "a tab cannot indent YAML; use spaces"
        case .syntax(let problem): "YAML syntax: \(problem)"
        case .outOfMemory: "no memory"
        }
    }

    public var description: String { "\(mark.line):\(mark.column): \(message)" }
}
