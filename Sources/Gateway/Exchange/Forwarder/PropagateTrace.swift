import Bytes
import HTTP
import Settings
import Telemetry

/// The trace fields in the upstream's request head (W3C Trace Context).
extension HeadRewriter {
    /// True if the gateway's own trace field replaces the client's `field`. If the gateway starts a
    /// new trace, it drops the client's `tracestate`.
    func isReplaced(_ field: FieldRange, in trace: RequestTrace) -> Bool {
        let bytes = headBytes.span
        return head.isTraceParent(field, in: bytes)
            || (trace.parentID == nil && head.isTraceState(field, in: bytes))
    }

    /// Names the span of the upstream request, unless the route removes that field.
    func append(_ trace: RequestTrace, _ edits: FieldEdits?) {
        if let edits, edits.removed.contains(Self.traceParentName.span) { return }
        state.upstreamHead.append("traceparent: ")
        TraceParent(traceID: trace.traceID, spanID: trace.upstreamSpanID, flags: trace.flags)
            .append(to: &state.upstreamHead)
        state.upstreamHead.append("\r\n")
    }

    private static let traceParentName = Array("traceparent".utf8)
}
