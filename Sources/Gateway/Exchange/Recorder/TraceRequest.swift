import Bytes
import EventLoop
import HTTP
import Judgement

/// Decides whether a request gets spans, and what its upstream learns of them (W3C Trace Context).
/// Without `otlp` there are none.
extension Recorder {
    /// Begins the trace at the head. A client that sends a `traceparent` decides for its own trace,
    /// within a limit, because any client can say `sampled`.
    func beginTrace(_ tracing: SiteTracing) {
        guard !client.listener.isAdmin else { return }
        if let parent = head.traceParent(in: headBytes.span) {
            guard parent.isSampled, services.log.spans.admitsFlagged(tracing, at: services.loop.now)
            else { return }
            return trace(below: parent)
        }
        // The request's id is random, and decides as it does for `log.sample`.
        if exchange.arrival.requestID.word0 % 100 < tracing.samplePercent { trace(below: nil) }
    }

    /// Writes the spans of an exchange that has ended. A refusal always has some, within a limit.
    func endTrace(_ tracing: SiteTracing, at now: MonotonicInstant) {
        guard !client.listener.isAdmin else { return }
        if trace == nil, exchange.outcome.decision == .refused,
            services.log.spans.admitsRefused(tracing, at: services.loop.now)
        {
            // A head that could not be read has no fields.
            let isRead = head.byteCount > 0 && headBytes.count >= head.byteCount
            trace(below: isRead ? head.traceParent(in: headBytes.span) : nil)
        }
        if let trace = state.trace { services.log.spans.append(exchange, trace, at: now) }
    }

    private func trace(below parent: TraceParent?) {
        let spanIDs = services.random.bytes16()
        state.trace = RequestTrace(
            traceID: parent?.traceID ?? services.random.bytes16(), parentID: parent?.spanID,
            // A span id of zero means none.
            spanID: max(1, spanIDs.word0), upstreamSpanID: max(1, spanIDs.word1),
            flags: TraceParent.sampled | (parent?.flags ?? TraceParent.random))
    }
}
