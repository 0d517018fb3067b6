/// The name of what vouches for a key: in enrolments, records, logs and metrics.
public struct PlatformName: Hashable, Sendable, CustomStringConvertible {
    /// A word of lower-case letters.
    public let text: String

    public init(_ text: String) { self.text = text }

    public var description: String { text }

    /// Apple's App Attest, and the platform of records and requests that name none.
    public static let apple = PlatformName("apple")
}
