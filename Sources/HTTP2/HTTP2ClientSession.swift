public import Bytes
import CNghttp2

/// The bounds of one HTTP/2 connection to a server, each with its reason.
public struct HTTP2ClientLimits: Hashable, Sendable {
    /// The most requests under way on one connection: more gain nothing from sharing one. The
    /// server's own bound holds beside it.
    public var concurrentStreamCountMax = 100
    /// The body bytes that a server may have under way on one stream: the bytes that are held for a
    /// client that does not take them.
    public var streamWindowByteCount = 256 * 1024
    /// The receive window of all streams together, large enough to keep a fast network busy. A
    /// client that takes nothing holds up only its own stream.
    public var connectionWindowByteCount = 4 * 1024 * 1024
    /// The most CONTINUATION frames of one header block: a head within its limit needs a few.
    public static let continuationCountMax = 16
    /// The most answers to PING and SETTINGS that wait because the server does not read.
    public static let unsentAckCountMax = 1000

    public init() {}
}

/// A client's side of one HTTP/2 connection. The server belongs to the operator, so its frames are
/// not counted, but nothing that it sends makes the gateway hold more than the limits say.
@safe
public final class HTTP2ClientSession: HTTP2Endpoint {
    private let limits: HTTP2ClientLimits
    private var head: ResponseHeadText
    private var hasSettings = false
    /// The server takes no more requests (RFC 9113 section 6.8).
    public private(set) var isGoingAway = false

    /// - Parameters:
    ///   - storage: lends the buffers while they are in use.
    ///   - supply: keeps what ended streams leave, for all sessions of a thread.
    public init(
        limits: HTTP2ClientLimits, fieldSection: FieldSectionLimits, storage: StoragePool? = nil,
        supply: StreamSupply = StreamSupply()
    ) {
        self.limits = limits
        head = ResponseHeadText(limits: fieldSection)
        unsafe super.init(
            fieldSection: fieldSection,
            continuationCountMax: HTTP2ClientLimits.continuationCountMax,
            unsentAckCountMax: HTTP2ClientLimits.unsentAckCountMax, storage: storage,
            supply: supply, now: 0
        ) { made, options, memory in
            unsafe nghttp2_session_client_new3(
                &made, SessionCallbacks.table, nil, options, &memory)
        }
        submitSettings(
            [
                (NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
                (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindowByteCount),
                (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, fieldSection.byteCountMax),
            ], connectionWindowByteCount: limits.connectionWindowByteCount)
    }

    /// Takes bytes from the socket.
    public func receive(_ bytes: Span<UInt8>) {
        guard fault == nil else { return }
        pass(bytes)
    }

    // MARK: requests

    /// The number of requests that may be in flight at once, by the server's limit and by ours.
    public var streamCountMax: Int {
        guard hasSettings else { return limits.concurrentStreamCountMax }
        let remote = unsafe nghttp2_session_get_remote_settings(
            library, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        return min(Int(remote), limits.concurrentStreamCountMax)
    }

    public var streamCount: Int { streams.count }

    /// True if one more request can begin: the server accepts more, and there are stream ids left.
    public var takesRequests: Bool {
        unsafe fault == nil && !isGoingAway
            && nghttp2_session_check_request_allowed(library) == 1
    }

    /// Sends ``fields`` as the head of a request; without content they are all of it.
    ///
    /// - Returns: its stream; nil if the connection accepts no more.
    public func submitRequest(hasContent: Bool) -> Int32? {
        defer { fields.clear() }
        guard takesRequests else { return nil }
        var provider = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(), read_callback: SessionCallbacks.readContent)
        let id = unsafe fields.withPairs { pairs, count in
            if hasContent {
                unsafe nghttp2_submit_request(library, nil, pairs, count, &provider, nil)
            } else {
                unsafe nghttp2_submit_request(library, nil, pairs, count, nil, nil)
            }
        }
        guard id > 0 else { return nil }
        let stream = supply.takeStream()
        stream.isEnded = !hasContent
        streams[id] = stream
        return id
    }

    /// True if no byte of the request can have left.
    public func isUnsent(_ stream: Int32) -> Bool {
        !isFrameUntold && streams[stream]?.isHeadFramed == false
    }

    /// Asks if the server is still there: the answer is `pingAcknowledged`.
    public func ping() {
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        _ = unsafe nghttp2_submit_ping(library, flags, nil)
    }

    /// The client does not wait for the answer any more; no further event of the stream is
    /// reported.
    public func cancel(stream: Int32) {
        guard let open = streams[stream] else { return }
        open.isCancelled = true
        submitReset(stream, NGHTTP2_CANCEL)
    }

    /// Ends the connection in good order once no request is under way.
    public func close() {
        _ = unsafe nghttp2_session_terminate_session(library, NGHTTP2_NO_ERROR.rawValue)
    }

    // MARK: callbacks of the library

    override func headersBegan(_ frame: nghttp2_frame) -> Int32 {
        isInHeaderBlock = true
        headStream = unsafe frame.hd.stream_id
        if isTrailerSection { trailerText.reset() } else { head.reset() }
        return 0
    }

    private var isTrailerSection: Bool { streams[headStream]?.hasHead == true }

    override func headerReceived(
        _ frame: nghttp2_frame, _ name: Span<UInt8>, _ value: Span<UInt8>
    ) -> Int32 {
        guard !isTrailerSection else { return trailerReceived(name, value) }
        let isWell = head.take(name: name, value: value)
        return fieldTaken(isWell: isWell, isBomb: head.isBomb)
    }

    override func frameReceived(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            isInHeaderBlock = false
            if isTrailerSection { trailersEnded(header.stream_id) } else { headEnded(header) }
            if header.endsStream { messageEnded(header.stream_id) }
        case NGHTTP2_DATA.rawValue:
            if header.endsStream { messageEnded(header.stream_id) }
        case NGHTTP2_SETTINGS.rawValue:
            guard !header.isAck, !hasSettings else { return 0 }
            hasSettings = true
            events.append(.ready)
        case NGHTTP2_PING.rawValue:
            if header.isAck { events.append(.pingAcknowledged) }
        case NGHTTP2_GOAWAY.rawValue:
            isGoingAway = true
            events.append(.goAway)
        default: break
        }
        return 0
    }

    private func headEnded(_ header: nghttp2_frame_hd) {
        let id = header.stream_id
        guard let stream = streams[id] else { return }
        let isInterim = head.status < 200
        guard let text = head.finish(), !(isInterim && header.endsStream) else {
            return submitReset(id, NGHTTP2_PROTOCOL_ERROR)
        }
        stream.hasHead = !isInterim
        events.append(.head(HeadEvent(stream: id, text, head.lines, isEnd: header.endsStream)))
    }

    override func streamClosed(_ id: Int32, _ code: UInt32) -> Int32 {
        if headStream == id { isInHeaderBlock = false }
        close(
            id,
            code == NGHTTP2_REFUSED_STREAM.rawValue
                ? .refused
                : streams[id]?.isResetByGateway == true ? .malformed : .reset(code: code))
        return 0
    }

    private func close(_ id: Int32, _ failure: HTTP2StreamFailure) {
        guard let stream = streams.remove(id) else { return }
        waitingByteCount -= stream.content.count
        defer { supply.giveBack(stream) }
        guard !stream.isRemoteEnded, !stream.isCancelled else {
            events.append(.closed(stream: id, wasReset: stream.isCancelled))
            return
        }
        events.append(.failed(stream: id, failure))
    }

    override func frameSent(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue: streams[header.stream_id]?.isHeadFramed = true
        // The library or the gateway has found a fault in the answer.
        case NGHTTP2_RST_STREAM.rawValue: streams[header.stream_id]?.isResetByGateway = true
        default: break
        }
        return 0
    }

    /// The connection has ended under a request that was still to be sent.
    override func frameNotSent(_ frame: nghttp2_frame) -> Int32 {
        let header = unsafe frame.hd
        guard UInt32(header.type) == NGHTTP2_HEADERS.rawValue,
            unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST
        else { return 0 }
        close(header.stream_id, .refused)
        return 0
    }
}
