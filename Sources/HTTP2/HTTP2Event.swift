/// An event that an ``HTTP2Endpoint`` found in its bytes, in their order.
public enum HTTP2Event: Sendable {
    /// A head in HTTP/1.1's form (``RequestHeadText``, ``ResponseHeadText``).
    case head(HeadEvent)
    /// The next bytes of a body, for ``HTTP2Endpoint/takeBody(stream:byteCount:_:)``.
    case body(stream: Int32, byteCount: Int)
    /// Fields after the body as lines of HTTP/1.1, incomplete if they are too large; the end
    /// follows.
    case trailers(stream: Int32, bytes: [UInt8], isTooLarge: Bool)
    /// The peer's message is complete.
    case end(stream: Int32)
    /// The complete answer has been made into frames, and the request has not ended.
    case answeredEarly(stream: Int32)
    /// The stream is gone: answered completely, reset by either side, or lost with its connection.
    case closed(stream: Int32, wasReset: Bool)
    /// A header block could not be made into a head; its stream is being reset.
    case malformed(stream: Int32)
    /// A request of ours has no complete answer, and will not get one.
    case failed(stream: Int32, HTTP2StreamFailure)
    /// The server's first SETTINGS: requests can be sent.
    case ready
    /// The server accepts no more requests on this connection.
    case goAway
    case settingsAcknowledged
    case pingAcknowledged
}

/// The reason why an answer will not be complete.
public enum HTTP2StreamFailure: Hashable, Sendable {
    /// The server has not acted on the request, and says so: by REFUSED_STREAM, or by a GOAWAY that
    /// leaves it out (RFC 9113 section 8.7).
    case refused
    /// The server has reset the stream.
    case reset(code: UInt32)
    /// The answer is malformed (RFC 9113 section 8.1.1), so we have reset the stream.
    case malformed
}

public struct HeadEvent: Sendable {
    public let stream: Int32
    public let bytes: [UInt8]
    /// The number of lines in the head. A parser that finds another number reads another message.
    public let fieldCount: Int
    public let isTooLarge: Bool
    public let isEnd: Bool

    /// - Parameter lines: the text that `bytes` was made from.
    init(stream: Int32, _ bytes: [UInt8], _ lines: borrowing FieldText, isEnd: Bool) {
        self.stream = stream
        self.bytes = bytes
        fieldCount = lines.fieldCount
        isTooLarge = lines.isTooLarge
        self.isEnd = isEnd
    }
}

/// The reason why a connection was ended, for the event log.
public enum HTTP2Fault: String, Error, Sendable {
    /// The bytes are not HTTP/2 (RFC 9113 section 5.4.1). nghttp2 has told the client so.
    case protocolError = "protocol_error"
    case continuationFlood = "continuation_flood"
    case resetFlood = "reset_flood"
    case pingFlood = "ping_flood"
    case settingsFlood = "settings_flood"
    case priorityFlood = "priority_flood"
    case emptyDataFlood = "empty_data_flood"
    case windowUpdateFlood = "window_update_flood"
    case unknownFrameFlood = "unknown_frame_flood"
    case ackFlood = "ack_flood"
    case headerBomb = "header_bomb"
    /// There was a frame for a stream that has ended (RFC 9113 section 5.1).
    case streamClosed = "stream_closed"
    /// SETTINGS would make a window larger than the largest (RFC 9113 section 6.9.2).
    case flowControl = "flow_control"
    case settingsTimeout = "settings_timeout"
}
