public import Bytes
import COpenSSL

/// An HMAC-SHA256 key (RFC 2104), its two padded blocks already hashed.
///
/// `init` writes it once and it is only read afterwards, so any number of threads may use one at
/// the same time. It is wiped when the last reference goes.
@safe
public final class HMACKey: @unchecked Sendable {
    private let states: UnsafeMutablePointer<SHA256State>

    /// `key` may have any length; one longer than a block of 64 bytes is hashed first.
    public init(_ key: [UInt8]) {
        let blockByteCount = 64
        var block = key
        if block.count > blockByteCount { block = SHA256.hash(key).array }
        block.append(contentsOf: repeatElement(0, count: blockByteCount - block.count))
        unsafe states = .allocate(capacity: 2)
        // The second mask removes the first, so that no copy of the key is left behind.
        for (index, mask) in ([0x36, 0x36 ^ 0x5C] as [UInt8]).enumerated() {
            for position in block.indices { block[position] ^= mask }
            var state = SHA256State()
            state.update(block.span)
            unsafe (states + index).initialize(to: state)
        }
        unsafe block.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    /// Makes the key from derived bytes.
    public convenience init(_ key: Bytes32) {
        var bytes = key.array
        self.init(bytes)
        bytes.wipe()
    }

    deinit {
        unsafe OPENSSL_cleanse(states, 2 * MemoryLayout<SHA256State>.stride)
        unsafe states.deallocate()
    }

    fileprivate var inner: SHA256State { unsafe states[0] }
    fileprivate var outer: SHA256State { unsafe states[1] }
}

/// HMAC-SHA256 (RFC 2104, RFC 4231): 0.15 us for 60 bytes, no heap.
public enum HMACSHA256 {
    public static func authenticate(_ message: Span<UInt8>, key: HMACKey) -> Bytes32 {
        var inner = key.inner
        inner.update(message)
        var outer = key.outer
        outer.update(inner.finish())
        return outer.finish()
    }

    public static func authenticate(_ message: [UInt8], key: HMACKey) -> Bytes32 {
        authenticate(message.span, key: key)
    }

    public static func authenticate(_ message: Bytes32, key: HMACKey) -> Bytes32 {
        var inner = key.inner
        inner.update(message)
        var outer = key.outer
        outer.update(inner.finish())
        return outer.finish()
    }

    /// True if `code` authenticates `message`. Compared in constant time.
    public static func isValid(_ code: Bytes32, for message: Span<UInt8>, key: HMACKey) -> Bool {
        ConstantTime.equals(authenticate(message, key: key), code)
    }
}
