import Bytes
import HTTP
import Settings
import Telemetry

/// The trace in what goes upstream (W3C Trace Context).
extension HeadRewriter {
    /// Whether a field of the client's gives way to what the gateway says of the trace. A trace
    /// that is not continued takes over no state.
    func isReplaced(_ field: FieldRange, in trace: RequestTrace) -> Bool {
        let bytes = headBytes.span
        return head.isTraceParent(field, in: bytes)
            || (trace.parentID == nil && head.isTraceState(field, in: bytes))
    }

    /// Names the span of the request to the upstream, unless the route removes that field.
    func append(_ trace: RequestTrace, _ edits: FieldEdits?) {
        if let edits, edits.removed.contains(Self.traceParentName.span) { return }
        upstreamHead.append("traceparent: ")
        TraceParent(traceID: trace.traceID, spanID: trace.upstreamSpanID, flags: trace.flags)
            .append(to: &upstreamHead)
        upstreamHead.append("\r\n")
    }

    private static let traceParentName = Array("traceparent".utf8)
}
