/// A configuration that parses but cannot be run.
public struct ConfigurationFailure: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
