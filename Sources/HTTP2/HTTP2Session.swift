public import Bytes
import CNghttp2

/// A server's side of one HTTP/2 connection. ``HTTP2Limits`` bound the frames of clients.
@safe
public final class HTTP2Session: HTTP2Endpoint {
    /// The preface of clients (RFC 9113 section 3.4).
    public static let clientPreface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// The number of header blocks that have begun: of heads and of trailer sections.
    public private(set) var headerBlockCount = 0
    var recent = RecentStreams()
    var watch: FrameWatch
    private var scanner = FrameScanner(prefaceByteCount: clientPreface.count)
    var head: RequestHeadText
    /// True if SETTINGS have changed the windows of all streams, and nghttp2's response is not
    /// sent.
    private var hasWindowChanged = false
    /// The highest stream that the client has opened.
    var lastStream: Int32 = 0

    /// - Parameters:
    ///   - storage: lends the buffers while they are in use.
    ///   - supply: keeps what ended streams leave, for all sessions of a thread.
    public init(
        limits: HTTP2Limits, fieldSection: FieldSectionLimits, storage: StoragePool? = nil,
        supply: StreamSupply = StreamSupply(), now: UInt64
    ) {
        watch = FrameWatch(limits)
        head = RequestHeadText(limits: fieldSection)
        unsafe super.init(
            fieldSection: fieldSection, continuationCountMax: limits.continuationCountMax,
            unsentAckCountMax: limits.unsentAckCountMax, storage: storage, supply: supply, now: now
        ) { made, options, memory in
            unsafe nghttp2_session_server_new3(
                &made, SessionCallbacks.table, nil, options, &memory)
        }
        submitSettings(
            [
                (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.concurrentStreamCountMax),
                (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindowByteCount),
                (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, fieldSection.byteCountMax),
                // RFC 9218: the priority tree of RFC 7540 is not kept.
                (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
            ], connectionWindowByteCount: limits.connectionWindowByteCount)
    }

    /// True if streams that are reset spend the budget for resets. Not if one client carries the
    /// requests of many, each of which may be given up.
    public var countsResets: Bool {
        get { watch.countsResets }
        set { watch.countsResets = newValue }
    }

    // MARK: bytes in

    /// Takes bytes from the socket. `now`: nanoseconds of a clock that never goes back.
    public func receive(_ bytes: Span<UInt8>, now: UInt64) {
        self.now = now
        var offset = 0
        while offset < bytes.count, fault == nil {
            let rest = bytes.extracting(offset...)
            if scanner.remaining == 0 {
                if let header = scanner.header(of: rest) {
                    if let fault = judge(header) { return end(fault) }
                    scanner.begin(header)
                } else {
                    offset += scanner.take(rest)
                    guard passBegun() else { return }
                    continue
                }
            }
            let count = min(rest.count, scanner.remaining)
            pass(rest.extracting(first: count))
            scanner.passed(count)
            offset += count
        }
    }

    /// Passes on the beginning of a frame that came in pieces. False if it is not complete, or may
    /// not pass.
    private func passBegun() -> Bool {
        guard let header = scanner.begunHeader else { return false }
        if let fault = judge(header) {
            end(fault)
            return false
        }
        scanner.begin(header)
        let begun = scanner.takeBegun()
        pass(begun.span)
        scanner.passed(begun.count)
        return true
    }

    /// The fault of a frame, found before its content is read.
    private func judge(_ header: FrameHeader) -> HTTP2Fault? {
        let id = header.stream
        // Whether it counts depends on its code, which has not come yet.
        if header.kind == .reset, streams[id]?.isAnswered == true { return nil }
        if let fault = watch.began(header, now: now) { return fault }
        switch header.kind {
        case .priority:
            // nghttp2 ignores these. By RFC 7540 section 5.3.1 none depends on itself.
            return id == 0 || header.dependency == id ? .protocolError : nil
        case .headers, .data:
            guard id > 0, id <= lastStream, streams[id] == nil else { return nil }
            // RFC 9113 section 5.1, closed: nghttp2 forgets streams and would ignore the frame.
            switch recent.wasResetByUs(id) {
            case true: return nil
            case false: return .streamClosed
            // An id below one that was used opens no stream (section 5.1.1). DATA may belong to a
            // stream that was refused.
            case nil: return header.kind == .headers ? .protocolError : nil
            }
        default: return nil
        }
    }

    // MARK: answers

    /// Sends ``fields`` as an interim head.
    public func submitInterim(stream: Int32) {
        _ = unsafe fields.withPairs { pairs, count in
            unsafe nghttp2_submit_headers(
                library, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), stream, nil, pairs,
                count, nil)
        }
        fields.clear()
    }

    /// True if the client accepts a head as large as ``fields``, as far as it has said.
    public var takesFields: Bool {
        let limit = unsafe nghttp2_session_get_remote_settings(
            library, NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)
        return fields.listByteCount <= Int(limit)
    }

    /// Sends ``fields`` as the answer's head. Without content they are the whole answer.
    public func submitHead(stream: Int32, hasContent: Bool) {
        defer { fields.clear() }
        guard let open = streams[stream] else { return }
        open.isEnded = !hasContent
        open.headByteCount = fields.listByteCount
        waitingByteCount += open.headByteCount
        var provider = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(), read_callback: SessionCallbacks.readContent)
        let library = unsafe library
        _ = unsafe fields.withPairs { pairs, count in
            if hasContent {
                unsafe nghttp2_submit_response(library, stream, pairs, count, &provider)
            } else {
                unsafe nghttp2_submit_response(library, stream, pairs, count, nil)
            }
        }
    }

    /// Ends a stream whose answer cannot be finished.
    public func reset(stream: Int32) {
        streams[stream]?.isResetByGateway = true
        submitReset(stream, NGHTTP2_INTERNAL_ERROR)
    }

    /// Refuses a stream whose request has not been acted on (RFC 9113 section 8.7).
    public func refuse(stream: Int32) {
        streams[stream]?.isResetByGateway = true
        submitReset(stream, NGHTTP2_REFUSED_STREAM)
    }

    /// Has the client stop sending a request that was answered (RFC 9113 section 8.1).
    public func stopRequest(stream: Int32) { submitReset(stream, NGHTTP2_NO_ERROR) }

    public override func fill(atMost byteCountMax: Int) {
        super.fill(atMost: byteCountMax)
        if !isOutputFull { hasWindowChanged = false }
    }

    // MARK: the end of the connection

    /// Announces the end; requests under way are still served. The client's answer to the PING that
    /// follows shows that it knows (RFC 9113 section 6.8).
    public func announceEnd() {
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        _ = unsafe nghttp2_submit_shutdown_notice(library)
        _ = unsafe nghttp2_submit_ping(library, flags, nil)
    }

    /// Accepts no more requests; those that were accepted are answered.
    public func refuseNewStreams() {
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        let last = unsafe nghttp2_session_get_last_proc_stream_id(library)
        _ = unsafe nghttp2_submit_goaway(
            library, flags, last, NGHTTP2_NO_ERROR.rawValue, nil, 0)
    }

    // MARK: callbacks of the library

    override func headersBegan(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        isInHeaderBlock = true
        headerBlockCount += 1
        headStream = header.stream_id
        guard unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST else {
            trailerText.reset()
            return 0
        }
        head.reset()
        lastStream = max(lastStream, headStream)
        streams.add(supply.takeStream(), headStream)
        return 0
    }

    override func headerReceived(
        _ frame: nghttp2_frame, _ name: Span<UInt8>, _ value: Span<UInt8>
    ) -> Int32 {
        guard unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST else {
            return trailerReceived(name, value)
        }
        let isWell = head.take(name: name, value: value)
        return fieldTaken(isWell: isWell, isBomb: head.isBomb)
    }

    override func frameReceived(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            isInHeaderBlock = false
            if unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST {
                headEnded(header)
            } else if header.endsStream {
                trailersEnded(header.stream_id)
                messageEnded(header.stream_id)
            }
        case NGHTTP2_DATA.rawValue:
            if let fault = unsafe watch.received(frame.data, now: now) { return stop(fault) }
            if header.endsStream { messageEnded(header.stream_id) }
        case NGHTTP2_RST_STREAM.rawValue where streams[header.stream_id]?.isAnswered == true:
            if let fault = unsafe resetAnswered(frame.rst_stream.error_code) {
                return stop(fault)
            }
        case NGHTTP2_SETTINGS.rawValue:
            if header.isAck { events.append(.settingsAcknowledged) }
            if unsafe changesWindows(frame.settings) { hasWindowChanged = true }
        case NGHTTP2_PING.rawValue:
            if header.isAck { events.append(.pingAcknowledged) }
        default: break
        }
        return 0
    }

    /// A client that has its answer may leave out the rest of its request, because no work is lost
    /// by it.
    private func resetAnswered(_ code: UInt32) -> HTTP2Fault? {
        guard code != NGHTTP2_NO_ERROR.rawValue, code != NGHTTP2_CANCEL.rawValue else {
            return nil
        }
        return watch.wasReset(now: now)
    }

    private func changesWindows(_ settings: nghttp2_settings) -> Bool {
        let name = Int32(bitPattern: NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue)
        return unsafe UnsafeBufferPointer(start: settings.iv, count: settings.niv)
            .contains { $0.settings_id == name }
    }

    /// A stream beyond the allowed number spends the budget for resets when it comes. Its reset may
    /// wait for long behind data that the client does not read, and takes memory meanwhile.
    override func frameRefused(_ code: Int32) -> Int32 {
        guard code == NGHTTP2_ERR_REFUSED_STREAM.rawValue, let fault = watch.wasReset(now: now)
        else { return 0 }
        return stop(fault)
    }

    private func headEnded(_ header: nghttp2_frame_hd) {
        let id = header.stream_id
        guard let stream = streams[id] else { return }
        var text = supply.takeHead()
        guard head.finish(hasBody: !header.endsStream, into: &text) else {
            return submitReset(id, NGHTTP2_PROTOCOL_ERROR)
        }
        stream.hasHead = true
        stream.isRemoteEnded = header.endsStream
        events.append(.head(HeadEvent(stream: id, text, head.lines, isEnd: header.endsStream)))
    }

    override func streamClosed(_ id: Int32, _ code: UInt32) -> Int32 {
        if headStream == id { isInHeaderBlock = false }
        guard let stream = streams.remove(id) else { return 0 }
        waitingByteCount -= stream.content.count + stream.headByteCount
        recent.append(id, wasResetByUs: false)
        let wasReset = code != NGHTTP2_NO_ERROR.rawValue
        events.append(
            stream.hasHead ? .closed(stream: id, wasReset: wasReset) : .malformed(stream: id))
        supply.giveBack(stream)
        return 0
    }

    // MARK: sending

    override func frameSent(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        let id = header.stream_id
        switch UInt32(header.type) {
        case NGHTTP2_RST_STREAM.rawValue:
            recent.append(id, wasResetByUs: true)
            let code = unsafe frame.rst_stream.error_code
            // Refused streams were counted when they came.
            guard code != NGHTTP2_NO_ERROR.rawValue, code != NGHTTP2_REFUSED_STREAM.rawValue,
                streams[id]?.isResetByGateway != true
            else { return 0 }
            // nghttp2 resets the stream whose window SETTINGS have made too large; by RFC 9113
            // section 6.9.2 the connection must end.
            if code == NGHTTP2_FLOW_CONTROL_ERROR.rawValue, hasWindowChanged { end(.flowControl) }
            if let fault = watch.wasReset(now: now) { end(fault) }
        case NGHTTP2_DATA.rawValue, NGHTTP2_HEADERS.rawValue:
            if UInt32(header.type) == NGHTTP2_DATA.rawValue {
                watch.sentData()
            } else if let stream = streams[id] {
                waitingByteCount -= stream.headByteCount
                stream.headByteCount = 0
            }
            if header.endsStream, let stream = streams[id], !stream.isRemoteEnded {
                stream.isAnswered = true
                events.append(.answeredEarly(stream: id))
            }
        case NGHTTP2_GOAWAY.rawValue:
            noteFault(unsafe frame.goaway.error_code)
        default: break
        }
        return 0
    }
}
