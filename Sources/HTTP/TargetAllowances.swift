/// Spellings of a request target on which servers disagree; each is refused unless it is allowed.
public struct TargetAllowances: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `.` and `..` segments, plain or percent-encoded.
    public static let dotSegments = TargetAllowances(rawValue: 1 << 0)
    /// `//` inside the path.
    public static let emptySegments = TargetAllowances(rawValue: 1 << 1)
    /// `%2F`.
    public static let encodedSlash = TargetAllowances(rawValue: 1 << 2)
    /// `%5C` and a raw backslash.
    public static let backslash = TargetAllowances(rawValue: 1 << 3)
    /// `;` parameters on a route with an attest mode other than `off`.
    public static let pathParameters = TargetAllowances(rawValue: 1 << 4)
    /// `%01` to `%1F` and `%7F`.
    public static let encodedControl = TargetAllowances(rawValue: 1 << 5)
}
