import COpenSSL

/// Bounds the messages of the handshake protocol that a client sends after the handshake: key
/// updates (RFC 8446 section 4.6.3), and with TLS 1.2 requests to begin anew.
///
/// OpenSSL acts on each of them inside one read, and does not return while more come: a client that
/// sends nothing else would occupy the thread, for 8 us with each 27 bytes.
extension TLSSession {
    func boundLateMessages() {
        unsafe sallyport_tls_watch_messages(
            session,
            { isSent, _, kind, _, _, session, context in
                guard isSent == 0, kind == SSL3_RT_HANDSHAKE, let session = unsafe session,
                    let context = unsafe context
                else { return }
                unsafe Unmanaged<TLSSession>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    guard !$0.lateMessages.take() else { return }
                    unsafe sallyport_tls_end_reading(session)
                }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    package static let flooded = TLSFailure(.other, "too many key updates")
}

/// The count of such messages, and its bound.
struct LateMessages {
    private var count = 0
    private var receivedByteCount: UInt64 = 0
    /// True if there were more than are allowed.
    private(set) var areTooMany = false

    mutating func received(_ byteCount: Int) { receivedByteCount += UInt64(byteCount) }

    /// Counts a message. False if it is one too many.
    mutating func take() -> Bool {
        count += 1
        areTooMany = UInt64(count) > Self.countMax + receivedByteCount / Self.byteCountPerMessage
        return !areTooMany
    }

    /// The most messages. Libraries update their keys after gigabytes, and some when they begin.
    private static let countMax: UInt64 = 32
    private static let byteCountPerMessage: UInt64 = 1 << 20
}
