/// The settings for verifying signatures.
public struct CryptoSettings: Hashable, Sendable {
    /// True if several signatures are verified at once, if the processor and a library can.
    public var batches = true
    /// The library's file, or nil for the one that the system finds.
    public var library: String?
    /// The share of the library's verdicts that OpenSSL repeats, in percent.
    public var auditPercent = 1

    public init() {}
}
