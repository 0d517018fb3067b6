import Bytes

/// The trace that a request belongs to, and the ids of the request's spans in it.
struct RequestTrace {
    let traceID: Bytes16
    /// The id of the sender's span; nil if the trace begins here.
    let parentID: UInt64?
    let spanID: UInt64
    /// The id of the span for the upstream request.
    let upstreamSpanID: UInt64
    /// The flags of `traceparent`.
    let flags: UInt8
}
