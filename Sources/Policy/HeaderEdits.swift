/// A header that a route writes.
public struct HeaderLine: Hashable, Sendable {
    /// The name as the configuration spells it.
    public var name: String
    public var value: TextTemplate
    /// True if the value came from the environment or a file: it must not be shown.
    public var isSecret: Bool

    public init(name: String, value: TextTemplate, isSecret: Bool = false) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
    }
}

/// A route's changes to the headers of requests, or of responses. No name is in two lists.
public struct HeaderEdits: Hashable, Sendable {
    /// Names to remove, in lower case.
    public var remove: [String] = []
    /// Headers that replace what was sent.
    public var set: [HeaderLine] = []
    /// Headers that are added beside what was sent.
    public var add: [HeaderLine] = []

    public init() {}

    public var isEmpty: Bool { remove.isEmpty && set.isEmpty && add.isEmpty }
}

/// The Host header that an upstream gets.
public enum UpstreamHost: Hashable, Sendable {
    /// The Host that the client sent.
    case preserve
    /// The name and port of the upstream's servers, as the configuration has them.
    case upstream
    case name(String)
}
