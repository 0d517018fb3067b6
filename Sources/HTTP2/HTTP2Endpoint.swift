public import Bytes
import CNghttp2

/// The part of an HTTP/2 connection that both sides have in common, by nghttp2's memory interface:
/// bytes in, events out; heads and content in, bytes out. It has no socket and no clock.
///
/// nghttp2 must not be entered again from its callbacks. So these only record, and ``takeEvent()``
/// returns the events once bytes were taken or frames made.
@safe
public class HTTP2Endpoint {
    let library: OpaquePointer
    private let storage: StoragePool?
    let supply: StreamSupply
    /// Body bytes in the order of the `body` events that announce them.
    var received: ByteBuffer
    /// Frames that wait for the socket.
    var output: ByteBuffer
    /// The fields of the next head or trailers to be submitted.
    public var fields = FieldBlock()
    /// The reason why the connection must end. Later frames are not read.
    public internal(set) var fault: HTTP2Fault?
    /// True while a header block has begun and has not ended.
    public internal(set) var isInHeaderBlock = false

    var events: [HTTP2Event] = []
    private var nextEvent = 0
    var streams = StreamTable<SessionStream>()
    /// The stream whose header block is being read.
    var headStream: Int32 = 0
    var trailerText: FieldText
    /// The time in nanoseconds that the caller passed last.
    var now: UInt64 = 0
    private var outputByteCountMax = 0
    /// True if the library has not been asked yet for the frame that follows the last one, and so
    /// has not reported that the last was sent.
    private(set) var isFrameUntold = false

    /// - Parameters:
    ///   - storage: lends the buffers while they are in use.
    ///   - supply: keeps what ended streams leave.
    ///   - make: makes the session of its side, with the options of both.
    init(
        fieldSection: FieldSectionLimits, continuationCountMax: Int, unsentAckCountMax: Int,
        storage: StoragePool?, supply: StreamSupply, now: UInt64,
        make: (inout OpaquePointer?, OpaquePointer, inout nghttp2_mem) -> Int32
    ) {
        self.storage = storage
        self.supply = supply
        received = ByteBuffer(pool: storage)
        output = ByteBuffer(pool: storage)
        trailerText = FieldText(limits: fieldSection)
        self.now = now
        var options: OpaquePointer?
        var made: OpaquePointer?
        guard unsafe nghttp2_option_new(&options) == 0, let options = unsafe options else {
            fatalError("out of memory")
        }
        // We give the window back ourselves: ``takeBody(stream:byteCount:_:)``.
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        unsafe nghttp2_option_set_no_closed_streams(options, 1)
        unsafe nghttp2_option_set_max_outbound_ack(options, unsentAckCountMax)
        // A larger head would be thrown away silently.
        unsafe nghttp2_option_set_max_send_header_block_length(options, Self.headByteCountMax)
        // Debian's 1.52 has the bounds of later versions for these two, so ours decide.
        unsafe nghttp2_option_set_max_continuations(options, continuationCountMax + 1)
        unsafe nghttp2_option_set_stream_reset_rate_limit(options, .max, .max)
        // The session keeps a copy.
        var memory = unsafe sallyport_http2_memory()
        let status = unsafe make(&made, options, &memory)
        unsafe nghttp2_option_del(options)
        guard status == 0, let made = unsafe made else { fatalError("out of memory") }
        unsafe library = made
        unsafe nghttp2_session_set_user_data(made, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { unsafe nghttp2_session_del(library) }

    /// The largest head that the library sends, by its own estimate: more than any head within the
    /// gateway's limits, so that those alone decide.
    private static let headByteCountMax = 16 * 1024 * 1024

    func submitSettings(
        _ entries: [(id: nghttp2_settings_id, value: Int)], connectionWindowByteCount: Int
    ) {
        let settings = entries.map { entry in
            nghttp2_settings_entry(
                settings_id: Int32(bitPattern: entry.id.rawValue),
                value: UInt32(truncatingIfNeeded: entry.value))
        }
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        let status = unsafe settings.withUnsafeBufferPointer { settings in
            unsafe nghttp2_submit_settings(library, flags, settings.baseAddress, settings.count)
        }
        precondition(status == 0, "SETTINGS of our own are valid")
        let window = Int32(truncatingIfNeeded: connectionWindowByteCount)
        _ = unsafe nghttp2_session_set_local_window_size(library, flags, 0, window)
    }

    // MARK: callbacks of the library

    func headersBegan(_ frame: nghttp2_frame) -> Int32 { 0 }

    func headerReceived(
        _ frame: nghttp2_frame, _ name: Span<UInt8>, _ value: Span<UInt8>
    ) -> Int32 { 0 }

    func frameReceived(_ frame: nghttp2_frame) -> Int32 { 0 }

    /// The library found a fault in a frame, and has its answer ready. `code`: one of
    /// `nghttp2_error`.
    func frameRefused(_ code: Int32) -> Int32 { 0 }

    func streamClosed(_ id: Int32, _ code: UInt32) -> Int32 { 0 }

    func frameSent(_ frame: nghttp2_frame) -> Int32 { 0 }

    func frameNotSent(_ frame: nghttp2_frame) -> Int32 { 0 }

    /// Has nghttp2 stop reading at once: later bytes are not read.
    func stop(_ fault: HTTP2Fault) -> Int32 {
        end(fault)
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }

    // MARK: bytes in

    func pass(_ bytes: Span<UInt8>) {
        let count = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe nghttp2_session_mem_recv(library, buffer.baseAddress, buffer.count)
        }
        guard count < 0, fault == nil else { return }
        let code = Int32(truncatingIfNeeded: count)
        end(code == NGHTTP2_ERR_FLOODED.rawValue ? .ackFlood : .protocolError)
    }

    /// Takes the next event, or nil if there is none.
    public func takeEvent() -> HTTP2Event? {
        guard nextEvent < events.count else {
            events.removeAll(keepingCapacity: true)
            nextEvent = 0
            return nil
        }
        defer { nextEvent += 1 }
        return events[nextEvent]
    }

    /// Calls `use` with the bytes of a `body` event. Then the peer may send as many again: on this
    /// stream, unless `use` has a reason to wait (``giveWindow(stream:byteCount:)``) or the request
    /// has been answered; on other streams in any case.
    public func takeBody<Result>(
        stream: Int32, byteCount: Int, _ use: (Span<UInt8>) -> (Result, keepsWindow: Bool)
    ) -> Result {
        var taken = ByteBuffer()
        swap(&taken, &received)
        let (result, keepsWindow) = use(taken.readable.extracting(0..<byteCount))
        taken.consume(byteCount)
        swap(&taken, &received)
        if keepsWindow || streams[stream]?.isAnswered == true {
            _ = unsafe nghttp2_session_consume_connection(library, byteCount)
        } else {
            _ = unsafe nghttp2_session_consume(library, stream, byteCount)
        }
        return result
    }

    /// Lets the peer send as many bytes as were held back from it on this stream.
    public func giveWindow(stream: Int32, byteCount: Int) {
        _ = unsafe nghttp2_session_consume_stream(library, stream, byteCount)
    }

    /// Ends the connection with GOAWAY. The first fault is the one that is reported.
    public func end(_ fault: HTTP2Fault) {
        guard self.fault == nil else { return }
        self.fault = fault
        let code: nghttp2_error_code =
            switch fault {
            case .protocolError: NGHTTP2_PROTOCOL_ERROR
            case .streamClosed: NGHTTP2_STREAM_CLOSED
            case .flowControl: NGHTTP2_FLOW_CONTROL_ERROR
            case .settingsTimeout: NGHTTP2_SETTINGS_TIMEOUT
            default: NGHTTP2_ENHANCE_YOUR_CALM
            }
        _ = unsafe nghttp2_session_terminate_session(library, code.rawValue)
    }

    /// Notes a fault that the library found by itself, by the code that it has sent to the peer.
    func noteFault(_ code: UInt32) {
        // A fault of the library itself is not the peer's.
        guard fault == nil, code != NGHTTP2_NO_ERROR.rawValue,
            code != NGHTTP2_INTERNAL_ERROR.rawValue
        else { return }
        fault =
            switch nghttp2_error_code(code) {
            case NGHTTP2_FLOW_CONTROL_ERROR: .flowControl
            case NGHTTP2_STREAM_CLOSED: .streamClosed
            default: .protocolError
            }
    }

    // MARK: bytes out

    /// Makes frames of the submitted data until about `byteCountMax` bytes wait for the socket.
    public func fill(atMost byteCountMax: Int) {
        outputByteCountMax = byteCountMax
        while output.count < byteCountMax {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(library, &frame)
            guard count > 0, let frame = unsafe frame else { break }
            unsafe output.append(Span(_unsafeStart: frame, count: count))
        }
        isFrameUntold = output.count >= byteCountMax
    }

    var isOutputFull: Bool { output.count >= outputByteCountMax }

    public var hasOutput: Bool { !output.isEmpty }
    /// The number of bytes that wait for the socket.
    public var outputByteCount: Int { output.count }

    /// Calls `use` with the bytes that wait for the socket.
    public func withOutput<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
        // Taken out for the call, because a view into a property could outlive its access.
        var taken = ByteBuffer()
        swap(&taken, &output)
        defer { swap(&taken, &output) }
        return use(taken.readable)
    }

    public func outputWasSent(_ byteCount: Int) { output.consume(byteCount) }

    /// True if there is data to make frames of.
    public var wantsWriting: Bool { unsafe nghttp2_session_want_write(library) != 0 }

    /// True if nothing more will be read or written, so that the connection can close.
    public var isFinished: Bool {
        unsafe nghttp2_session_want_read(library) == 0
            && nghttp2_session_want_write(library) == 0
    }

    // MARK: content

    /// False once the stream is gone: data submitted for it is thrown away.
    public func isOpen(_ stream: Int32) -> Bool { streams[stream] != nil }

    /// Appends content that follows a head. It is sent as the peer's windows allow.
    public func append(_ bytes: Span<UInt8>, stream: Int32) {
        guard let open = streams[stream], !open.isEnded else { return }
        open.appendContent(bytes, storage: storage)
        contentWasAppended(bytes.count, stream: stream)
    }

    /// Appends the first bytes of `buffer`, which are taken out of it; together with its storage if
    /// they fill much of it and nothing else waits.
    public func append(_ byteCount: Int, outOf buffer: inout ByteBuffer, stream: Int32) {
        guard let open = streams[stream], !open.isEnded else { return buffer.consume(byteCount) }
        open.takeContent(byteCount, outOf: &buffer, storage: storage)
        contentWasAppended(byteCount, stream: stream)
    }

    private func contentWasAppended(_ byteCount: Int, stream: Int32) {
        waitingByteCount += byteCount
        _ = unsafe nghttp2_session_resume_data(library, stream)
    }

    /// The number of content bytes that wait for the peer: of one stream, and of all together,
    /// including the heads of answers.
    public func waitingByteCount(stream: Int32) -> Int { streams[stream]?.content.count ?? 0 }
    public internal(set) var waitingByteCount = 0

    /// The number of content bytes of a stream that were made into frames.
    public func framedByteCount(stream: Int32) -> Int { streams[stream]?.framedByteCount ?? 0 }

    /// Ends the content; with `hasTrailers` ``fields`` follow it.
    public func endContent(stream: Int32, hasTrailers: Bool = false) {
        defer { fields.clear() }
        guard let open = streams[stream], !open.isEnded else { return }
        open.isEnded = true
        if hasTrailers {
            swap(&fields, &open.trailers)
            open.hasTrailers = true
        }
        _ = unsafe nghttp2_session_resume_data(library, stream)
    }

    func submitReset(_ stream: Int32, _ code: nghttp2_error_code) {
        _ = unsafe nghttp2_submit_rst_stream(
            library, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// Gives storage back if nothing is under way.
    public func releaseStorage() {
        if received.isEmpty { received.release() }
        if output.isEmpty { output.release() }
        if nextEvent >= events.count {
            events = []
            nextEvent = 0
        }
    }
}

/// The callbacks of either side. They record, and at most submit; none enters nghttp2's loops
/// again.
extension HTTP2Endpoint {
    func dataReceived(_ id: Int32, _ bytes: Span<UInt8>) -> Int32 {
        received.append(bytes)
        events.append(.body(stream: id, byteCount: bytes.count))
        return 0
    }

    /// Takes a field of a trailer section.
    func trailerReceived(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Int32 {
        let isWell = trailerText.take(name: name, value: value)
        return fieldTaken(isWell: isWell, isBomb: trailerText.isBomb)
    }

    /// Continues after a field, resets the stream of a malformed header block, or ends the
    /// connection for an endless one.
    func fieldTaken(isWell: Bool, isBomb: Bool) -> Int32 {
        if isBomb { return stop(.headerBomb) }
        guard !isWell else { return 0 }
        // Without this the code would be INTERNAL_ERROR.
        submitReset(headStream, NGHTTP2_PROTOCOL_ERROR)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    /// The trailer section of a stream has ended.
    func trailersEnded(_ id: Int32) {
        let isTooLarge = trailerText.isTooLarge
        let bytes = trailerText.finish()
        guard isTooLarge || !bytes.isEmpty else { return }
        events.append(.trailers(stream: id, bytes: bytes, isTooLarge: isTooLarge))
    }

    /// The peer has ended its message on a stream.
    func messageEnded(_ id: Int32) {
        guard let stream = streams[id], stream.hasHead else { return }
        stream.isRemoteEnded = true
        events.append(.end(stream: id))
    }

    /// How much content the next DATA frame of a stream carries, and what that means.
    func contentIsWanted(_ id: Int32, atMost count: Int) -> (Int, UInt32) {
        guard let stream = streams[id] else {
            return (Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue), 0)
        }
        let length = min(count, stream.content.count)
        guard stream.isEnded, length == stream.content.count else {
            guard length > 0 else { return (Int(NGHTTP2_ERR_DEFERRED.rawValue), 0) }
            return (length, NGHTTP2_DATA_FLAG_NO_COPY.rawValue)
        }
        var flags = NGHTTP2_DATA_FLAG_NO_COPY.rawValue | NGHTTP2_DATA_FLAG_EOF.rawValue
        if stream.hasTrailers {
            flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            stream.hasTrailers = false
            _ = unsafe stream.trailers.withPairs { pairs, count in
                unsafe nghttp2_submit_trailer(library, id, pairs, count)
            }
        }
        return (length, flags)
    }

    func sendData(_ frame: nghttp2_frame, header: Span<UInt8>, byteCount: Int) -> Int32 {
        guard !isOutputFull else { return NGHTTP2_ERR_WOULDBLOCK.rawValue }
        guard let stream = unsafe streams[frame.hd.stream_id] else {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        output.append(header)
        stream.moveContent(byteCount, to: &output)
        waitingByteCount -= byteCount
        return 0
    }
}
