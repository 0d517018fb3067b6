public import Bytes
public import EventLoop

/// A connection's byte stream: its descriptor as it is, or TLS over it. The holder reads, writes,
/// waits and closes without knowing which.
public struct Transport {
    /// The way in which a connection ends.
    public enum Ending {
        /// All bytes were sent, and a TLS peer is told so.
        case complete
        /// Bytes are missing: `close_notify` is not sent, so that a TLS peer can tell.
        case cut
        /// Like `cut`, but the peer sees a reset.
        case reset
    }

    /// The descriptor, for questions to the kernel. It must not be read or written directly.
    public let descriptor: Int32
    private let watch: Watch
    private let tls: TLSStream?

    /// Takes over a watch that waits for no event, without TLS.
    public init(watch: Watch) {
        descriptor = watch.descriptor
        self.watch = watch
        tls = nil
    }

    /// Takes over a descriptor with a session whose handshake is complete. `watch` may wait for
    /// reading already; the new owner must wait for an event at once.
    public init(watch: Watch, session: TLSSession) {
        descriptor = watch.descriptor
        self.watch = watch
        tls = TLSStream(session: session, watch: watch)
    }

    /// Sets the handler of readiness. It is not retained, because it owns the transport.
    public func setHandler(_ handler: any ReadinessHandler) {
        if let tls { tls.handler = handler } else { watch.handler = handler }
    }

    /// The TLS session, or nil without TLS.
    public var session: TLSSession? { tls?.session }

    public var isTLS: Bool { tls != nil }

    // MARK: bytes

    /// Appends at most `byteCountMax` bytes to `buffer`. A TLS stream that was cut short is
    /// `failed(errno: 0)`; ``failureText(errno:)`` gives the reason.
    public func read(into buffer: inout ByteBuffer, atMost byteCountMax: Int) -> ReadOutcome {
        if let tls { return tls.read(into: &buffer, atMost: byteCountMax) }
        return Socket.read(descriptor, into: &buffer, atMost: byteCountMax)
    }

    /// Discards further bytes, still encrypted, after ``shutdownWrite()``.
    public func discard(into buffer: inout ByteBuffer, atMost byteCountMax: Int) -> ReadOutcome {
        tls?.bypass()
        return Socket.read(descriptor, into: &buffer, atMost: byteCountMax)
    }

    public func write(_ bytes: Span<UInt8>) -> WriteOutcome {
        if let tls { return tls.write(bytes) }
        return Socket.write(descriptor, bytes)
    }

    /// True if two runs of bytes can be sent in one call. A TLS record is made of one run.
    public var canGather: Bool { tls == nil }

    public func write(_ first: Span<UInt8>, _ second: Span<UInt8>) -> WriteOutcome {
        assert(canGather)
        return Socket.write(descriptor, first, second)
    }

    public func failureText(errno code: Int32) -> String {
        tls?.failure?.description ?? IOError.text(errno: code)
    }

    // MARK: readiness

    public var isWriting: Bool { tls?.isWriting ?? watch.isWriting }

    public var isReading: Bool { tls.map { $0.interest == .reading } ?? watch.isReading }

    /// The time before which nothing was to be read (``Watch/heldUntil``).
    public var heldUntil: MonotonicInstant { watch.heldUntil }

    public func enableReading() {
        if let tls { tls.interest = .reading } else { watch.enableReading() }
    }

    public func disableReading() {
        if let tls { tls.interest = .none } else { watch.disableReading() }
    }

    /// Stops reading, but still notices the peer's loss (``Watch/watchChanges()``).
    public func watchChanges() {
        if let tls { tls.interest = .changes } else { watch.watchChanges() }
    }

    /// True if the peer will not take what is sent (``Socket/isGone(_:)``).
    public var isGone: Bool { Socket.isGone(descriptor) }

    /// True if the peer sends no more bytes (``Socket/hasPeerEnded(_:)``). Over TLS this is about
    /// the connection below: a `close_notify` that was not read does not count.
    public var hasPeerEnded: Bool { Socket.hasPeerEnded(descriptor) }

    /// The number of bytes that may still be read although no more come. Over TLS it is a little
    /// too high, because it counts encrypted bytes; and OpenSSL may hold the rest of a record.
    public var unreadByteCount: Int {
        let held = tls?.session.hasBuffered == true ? TLSSession.recordByteCount : 0
        return Socket.unreadByteCount(descriptor) + held
    }

    /// The number of written bytes that the peer has not taken (``Socket/queuedByteCount(_:)``).
    public var queuedByteCount: Int { Socket.queuedByteCount(descriptor) }

    /// The bytes that the socket has taken since the connection began, as they are on the wire. Nil
    /// without TLS, where they are the written bytes.
    public var sealedByteCount: UInt64? { tls?.session.sealedByteCount }

    public func enableWriting() {
        if let tls { tls.isWriting = true } else { watch.enableWriting() }
    }

    public func disableWriting() {
        if let tls { tls.isWriting = false } else { watch.disableWriting() }
    }

    // MARK: ending

    /// Tells the peer that no more bytes follow.
    public func shutdownWrite() {
        tls?.finish()
        Socket.shutdownWrite(descriptor)
    }

    /// Closes the connection; called once.
    public func close(_ ending: Ending) {
        if ending == .complete { tls?.finish() }
        tls?.end()
        watch.cancel()
        if ending == .reset {
            Socket.closeWithReset(descriptor)
        } else {
            Socket.close(descriptor)
        }
    }
}
