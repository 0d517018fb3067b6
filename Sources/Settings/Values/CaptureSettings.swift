/// The directory in which refused objects are kept for the operator, and the bound on its size.
public struct CaptureSettings: Hashable, Sendable {
    public var directory: String
    /// The bound on the size of all files together. The oldest are removed first.
    public var byteCountMax = 64 << 20

    public init(directory: String) { self.directory = directory }
}
