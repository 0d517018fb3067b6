/// The place that keeps a key, or that vouches for one.
public enum AndroidSecurityLevel: Int64, Hashable, Sendable, CaseIterable, Comparable {
    /// The system's own memory. Such keys are explained, and never enrolled.
    case software = 0
    /// The trusted execution environment of the main processor.
    case trustedEnvironment = 1
    /// A secure element beside the main processor.
    case strongBox = 2

    /// The word in configurations, logs and answers: `software`, `tee` or `strongbox`.
    public var name: String {
        switch self {
        case .software: "software"
        case .trustedEnvironment: "tee"
        case .strongBox: "strongbox"
        }
    }

    /// The level with this ``name``; nil for any other word.
    public init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
