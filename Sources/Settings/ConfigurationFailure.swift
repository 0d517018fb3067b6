/// A configuration that parses but cannot be run.
public struct ConfigurationFailure: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String
    /// Whether a restart takes what a reload refuses.
    public let needsRestart: Bool

    public init(_ description: String, needsRestart: Bool = false) {
        self.description = description
        self.needsRestart = needsRestart
    }
}
