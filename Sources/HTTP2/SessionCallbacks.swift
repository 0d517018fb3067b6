import Bytes
import CNghttp2

/// nghttp2's calls, handed on to the session whose user data they carry.
enum SessionCallbacks {
    /// Made once: sessions copy it.
    nonisolated(unsafe) static let table: OpaquePointer = unsafe make()

    private static func make() -> OpaquePointer {
        var made: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&made) == 0, let table = unsafe made else {
            fatalError("out of memory")
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(table) { _, frame, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Session.of(data).frameReceived(frame.pointee)
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(table) { _, frame, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Session.of(data).frameSent(frame.pointee)
        }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(table) { _, frame, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Session.of(data).headersBegan(frame.pointee)
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(table) {
            _, frame, name, nameCount, value, valueCount, _, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Session.of(data).headerReceived(
                frame.pointee, view(name, nameCount), view(value, valueCount))
        }
        // Left alone nghttp2 would drop the field and go on with the rest.
        unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(table) {
            _, _, _, _, _, _, _, _ in NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table) {
            _, _, stream, bytes, count, data in
            unsafe HTTP2Session.of(data).dataReceived(stream, view(bytes, count))
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(table) {
            _, stream, code, data in
            unsafe HTTP2Session.of(data).streamClosed(stream, code)
        }
        unsafe nghttp2_session_callbacks_set_send_data_callback(table) {
            _, frame, header, count, _, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Session.of(data).sendData(
                frame.pointee, header: view(header, 9), byteCount: count)
        }
        return unsafe table
    }

    static let readContent: nghttp2_data_source_read_callback = {
        _, stream, _, count, flags, _, data in
        guard let flags = unsafe flags else { return 0 }
        let (length, bits) = unsafe HTTP2Session.of(data).contentIsWanted(stream, atMost: count)
        unsafe flags.pointee |= bits
        return length
    }
}

@_lifetime(immortal)
private func view(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Span<UInt8> {
    guard let start = unsafe start, count > 0 else { return Span() }
    // Valid until the callback that has it returns; none keeps it.
    let span = unsafe Span(_unsafeStart: start, count: count)
    return unsafe _overrideLifetime(span, borrowing: ())
}

/// What the callbacks do. They record, and submit at most; none enters nghttp2's loops again.
extension HTTP2Session {
    fileprivate static func of(_ data: UnsafeMutableRawPointer?) -> HTTP2Session {
        guard let data = unsafe data else { preconditionFailure("a session without an owner") }
        return unsafe Unmanaged<HTTP2Session>.fromOpaque(data).takeUnretainedValue()
    }

    /// Has nghttp2 stop reading at once: what comes after is not looked at.
    private func stop(_ fault: HTTP2Fault) -> Int32 {
        end(fault)
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }

    fileprivate func headersBegan(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        isInHeaderBlock = true
        head.reset()
        headStream = header.stream_id
        guard unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
        lastStream = max(lastStream, headStream)
        streams[headStream] = SessionStream()
        return 0
    }

    fileprivate func headerReceived(
        _ frame: nghttp2_frame, _ name: Span<UInt8>, _ value: Span<UInt8>
    ) -> Int32 {
        let isWell = head.take(name: name, value: value)
        if head.isBomb { return stop(.headerBomb) }
        let isRequest = unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST
        // Trailers of a request go nowhere, but count.
        guard isRequest ? !isWell : head.isTooLarge else { return 0 }
        // Without this the code would be INTERNAL_ERROR.
        submitReset(headStream, NGHTTP2_PROTOCOL_ERROR)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    fileprivate func frameReceived(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            isInHeaderBlock = false
            if unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST {
                headEnded(header)
            } else if header.endsStream {
                requestEnded(header.stream_id)
            }
        case NGHTTP2_DATA.rawValue:
            if let fault = unsafe watch.received(frame.data, now: now) { return stop(fault) }
            if header.endsStream { requestEnded(header.stream_id) }
        case NGHTTP2_SETTINGS.rawValue:
            if header.isAck { events.append(.settingsAcknowledged) }
            if unsafe changesWindows(frame.settings) { hasWindowChanged = true }
        case NGHTTP2_PING.rawValue:
            if header.isAck { events.append(.pingAcknowledged) }
        default: break
        }
        return 0
    }

    private func changesWindows(_ settings: nghttp2_settings) -> Bool {
        let name = Int32(bitPattern: NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue)
        return unsafe UnsafeBufferPointer(start: settings.iv, count: settings.niv)
            .contains { $0.settings_id == name }
    }

    private func headEnded(_ header: nghttp2_frame_hd) {
        let id = header.stream_id
        guard let stream = streams[id] else { return }
        guard let text = head.finish(hasBody: !header.endsStream) else {
            return submitReset(id, NGHTTP2_PROTOCOL_ERROR)
        }
        stream.hasHead = true
        stream.isRemoteEnded = header.endsStream
        events.append(
            .head(
                RequestHeadEvent(
                    stream: id, bytes: text, fieldCount: head.fieldCount,
                    isTooLarge: head.isTooLarge, isEnd: header.endsStream)))
    }

    private func requestEnded(_ id: Int32) {
        guard let stream = streams[id], stream.hasHead else { return }
        stream.isRemoteEnded = true
        events.append(.end(stream: id))
    }

    fileprivate func dataReceived(_ id: Int32, _ bytes: Span<UInt8>) -> Int32 {
        received.append(bytes)
        events.append(.body(stream: id, byteCount: bytes.count))
        return 0
    }

    fileprivate func streamClosed(_ id: Int32, _ code: UInt32) -> Int32 {
        if headStream == id { isInHeaderBlock = false }
        guard let stream = streams.removeValue(forKey: id) else { return 0 }
        waitingByteCount -= stream.content.count
        recent.append(id, wasResetByUs: false)
        let wasReset = code != NGHTTP2_NO_ERROR.rawValue
        events.append(
            stream.hasHead ? .closed(stream: id, wasReset: wasReset) : .malformed(stream: id))
        return 0
    }

    // MARK: sending

    fileprivate func frameSent(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        let id = header.stream_id
        switch UInt32(header.type) {
        case NGHTTP2_RST_STREAM.rawValue:
            recent.append(id, wasResetByUs: true)
            let code = unsafe frame.rst_stream.error_code
            guard code != NGHTTP2_NO_ERROR.rawValue, streams[id]?.isResetByGateway != true else {
                return 0
            }
            // nghttp2 resets the stream whose window SETTINGS have made too large; RFC 9113 section
            // 6.9.2 has it that the connection ends.
            if code == NGHTTP2_FLOW_CONTROL_ERROR.rawValue, hasWindowChanged { end(.flowControl) }
            if let fault = watch.wasReset(now: now) { end(fault) }
        case NGHTTP2_DATA.rawValue, NGHTTP2_HEADERS.rawValue:
            if UInt32(header.type) == NGHTTP2_DATA.rawValue { watch.sentData() }
            if header.endsStream, let stream = streams[id], !stream.isRemoteEnded {
                stream.isAnswered = true
                events.append(.answeredEarly(stream: id))
            }
        default: break
        }
        return 0
    }

    /// How much content the next DATA frame of a stream carries, and what that means.
    fileprivate func contentIsWanted(_ id: Int32, atMost count: Int) -> (Int, UInt32) {
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

    fileprivate func sendData(
        _ frame: nghttp2_frame, header: Span<UInt8>, byteCount: Int
    ) -> Int32 {
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
