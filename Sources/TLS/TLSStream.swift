import Bytes
import EventLoop

/// Stands between the loop and a connection over TLS: it offers bytes again that were read ahead,
/// and has a read that must write first (or the other way round) wait for the right event.
@safe
final class TLSStream: ReadinessHandler {
    let session: TLSSession
    let watch: Watch
    /// The handler. It is not held, because it owns the transport.
    private unowned(unsafe) var heldHandler: (any ReadinessHandler)?
    var handler: (any ReadinessHandler)? {
        get { unsafe heldHandler }
        set { unsafe heldHandler = newValue }
    }
    enum Interest {
        case none
        case reading
        /// Only the loss of the peer is reported.
        case changes
    }

    /// The readiness that the connection waits for.
    var interest = Interest.none { didSet { update() } }
    var isWriting = false { didSet { update() } }
    private var readAwaitsWriting = false
    private var writeAwaitsReading = false
    /// True if further bytes are read past this stream.
    private var isBypassed = false
    private var isEnded = false
    private(set) var failure: TLSFailure?

    init(session: TLSSession, watch: Watch) {
        self.session = session
        self.watch = watch
        watch.handler = self
    }

    // MARK: bytes

    func read(into buffer: inout ByteBuffer, atMost byteCountMax: Int) -> ReadOutcome {
        switch session.read(into: &buffer, atMost: byteCountMax) {
        case .bytes(let count): return .bytes(count)
        case .wantRead: return .wouldBlock
        case .wantWrite:
            readAwaitsWriting = true
            update()
            return .wouldBlock
        case .endOfFile: return .endOfFile
        case .failed(let failure):
            self.failure = failure
            return .failed(errno: 0)
        }
    }

    func write(_ bytes: Span<UInt8>) -> WriteOutcome {
        switch session.write(bytes) {
        case .bytes(let count): return .bytes(count)
        case .wantWrite: return .wouldBlock
        case .wantRead:
            writeAwaitsReading = true
            update()
            return .wouldBlock
        case .failed(let failure):
            self.failure = failure
            return .failed(errno: 0)
        }
    }

    /// Tells the peer that no more bytes follow; the peer's bytes can still be read.
    func finish() { session.sendClose() }

    func bypass() { isBypassed = true }

    func end() { isEnded = true }

    // MARK: events

    private func update() {
        guard !isEnded else { return }
        let isReading = interest == .reading
        let reads = (isReading && !readAwaitsWriting) || (isWriting && writeAwaitsReading)
        let writes = (isWriting && !writeAwaitsReading) || (isReading && readAwaitsWriting)
        if reads {
            watch.enableReading()
        } else if interest == .changes {
            watch.watchChanges()
        } else {
            watch.disableReading()
        }
        if writes { watch.enableWriting() } else { watch.disableWriting() }
        if isReading { offerBuffered() }
    }

    /// Offers bytes that OpenSSL already holds, because they cause no event of the descriptor.
    private func offerBuffered() {
        if session.hasBuffered, !isBypassed, !readAwaitsWriting { watch.repeatReading() }
    }

    func descriptorIsReadable() {
        withExtendedLifetime(self) {
            if writeAwaitsReading {
                writeAwaitsReading = false
                update()
                if isWriting { handler?.descriptorIsWritable() }
            }
            guard interest != .none, !isEnded else { return }
            handler?.descriptorIsReadable()
            if interest == .reading, !isEnded { offerBuffered() }
        }
    }

    func descriptorIsWritable() {
        withExtendedLifetime(self) {
            if readAwaitsWriting {
                readAwaitsWriting = false
                update()
                if interest == .reading { handler?.descriptorIsReadable() }
            }
            guard isWriting, !isEnded else { return }
            handler?.descriptorIsWritable()
        }
    }
}
