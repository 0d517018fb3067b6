import COpenSSL
public import EventLoop

/// One key for session tickets, wiped from memory when its last reference goes.
@safe
final class TLSTicketKey: @unchecked Sendable {
    private let memory: UnsafeMutablePointer<UInt8>

    /// Makes a key from name, MAC key and cipher key one after another, the layout of nginx's
    /// 80-byte files.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount)
        unsafe memory = .allocate(capacity: Self.byteCount)
        for (index, byte) in bytes.enumerated() { unsafe memory[index] = byte }
    }

    /// Makes a random key. Traps if the system has no randomness, because no ticket would be safe.
    init() {
        unsafe memory = .allocate(capacity: Self.byteCount)
        let status = unsafe RAND_priv_bytes(memory, Int32(Self.byteCount))
        precondition(status == 1, "OpenSSL has no random bytes")
    }

    deinit {
        unsafe OPENSSL_cleanse(memory, Self.byteCount)
        unsafe memory.deallocate()
    }

    var name: UnsafePointer<UInt8> { unsafe UnsafePointer(memory) }
    var macKey: UnsafePointer<UInt8> { unsafe UnsafePointer(memory + Self.nameByteCount) }
    var cipherKey: UnsafePointer<UInt8> { unsafe UnsafePointer(memory + 48) }

    static let byteCount = 80
    static let nameByteCount = 16
}

/// The keys that seal and open session tickets: the first seals, all open.
///
/// Workers share one, so that a client may come back to any of them. It outlives reloads.
public final class TLSTicketKeys: Sendable {
    private struct Ring {
        var keys: [TLSTicketKey]
        /// The time of the next rotation, or nil if the operator rotates the keys.
        var rotatesAt: MonotonicInstant?
    }

    /// The life of a ticket, and the time for which a key that was made here seals.
    public let lifetime: Duration
    private let ring: Locked<Ring>

    /// Random keys that rotate: each seals for `lifetime` and opens for as long again.
    public init(lifetime: Duration) {
        self.lifetime = lifetime
        ring = Locked(
            Ring(keys: [TLSTicketKey()], rotatesAt: MonotonicInstant.now() + lifetime))
    }

    /// The operator's keys, ``byteCount`` bytes each, at least one.
    public init(keys: [[UInt8]], lifetime: Duration) {
        precondition(!keys.isEmpty)
        self.lifetime = lifetime
        ring = Locked(Ring(keys: keys.map { TLSTicketKey($0) }, rotatesAt: nil))
    }

    /// Makes a new key if it is time. To be called now and then.
    public func rotate(now: MonotonicInstant) {
        ring.withLock { ring in
            guard let due = ring.rotatesAt, now >= due else { return }
            // After a long pause the tickets that the last key sealed have expired too.
            let kept = now >= due + lifetime ? [] : ring.keys.prefix(1)
            ring.keys = [TLSTicketKey()] + kept
            ring.rotatesAt = now + lifetime
        }
    }

    var sealing: TLSTicketKey { ring.withLock { $0.keys[0] } }

    /// The key of that name, and true if a ticket that it opens should be sealed again.
    func opening(_ name: UnsafePointer<UInt8>) -> (key: TLSTicketKey, isOld: Bool)? {
        let keys = ring.withLock { $0.keys }
        for (index, key) in keys.enumerated()
        where unsafe memcmp(key.name, name, TLSTicketKey.nameByteCount) == 0 {
            return (key, index > 0)
        }
        return nil
    }

    /// The bytes of a key in a file: 16 of name, 32 for HMAC-SHA256, 32 for AES-256.
    public static let byteCount = TLSTicketKey.byteCount
}
