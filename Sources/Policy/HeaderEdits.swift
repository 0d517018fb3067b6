/// A header that a route writes.
public struct HeaderLine: Hashable, Sendable {
    /// The name as the configuration spells it.
    public var name: String
    public var value: TextTemplate
    /// True if the value came from the environment or a file: it must not be shown.
    public var isSecret: Bool
    /// The value as the configuration writes it, if a part of it is the text of a file.
    public var source: String?
    /// The paths of those files.
    public var files: [String]

    public init(
        name: String, value: TextTemplate, isSecret: Bool = false, source: String? = nil,
        files: [String] = []
    ) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
        self.source = source
        self.files = files
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
    /// The names among ``credentialNames``, in lower case, that clients may send although the route
    /// adds a credential of its own.
    public var keep: [String] = []

    public init() {}

    public var isEmpty: Bool { remove.isEmpty && set.isEmpty && add.isEmpty }

    /// The headers by which clients log in to APIs with a key.
    public static let credentialNames = ["authorization", "api-key", "x-api-key", "x-goog-api-key"]

    /// The files whose texts are parts of values.
    public var files: [String] { (set + add).flatMap(\.files) }

    /// The headers of clients that a route with a credential of its own removes. The upstream would
    /// have to choose between two credentials.
    public var withheldNames: [String] {
        files.isEmpty ? [] : Self.credentialNames.filter { !keep.contains($0) }
    }
}

/// The Host header that an upstream gets.
public enum UpstreamHost: Hashable, Sendable {
    /// The Host that the client sent.
    case preserve
    /// The name and port of the upstream's servers, as the configuration has them.
    case upstream
    case name(String)
}
