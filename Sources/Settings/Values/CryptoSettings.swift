/// How signatures are verified.
public struct CryptoSettings: Hashable, Sendable {
    /// Whether several are verified at once where the processor and a library can.
    public var batches = true
    /// The library's file, or nil for the one that the system finds.
    public var library: String?
    /// The share of the library's verdicts that OpenSSL repeats, in percent.
    public var auditPercent = 1

    public init() {}
}
