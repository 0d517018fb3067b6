public import Bytes
import COpenSSL

/// Comparisons whose duration does not reveal at which place two secrets differ.
public enum ConstantTime {
    /// True if both are equal. Different counts are told apart at once, because a length is no
    /// secret here.
    public static func equals(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
            }
        }
    }

    public static func equals(_ left: Bytes32, _ right: Bytes32) -> Bool {
        let difference =
            (left.word0 ^ right.word0) | (left.word1 ^ right.word1) | (left.word2 ^ right.word2)
            | (left.word3 ^ right.word3)
        return difference == 0
    }
}
