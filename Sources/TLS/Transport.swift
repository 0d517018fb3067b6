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
    private let stream: Stream

    /// The one object that it holds, because every use of a connection's transport copies it.
    private enum Stream {
        case plain(Watch)
        case encrypted(TLSStream)
    }

    /// Takes over a watch that waits for no event, without TLS.
    public init(watch: Watch) {
        descriptor = watch.descriptor
        stream = .plain(watch)
    }

    /// Takes over a descriptor with a session whose handshake is complete. `watch` may wait for
    /// reading already; the new owner must wait for an event at once.
    public init(watch: Watch, session: TLSSession) {
        descriptor = watch.descriptor
        stream = .encrypted(TLSStream(session: session, watch: watch))
    }

    /// Sets the handler of readiness. It is not retained, because it owns the transport.
    public func setHandler(_ handler: any ReadinessHandler) {
        switch stream {
        case .plain(let watch): watch.handler = handler
        case .encrypted(let tls): tls.handler = handler
        }
    }

    /// The TLS session, or nil without TLS.
    public var session: TLSSession? {
        if case .encrypted(let tls) = stream { tls.session } else { nil }
    }

    public var isTLS: Bool { if case .encrypted = stream { true } else { false } }

    // MARK: bytes

    /// Appends at most `byteCountMax` bytes to `buffer`. A TLS stream that was cut short is
    /// `failed(errno: 0)`; ``failureText(errno:)`` gives the reason.
    public func read(into buffer: inout ByteBuffer, atMost byteCountMax: Int) -> ReadOutcome {
        switch stream {
        case .plain: Socket.read(descriptor, into: &buffer, atMost: byteCountMax)
        case .encrypted(let tls): tls.read(into: &buffer, atMost: byteCountMax)
        }
    }

    /// Discards further bytes, still encrypted, after ``shutdownWrite()``.
    public func discard(into buffer: inout ByteBuffer, atMost byteCountMax: Int) -> ReadOutcome {
        if case .encrypted(let tls) = stream { tls.bypass() }
        return Socket.read(descriptor, into: &buffer, atMost: byteCountMax)
    }

    public func write(_ bytes: Span<UInt8>) -> WriteOutcome {
        switch stream {
        case .plain: Socket.write(descriptor, bytes)
        case .encrypted(let tls): tls.write(bytes)
        }
    }

    /// True if two runs of bytes can be sent in one call. A TLS record is made of one run.
    public var canGather: Bool { !isTLS }

    public func write(_ first: Span<UInt8>, _ second: Span<UInt8>) -> WriteOutcome {
        assert(canGather)
        return Socket.write(descriptor, first, second)
    }

    public func failureText(errno code: Int32) -> String {
        guard case .encrypted(let tls) = stream, let failure = tls.failure else {
            return IOError.text(errno: code)
        }
        return failure.description
    }

    // MARK: readiness

    public var isWriting: Bool {
        switch stream {
        case .plain(let watch): watch.isWriting
        case .encrypted(let tls): tls.isWriting
        }
    }

    public var isReading: Bool {
        switch stream {
        case .plain(let watch): watch.isReading
        case .encrypted(let tls): tls.interest == .reading
        }
    }

    /// The time before which nothing was to be read (``Watch/heldUntil``).
    public var heldUntil: MonotonicInstant {
        switch stream {
        case .plain(let watch): watch.heldUntil
        case .encrypted(let tls): tls.watch.heldUntil
        }
    }

    public func enableReading() {
        switch stream {
        case .plain(let watch): watch.enableReading()
        case .encrypted(let tls): tls.interest = .reading
        }
    }

    public func disableReading() {
        switch stream {
        case .plain(let watch): watch.disableReading()
        case .encrypted(let tls): tls.interest = .none
        }
    }

    /// Stops reading, but still notices the peer's loss (``Watch/watchChanges()``).
    public func watchChanges() {
        switch stream {
        case .plain(let watch): watch.watchChanges()
        case .encrypted(let tls): tls.interest = .changes
        }
    }

    /// True if the peer will not take what is sent (``Socket/isGone(_:)``).
    public var isGone: Bool { Socket.isGone(descriptor) }

    /// True if the peer sends no more bytes (``Socket/hasPeerEnded(_:)``). Over TLS this is about
    /// the connection below: a `close_notify` that was not read does not count.
    public var hasPeerEnded: Bool { Socket.hasPeerEnded(descriptor) }

    /// The number of bytes that may still be read although no more come. Over TLS it is a little
    /// too high, because it counts encrypted bytes; and OpenSSL may hold the rest of a record.
    public var unreadByteCount: Int {
        let held = session?.hasBuffered == true ? TLSSession.recordByteCount : 0
        return Socket.unreadByteCount(descriptor) + held
    }

    /// The number of written bytes that the peer has not taken (``Socket/queuedByteCount(_:)``).
    public var queuedByteCount: Int { Socket.queuedByteCount(descriptor) }

    /// The bytes that the socket has taken since the connection began, as they are on the wire. Nil
    /// without TLS, where they are the written bytes.
    public var sealedByteCount: UInt64? {
        if case .encrypted(let tls) = stream { tls.session.sealedByteCount } else { nil }
    }

    public func enableWriting() {
        switch stream {
        case .plain(let watch): watch.enableWriting()
        case .encrypted(let tls): tls.isWriting = true
        }
    }

    /// Has the handler called again although nothing would block (``Watch/repeatWriting()``).
    public func repeatWriting() {
        switch stream {
        case .plain(let watch): watch.repeatWriting()
        case .encrypted(let tls): tls.watch.repeatWriting()
        }
    }

    public func disableWriting() {
        switch stream {
        case .plain(let watch): watch.disableWriting()
        case .encrypted(let tls): tls.isWriting = false
        }
    }

    // MARK: ending

    /// Tells the peer that no more bytes follow.
    public func shutdownWrite() {
        if case .encrypted(let tls) = stream { tls.finish() }
        Socket.shutdownWrite(descriptor)
    }

    /// Closes the connection; called once.
    public func close(_ ending: Ending) {
        switch stream {
        case .plain(let watch): watch.cancel()
        case .encrypted(let tls):
            if ending == .complete { tls.finish() }
            tls.end()
            tls.watch.cancel()
        }
        if ending == .reset {
            Socket.closeWithReset(descriptor)
        } else {
            Socket.close(descriptor)
        }
    }
}
