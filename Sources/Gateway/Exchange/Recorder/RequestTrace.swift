import Bytes

/// The trace that a request belongs to, and the spans that are made of it there.
struct RequestTrace {
    let traceID: Bytes16
    /// The span that the request was sent from; nil if the trace begins here.
    let parentID: UInt64?
    let spanID: UInt64
    /// The span of the request to the upstream.
    let upstreamSpanID: UInt64
    /// The flags of `traceparent`.
    let flags: UInt8
}
