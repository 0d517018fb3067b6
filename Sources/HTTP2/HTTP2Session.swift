public import Bytes
import CNghttp2

/// A server's side of one HTTP/2 connection, by nghttp2's memory interface: bytes in, events out;
/// answers in, bytes out. It knows no socket and has no clock.
///
/// nghttp2 must not be entered again from its callbacks. So these only record: what they find is
/// told by ``takeEvent()`` once ``receive(_:now:)`` or ``fill(atMost:)`` has returned.
@safe
public final class HTTP2Session {
    /// RFC 9113 section 3.4.
    public static let clientPreface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    let library: OpaquePointer
    /// Body bytes in the order of the `body` events that announce them.
    var received: ByteBuffer
    /// Frames that wait for the socket.
    var output: ByteBuffer
    /// For the next head or trailers that are submitted.
    public var fields = FieldBlock()
    /// Why the connection must end; frames that came after that are not looked at.
    public internal(set) var fault: HTTP2Fault?
    /// A header block has begun and has not ended.
    public internal(set) var isInHeaderBlock = false

    var events: [HTTP2Event] = []
    private var nextEvent = 0
    var streams: [Int32: SessionStream] = [:]
    var recent = RecentStreams()
    var watch: FrameWatch
    private var scanner = FrameScanner(prefaceByteCount: clientPreface.count)
    var head: RequestHeadText
    /// The stream whose header block is being read.
    var headStream: Int32 = 0
    /// SETTINGS have changed the windows of all streams, and what nghttp2 made of it is not sent.
    var hasWindowChanged = false
    /// The highest stream that the client has opened.
    var lastStream: Int32 = 0
    /// Nanoseconds, as the caller gave it last.
    var now: UInt64 = 0
    private var outputByteCountMax = 0

    /// - Parameter storage: lends the buffers while they hold something.
    public init(
        limits: HTTP2Limits, fieldSection: FieldSectionLimits, storage: StoragePool? = nil,
        now: UInt64
    ) {
        received = ByteBuffer(pool: storage)
        output = ByteBuffer(pool: storage)
        watch = FrameWatch(limits)
        head = RequestHeadText(limits: fieldSection)
        self.now = now
        var options: OpaquePointer?
        var made: OpaquePointer?
        guard unsafe nghttp2_option_new(&options) == 0, let options = unsafe options else {
            fatalError("out of memory")
        }
        // What the exchange has taken is given back by us: ``consume(stream:byteCount:)``.
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        unsafe nghttp2_option_set_no_closed_streams(options, 1)
        unsafe nghttp2_option_set_max_outbound_ack(options, limits.unsentAckCountMax)
        // Debian's 1.52 has bounds of later versions for these two: ours decide.
        unsafe nghttp2_option_set_max_continuations(options, limits.continuationCountMax + 1)
        unsafe nghttp2_option_set_stream_reset_rate_limit(options, .max, .max)
        let status = unsafe nghttp2_session_server_new2(
            &made, SessionCallbacks.table, nil, options)
        unsafe nghttp2_option_del(options)
        guard status == 0, let made = unsafe made else { fatalError("out of memory") }
        unsafe library = made
        unsafe nghttp2_session_set_user_data(made, Unmanaged.passUnretained(self).toOpaque())
        submitSettings(limits, fieldSection)
    }

    deinit { unsafe nghttp2_session_del(library) }

    private func submitSettings(_ limits: HTTP2Limits, _ fieldSection: FieldSectionLimits) {
        func entry(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
            nghttp2_settings_entry(
                settings_id: Int32(bitPattern: id.rawValue),
                value: UInt32(truncatingIfNeeded: value))
        }
        let entries = [
            entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.concurrentStreamCountMax),
            entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindowByteCount),
            entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, fieldSection.byteCountMax),
            // RFC 9218: the tree of RFC 7540 is not kept.
            entry(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        let status = unsafe entries.withUnsafeBufferPointer { entries in
            unsafe nghttp2_submit_settings(library, flags, entries.baseAddress, entries.count)
        }
        precondition(status == 0, "SETTINGS of our own are valid")
        let window = Int32(truncatingIfNeeded: limits.connectionWindowByteCount)
        _ = unsafe nghttp2_session_set_local_window_size(library, flags, 0, window)
    }

    // MARK: bytes in

    /// Takes what the socket gave. `now`: nanoseconds of a clock that never goes back.
    public func receive(_ bytes: Span<UInt8>, now: UInt64) {
        self.now = now
        var offset = 0
        while offset < bytes.count, fault == nil {
            if scanner.remaining > 0 {
                let end = min(bytes.count, offset + scanner.remaining)
                pass(bytes.extracting(offset..<end))
                scanner.passed(end - offset)
                offset = end
                continue
            }
            offset += scanner.take(bytes.extracting(offset...))
            guard let header = scanner.header else { return }
            if let fault = judge(header) { return end(fault) }
            let begun = scanner.begun
            pass(begun.span)
            scanner.beginContent(of: header)
        }
    }

    /// What is wrong with a frame before its content is looked at.
    private func judge(_ header: FrameHeader) -> HTTP2Fault? {
        if let fault = watch.began(header, now: now) { return fault }
        let id = header.stream
        switch header.kind {
        case .priority:
            // nghttp2 ignores these. RFC 7540 section 5.3.1 has it that none depends on itself.
            return id == 0 || scanner.dependency == id ? .protocolError : nil
        case .headers, .data:
            guard id > 0, id <= lastStream, streams[id] == nil else { return nil }
            // RFC 9113 section 5.1, closed: nghttp2 forgets streams and would ignore the frame.
            switch recent.wasResetByUs(id) {
            case true: return nil
            case false: return .streamClosed
            // An identifier below one that was used opens no stream (section 5.1.1). DATA may
            // belong to one that was refused.
            case nil: return header.kind == .headers ? .protocolError : nil
            }
        default: return nil
        }
    }

    private func pass(_ bytes: Span<UInt8>) {
        let count = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe nghttp2_session_mem_recv(library, buffer.baseAddress, buffer.count)
        }
        guard count < 0, fault == nil else { return }
        let code = Int32(truncatingIfNeeded: count)
        end(code == NGHTTP2_ERR_FLOODED.rawValue ? .ackFlood : .protocolError)
    }

    /// What happened; nil where nothing more has.
    public func takeEvent() -> HTTP2Event? {
        guard nextEvent < events.count else {
            events.removeAll(keepingCapacity: true)
            nextEvent = 0
            return nil
        }
        defer { nextEvent += 1 }
        return events[nextEvent]
    }

    /// Gives the bytes of a `body` event to `use`; then the client may send as many again, unless
    /// the request has been answered.
    public func takeBody<Result>(
        stream: Int32, byteCount: Int, _ use: (Span<UInt8>) -> Result
    ) -> Result {
        var taken = ByteBuffer()
        swap(&taken, &received)
        let result = use(taken.readable.extracting(0..<byteCount))
        taken.consume(byteCount)
        swap(&taken, &received)
        if streams[stream]?.isAnswered == true {
            _ = unsafe nghttp2_session_consume_connection(library, byteCount)
        } else {
            _ = unsafe nghttp2_session_consume(library, stream, byteCount)
        }
        return result
    }

    /// Ends the connection with GOAWAY; the first fault is the one that is told.
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

    // MARK: bytes out

    /// Makes frames of what was submitted until about `byteCountMax` bytes wait for the socket.
    public func fill(atMost byteCountMax: Int) {
        outputByteCountMax = byteCountMax
        while output.count < byteCountMax {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(library, &frame)
            guard count > 0, let frame = unsafe frame else { break }
            unsafe output.append(Span(_unsafeStart: frame, count: count))
        }
        if !isOutputFull { hasWindowChanged = false }
    }
    var isOutputFull: Bool { output.count >= outputByteCountMax }

    public var hasOutput: Bool { !output.isEmpty }

    /// Gives the bytes that wait for the socket to `use`.
    public func withOutput<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
        // Taken out for the call: a view into a property of ours could outlive its access.
        var taken = ByteBuffer()
        swap(&taken, &output)
        defer { swap(&taken, &output) }
        return use(taken.readable)
    }

    public func outputWasSent(_ byteCount: Int) { output.consume(byteCount) }

    /// Whether nothing more will be read or written: the connection can close.
    public var isFinished: Bool {
        unsafe nghttp2_session_want_read(library) == 0
            && nghttp2_session_want_write(library) == 0
    }

    // MARK: answers

    /// False once the stream is gone: what is submitted for it is thrown away.
    public func isOpen(_ stream: Int32) -> Bool { streams[stream] != nil }

    /// Sends ``fields`` as an interim head.
    public func submitInterim(stream: Int32) {
        _ = unsafe fields.withPairs { pairs, count in
            unsafe nghttp2_submit_headers(
                library, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), stream, nil, pairs,
                count, nil)
        }
        fields.clear()
    }

    /// Sends ``fields`` as the answer's head. Without content that is the whole answer.
    public func submitHead(stream: Int32, hasContent: Bool) {
        defer { fields.clear() }
        guard let open = streams[stream] else { return }
        open.isEnded = !hasContent
        var provider = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(), read_callback: SessionCallbacks.readContent)
        _ = unsafe fields.withPairs { pairs, count in
            if hasContent {
                unsafe nghttp2_submit_response(library, stream, pairs, count, &provider)
            } else {
                unsafe nghttp2_submit_response(library, stream, pairs, count, nil)
            }
        }
    }

    /// Content of the answer, to be sent as the client's windows allow.
    public func append(_ bytes: Span<UInt8>, stream: Int32) {
        guard let open = streams[stream], !open.isEnded else { return }
        open.content.append(bytes)
        waitingByteCount += bytes.count
        _ = unsafe nghttp2_session_resume_data(library, stream)
    }

    /// Content bytes that wait for a client: of one stream, and of all together.
    public func waitingByteCount(stream: Int32) -> Int { streams[stream]?.content.count ?? 0 }
    public internal(set) var waitingByteCount = 0

    /// Content bytes of a stream that were made into frames.
    public func framedByteCount(stream: Int32) -> Int { streams[stream]?.framedByteCount ?? 0 }

    /// The content is complete; with `hasTrailers` ``fields`` follow it.
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

    /// Ends a stream whose answer cannot be finished.
    public func reset(stream: Int32) {
        streams[stream]?.isResetByGateway = true
        submitReset(stream, NGHTTP2_INTERNAL_ERROR)
    }

    /// Has the client stop sending a request that was answered (RFC 9113 section 8.1).
    public func stopRequest(stream: Int32) { submitReset(stream, NGHTTP2_NO_ERROR) }

    func submitReset(_ stream: Int32, _ code: nghttp2_error_code) {
        _ = unsafe nghttp2_submit_rst_stream(
            library, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    // MARK: the end of the connection

    /// Says that an end is near; requests that are under way are still served. The client's answer
    /// to a PING behind it tells that it knows (RFC 9113 section 6.8).
    public func announceEnd() {
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        _ = unsafe nghttp2_submit_shutdown_notice(library)
        _ = unsafe nghttp2_submit_ping(library, flags, nil)
    }

    /// Takes no more requests; those that were taken are answered.
    public func refuseNewStreams() {
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        let last = unsafe nghttp2_session_get_last_proc_stream_id(library)
        _ = unsafe nghttp2_submit_goaway(
            library, flags, last, NGHTTP2_NO_ERROR.rawValue, nil, 0)
    }

    /// Gives storage back while nothing is under way.
    public func releaseStorage() {
        if received.isEmpty { received.release() }
        if output.isEmpty { output.release() }
        if nextEvent >= events.count {
            events = []
            nextEvent = 0
        }
    }
}
