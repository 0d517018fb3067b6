import Bytes
import COpenSSL

/// Bytes that nobody else may know, overwritten when the last reference goes.
///
/// Changed by `deinit` alone, when nobody else can see it, so that any number of threads may read
/// one.
public final class Secret: @unchecked Sendable {
    /// Whoever keeps a copy of the array beyond a call keeps the bytes in memory, too.
    public private(set) var bytes: [UInt8]

    /// The caller keeps no reference to the array.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public convenience init(copying bytes: Span<UInt8>) { self.init(bytes.array) }

    deinit { bytes.wipe() }
}

extension Secret: Hashable {
    public static func == (left: Secret, right: Secret) -> Bool { left.bytes == right.bytes }

    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension [UInt8] {
    /// Overwrites the bytes, and leaves none. Nobody else may hold the array: another's view of
    /// the same memory would stay as it is.
    public mutating func wipe() {
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        self = []
    }
}
