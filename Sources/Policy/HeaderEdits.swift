/// A header that a route writes.
public struct HeaderLine: Hashable, Sendable {
    /// As the configuration spells it.
    public var name: String
    public var value: TextTemplate
    /// Came from the environment or a file: not to be shown.
    public var isSecret: Bool

    public init(name: String, value: TextTemplate, isSecret: Bool = false) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
    }
}

/// What a route changes about the headers of requests, or of answers. No name is in two lists.
public struct HeaderEdits: Hashable, Sendable {
    /// In lower case.
    public var remove: [String] = []
    /// In place of what was sent.
    public var set: [HeaderLine] = []
    /// Beside what was sent.
    public var add: [HeaderLine] = []

    public init() {}

    public var isEmpty: Bool { remove.isEmpty && set.isEmpty && add.isEmpty }
}

/// The Host that an upstream gets.
public enum UpstreamHost: Hashable, Sendable {
    /// The client's.
    case preserve
    /// The name and port of the upstream's servers, as the configuration has them.
    case upstream
    case name(String)
}
