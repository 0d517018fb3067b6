/// One field line of a head, as ranges counted from the message's first byte.
public struct FieldRange: Hashable, Sendable {
    public var name: Range32
    /// The value, without the white space around it.
    public var value: Range32
    public var known: KnownField
    /// True if the name holds `_`, which some servers take for `-`: see
    /// ``KnownField/init(foldingUnderscores:)``.
    public var hasUnderscore: Bool

    public init(name: Range32, value: Range32, known: KnownField, hasUnderscore: Bool = false) {
        self.name = name
        self.value = value
        self.known = known
        self.hasUnderscore = hasUnderscore
    }
}
