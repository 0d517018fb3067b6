import Attestation
import Bytes
import EventLoop
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// The parts of a request's head that access lines show, as ranges of its bytes.
struct LoggedRequest {
    let method: Range32
    let host: Range32?
    /// The path as it came, without its query, which may hold private data.
    let path: Range32
    let version: StaticString
    private(set) var userAgent: Range32?
    /// The trace ID of the request's only valid `traceparent`. The client chose it.
    private(set) var traceID: Range32?

    /// Nil if no head could be read.
    init?(_ exchange: Exchange) {
        let head = exchange.intake.head
        let headBytes = exchange.intake.headBytes
        guard head.byteCount > 0, headBytes.count >= head.byteCount else { return nil }
        let bytes = headBytes.span
        method = head.method
        host = head.host.map { Self.cut($0) }
        let target = bytes.extracting(head.originTarget)
        var pathCount: UInt32 = 0
        while pathCount < target.count, target[Int(pathCount)] != UInt8(ascii: "?") {
            pathCount += 1
        }
        path = Range32(start: head.originTarget.start, count: pathCount)
        version = exchange.arrival.isHTTP2 ? "2" : head.version == .http11 ? "1.1" : "1.0"
        var traceParentCount = 0
        for field in head.fields {
            if field.known == .userAgent, userAgent == nil {
                userAgent = Self.cut(field.value)
            } else if head.isTraceParent(field, in: bytes) {
                traceParentCount += 1
                let isValid = TraceParent(bytes.extracting(field.value)) != nil
                traceID = isValid ? Range32(start: field.value.start + 3, count: 32) : nil
            }
        }
        if traceParentCount > 1 { traceID = nil }
    }

    /// Cuts a range, so that a stranger's text cannot fill a disk.
    private static func cut(_ range: Range32) -> Range32 {
        Range32(start: range.start, count: min(range.count, byteCountMax))
    }

    private static let byteCountMax: UInt32 = 512
}

extension Recorder {
    /// The client's address as limits see it: the peer's, or the one that trusted proxies name.
    func appendClient(to output: inout ByteBuffer) {
        Self.append(intake.origin?.address, to: &output)
    }

    static func append(_ address: SocketAddress?, to output: inout ByteBuffer) {
        guard let address else { return output.append("unknown") }
        address.appendIP(to: &output)
    }

    /// The environment of the key that the request names, or of the device without one.
    func environment(_ verdict: borrowing Verdict) -> AttestEnvironment? {
        if case .device(let environment) = verdict.identity { return environment }
        return prover.known.key?.environment ?? endpoints.enrolment?.record.environment
    }

    /// True if `log.sample` applies to the line: the request has passed, and nothing special is to
    /// be said of it.
    var isSampled: Bool {
        guard exchange.outcome.reason == .ok, exchange.outcome.cause == nil, loggedStatus < 400
        else { return false }
        switch exchange.outcome.decision {
        case .passed, .verified, .developer, .foreign: return true
        case .answered: return match.endpoint != .attestVerify
        case .observed, .tolerated, .limited, .unjudged, .refused, .undecided: return false
        }
    }

    /// True if the line is left out. The request's id, which is random, decides: every gateway
    /// behind this one that does the same keeps the same lines.
    var isLeftOut: Bool {
        let percent = site.settings.log.samplePercent
        guard percent < 100, isSampled else { return false }
        return exchange.arrival.requestID.word0 % 100 >= UInt64(max(0, percent))
    }
}
