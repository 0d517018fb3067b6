/// The environments of Apple that a key may be from.
public struct KeyEnvironments: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let production = KeyEnvironments(rawValue: 1)
    public static let development = KeyEnvironments(rawValue: 2)
    public static let all: KeyEnvironments = [.production, .development]
}

/// The ways in which an app may have come onto a device, by Apple's numbers (iOS 27).
public struct AppCategories: Hashable, Sendable {
    /// A bit for each known number, one for all others, and one for none.
    private var mask: UInt32

    /// The numbers up to this one can be told apart.
    public static let numberMax: UInt32 = 29
    private static let otherBit: UInt32 = 1 << 30
    private static let missingBit: UInt32 = 1 << 31

    public static let all = AppCategories(mask: .max)

    private init(mask: UInt32) { self.mask = mask }

    /// - Parameter orMissing: true to accept apps that do not report their category, which are all
    ///   before iOS 27.
    public init(_ numbers: [UInt32], orMissing: Bool) {
        mask = orMissing ? Self.missingBit : 0
        for number in numbers where number <= Self.numberMax { mask |= 1 << number }
    }

    public func contains(_ number: UInt32?) -> Bool {
        guard let number else { return takesMissing }
        return mask & (number <= Self.numberMax ? 1 << number : Self.otherBit) != 0
    }

    public var takesMissing: Bool { mask & Self.missingBit != 0 }

    public func isSubset(of other: AppCategories) -> Bool { mask & ~other.mask == 0 }
}
