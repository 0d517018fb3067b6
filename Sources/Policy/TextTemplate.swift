/// The variables that the operator's texts may hold.
public enum TextVariable: String, Sendable, CaseIterable {
    /// The address of the peer that connects to the listener.
    case clientAddress = "client_address"
    case requestID = "request_id"
    /// The host as received, without the port.
    case host
    /// The key id of a verified request in base64; otherwise nothing.
    case keyID = "key_id"
    /// Path and query as received.
    case target
    /// The path as received.
    case path
    /// The query with its `?`, or nothing if there is none.
    case query
    /// The part of the path below the route's prefix, as received, without the slash before it.
    case rest
}

/// A text with places for parts of a request.
public struct TextTemplate: Hashable, Sendable {
    public enum Piece: Hashable, Sendable {
        case literal(String)
        case variable(TextVariable)
    }

    public enum Fault: Error, Equatable {
        /// There is a `{` without a `}`.
        case unclosed
        case unknown(String)
    }

    /// The pieces. No two literals are neighbours.
    public private(set) var pieces: [Piece] = []

    public init(literal: String) { pieces = literal.isEmpty ? [] : [.literal(literal)] }

    /// Parses `literal {variable} literal`; `{{` stands for `{`.
    public init(_ text: String, variables: [TextVariable]) throws(Fault) {
        var literal = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            guard character == "{" else {
                literal.append(character)
                continue
            }
            if rest.first == "{" {
                rest.removeFirst()
                literal.append("{")
                continue
            }
            guard let end = rest.firstIndex(of: "}") else { throw .unclosed }
            let name = String(rest[..<end])
            guard let variable = variables.first(where: { $0.rawValue == name }) else {
                throw .unknown(name)
            }
            rest = rest[rest.index(after: end)...]
            if !literal.isEmpty { pieces.append(.literal(literal)) }
            literal = ""
            pieces.append(.variable(variable))
        }
        if !literal.isEmpty { pieces.append(.literal(literal)) }
    }

    /// The template as the configuration writes it.
    public var description: String {
        pieces.map { piece in
            switch piece {
            case .literal(let text): text.replacing("{", with: "{{")
            case .variable(let variable): "{\(variable.rawValue)}"
            }
        }.joined()
    }
}
