import Bytes
import CNghttp2

/// nghttp2's callbacks, which call the endpoint in their user data.
enum SessionCallbacks {
    /// The callbacks, made once because sessions copy them.
    nonisolated(unsafe) static let table: OpaquePointer = unsafe make()

    private static func make() -> OpaquePointer {
        var made: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&made) == 0, let table = unsafe made else {
            fatalError("out of memory")
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(table) { _, frame, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Endpoint.with(data) { unsafe $0.frameReceived(frame.pointee) }
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(table) { _, frame, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Endpoint.with(data) { unsafe $0.frameSent(frame.pointee) }
        }
        unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(table) {
            _, frame, _, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Endpoint.with(data) { unsafe $0.frameNotSent(frame.pointee) }
        }
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(table) {
            _, _, code, data in
            unsafe HTTP2Endpoint.with(data) { $0.frameRefused(code) }
        }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(table) { _, frame, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Endpoint.with(data) { unsafe $0.headersBegan(frame.pointee) }
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(table) {
            _, frame, name, nameCount, value, valueCount, _, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Endpoint.with(data) {
                unsafe $0.headerReceived(
                    frame.pointee, view(name, nameCount), view(value, valueCount))
            }
        }
        // Without this nghttp2 would drop the field and go on with the rest.
        unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(table) {
            _, _, _, _, _, _, _, _ in NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table) {
            _, _, stream, bytes, count, data in
            unsafe HTTP2Endpoint.with(data) { unsafe $0.dataReceived(stream, view(bytes, count)) }
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(table) {
            _, stream, code, data in
            unsafe HTTP2Endpoint.with(data) { $0.streamClosed(stream, code) }
        }
        unsafe nghttp2_session_callbacks_set_send_data_callback(table) {
            _, frame, header, count, _, data in
            guard let frame = unsafe frame else { return 0 }
            return unsafe HTTP2Endpoint.with(data) {
                unsafe $0.sendData(frame.pointee, header: view(header, 9), byteCount: count)
            }
        }
        return unsafe table
    }

    static let readContent: nghttp2_data_source_read_callback = {
        _, stream, _, count, flags, _, data in
        guard let flags = unsafe flags else { return 0 }
        let (length, bits) = unsafe HTTP2Endpoint.with(data) {
            $0.contentIsWanted(stream, atMost: count)
        }
        unsafe flags.pointee |= bits
        return length
    }
}

@_lifetime(immortal)
private func view(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Span<UInt8> {
    guard let start = unsafe start, count > 0 else { return Span() }
    // Valid until the callback ends; none keeps it.
    let span = unsafe Span(_unsafeStart: start, count: count)
    return unsafe _overrideLifetime(span, borrowing: ())
}

extension HTTP2Endpoint {
    /// The endpoint is not retained meanwhile: the caller of the library retains it.
    @inline(__always)
    fileprivate static func with<Result>(
        _ data: UnsafeMutableRawPointer?, _ body: (HTTP2Endpoint) -> Result
    ) -> Result {
        guard let data = unsafe data else { preconditionFailure("a session without an owner") }
        return unsafe Unmanaged<HTTP2Endpoint>.fromOpaque(data)._withUnsafeGuaranteedRef {
            body($0)
        }
    }
}
