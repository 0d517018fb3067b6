import Bytes
import COpenSSL

/// Secret bytes, overwritten when the last reference goes.
///
/// Only `deinit` changes them, when no other reference exists, so any number of threads may read
/// them.
public final class Secret: @unchecked Sendable {
    /// A copy of this array that outlives a call keeps the bytes in memory, too.
    public private(set) var bytes: [UInt8]

    /// The caller must keep no reference to the array.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public convenience init(copying bytes: Span<UInt8>) { self.init(bytes.array) }

    deinit { bytes.wipe() }
}

extension Secret: Hashable {
    public static func == (left: Secret, right: Secret) -> Bool { left.bytes == right.bytes }

    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension [UInt8] {
    /// Overwrites the bytes and empties the array. There must be no other reference to it:
    /// otherwise the array would be copied first, and the original would keep the bytes.
    public mutating func wipe() {
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        self = []
    }
}
