/// Where refused objects are kept for the operator, and how much of them.
public struct CaptureSettings: Hashable, Sendable {
    public var directory: String
    /// The bound of all files together; the oldest go first.
    public var byteCountMax = 64 << 20

    public init(directory: String) { self.directory = directory }
}
