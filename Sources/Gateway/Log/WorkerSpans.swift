import Background
import Bytes
import EventLoop
import HTTP
import Judgement
import OTLP
import Policy
import Settings

/// One worker's spans, gathered during a turn of its loop. Attributes have the names of
/// OpenTelemetry's semantic conventions for HTTP if there are any.
final class WorkerSpans {
    private let queue: SpanQueue
    private let loop: EventLoop
    private var writer = SpanWriter()
    private let turnEnd: TurnEndHook
    private var flagged = TokenBucket()
    private var refused = TokenBucket()
    /// A buffer for values that are made here.
    private var scratch = ByteBuffer(capacity: 64)

    init(queue: SpanQueue, loop: EventLoop) {
        self.queue = queue
        self.loop = loop
        turnEnd = TurnEndHook(loop: loop)
        turnEnd.setBody { [unowned self] in flush() }
    }

    /// True if one more request may have spans because its `traceparent` asks for them.
    func admitsFlagged(_ tracing: SiteTracing, at now: MonotonicInstant) -> Bool {
        flagged.take(
            interval: tracing.interval, depth: tracing.depth, now: now.nanoseconds) == nil
    }

    /// True if one more request may have spans because it was refused.
    func admitsRefused(_ tracing: SiteTracing, at now: MonotonicInstant) -> Bool {
        refused.take(
            interval: tracing.interval, depth: tracing.depth, now: now.nanoseconds) == nil
    }

    func flush() {
        if writer.spanCount > 0 { queue.post(writer.take()) }
    }

    /// Writes the span of an exchange, and of its request to the upstream if there was one.
    func append(_ exchange: Exchange, _ trace: RequestTrace, at now: MonotonicInstant) {
        let clock = WallClock.now()
        let times = SpanTimes(
            wall: UInt64(max(0, clock.seconds)) * 1_000_000_000 + UInt64(clock.nanoseconds),
            now: now)
        let request = LoggedRequest(exchange)
        let head = exchange.intake.headBytes
        let bytes = head.span
        // What was no request has no method.
        let method = request == nil ? .other : exchange.forwarder.methodKind
        appendServer(exchange, trace, times, method, request, bytes)
        if exchange.forwarder.attempts.count > 0 { appendClient(exchange, trace, times, method) }
        if writer.byteCount > Self.batchByteCountMax {
            flush()
        } else {
            turnEnd.schedule()
        }
    }

    private func appendServer(
        _ exchange: Exchange, _ trace: RequestTrace, _ times: SpanTimes, _ method: HTTP.Method,
        _ request: LoggedRequest?, _ bytes: Span<UInt8>
    ) {
        // Zero if the client left before an answer.
        let status = exchange.progress.status
        writer.begin(
            SpanHeader(
                traceID: trace.traceID, spanID: trace.spanID, parentID: trace.parentID,
                kind: .server, flags: trace.flags, isParentRemote: trace.parentID != nil,
                startedAt: times.wall(exchange.arrival.startedAt), endedAt: times.wall,
                isError: status >= 500),
            name: method.spanName, route: Self.route(exchange))
        writer.attribute("http.request.method", constant: method.spanWord)
        if method == .other, let request {
            writer.attribute(
                "http.request.method_original",
                bytes: bytes.extracting(Self.cut(request.method, to: Self.methodByteCountMax)))
        }
        writer.attribute(
            "url.scheme", constant: exchange.client.listener.isTLS ? "https" : "http")
        if let request { append(request, bytes) }
        if let route = Self.route(exchange) { writer.attribute("http.route", string: route) }
        if status > 0 { writer.attribute("http.response.status_code", number: UInt64(status)) }
        let outcome = exchange.outcome
        if status >= 500, outcome.reason != .ok {
            writer.attribute("error.type", constant: outcome.reason.code)
        } else if status >= 500 {
            writer.attribute("error.type", string: "\(status)")
        }
        appendText("client.address") { exchange.recorder.appendClient(to: &$0) }
        appendText("network.peer.address") { Recorder.append(exchange.client.peer, to: &$0) }
        if let index = exchange.intake.match.routeIndex {
            writer.attribute(
                "sallyport.route", string: exchange.site.settings.routes[index].name)
        } else if let endpoint = exchange.intake.match.endpoint {
            writer.attribute("sallyport.route", string: endpoint.routeName)
        }
        writer.attribute("sallyport.decision", constant: outcome.decision.name)
        writer.attribute("sallyport.reason", constant: outcome.reason.code)
        if let cause = outcome.cause { writer.attribute("sallyport.detail", string: cause.text) }
        for (quota, charge) in exchange.quotaUse?.charged ?? [] {
            writer.attribute(named: "sallyport.quota.\(quota.name)", number: UInt64(charge))
        }
        appendText("sallyport.request_id") { exchange.rewriter.appendRequestID(to: &$0) }
        writer.end()
    }

    /// Appends the attributes from the request's head, never its query.
    private func append(_ request: LoggedRequest, _ bytes: Span<UInt8>) {
        writer.attribute(
            "url.path", bytes: bytes.extracting(Self.cut(request.path, to: Self.pathByteCountMax)))
        writer.attribute("network.protocol.version", constant: request.version)
        if let host = request.host {
            let place = HostAndPort(bytes.extracting(host))
            writer.attribute("server.address", bytes: bytes.extracting(host).extracting(place.host))
            if let port = place.port { writer.attribute("server.port", number: UInt64(port)) }
        }
        if let agent = request.userAgent {
            writer.attribute("user_agent.original", bytes: bytes.extracting(agent))
        }
    }

    /// Appends one span for all tries, because the upstream knows all of them by one id.
    private func appendClient(
        _ exchange: Exchange, _ trace: RequestTrace, _ times: SpanTimes, _ method: HTTP.Method
    ) {
        let attempts = exchange.forwarder.attempts
        let hasAnswer = attempts.headAt >= attempts.startedAt
        let status = hasAnswer ? exchange.progress.status : 0
        let isBroken = exchange.outcome.decision == .refused
        writer.begin(
            SpanHeader(
                traceID: trace.traceID, spanID: trace.upstreamSpanID, parentID: trace.spanID,
                kind: .client, flags: trace.flags, isParentRemote: false,
                startedAt: times.wall(attempts.beganAt), endedAt: times.wall,
                isError: isBroken || status >= 400),
            name: method.spanName, route: nil)
        writer.attribute("http.request.method", constant: method.spanWord)
        if let address = attempts.address {
            let text = Array(address.utf8)
            let place = HostAndPort(text.span)
            writer.attribute("server.address", bytes: text.span.extracting(place.host))
            if let port = place.port { writer.attribute("server.port", number: UInt64(port)) }
        }
        let settings = exchange.site.settings
        if let index = exchange.intake.match.routeIndex,
            let upstream = settings.routes[index].upstream
        {
            writer.attribute("sallyport.upstream", string: settings.upstreams[upstream].name)
        }
        if status > 0 { writer.attribute("http.response.status_code", number: UInt64(status)) }
        if attempts.count > 1 {
            writer.attribute("http.request.resend_count", number: UInt64(attempts.count - 1))
        }
        if isBroken {
            writer.attribute("error.type", constant: exchange.outcome.reason.code)
        } else if status >= 400 {
            writer.attribute("error.type", string: "\(status)")
        }
        writer.end()
    }

    private func appendText(_ key: StaticString, _ write: (inout ByteBuffer) -> Void) {
        var text = ByteBuffer()
        swap(&text, &scratch)
        text.clear()
        write(&text)
        writer.attribute(key, bytes: text.readable)
        swap(&text, &scratch)
    }

    /// The pattern of the route, or the path of the gateway's own endpoint.
    private static func route(_ exchange: Exchange) -> String? {
        let site = exchange.site
        guard let index = exchange.intake.match.routeIndex else {
            return exchange.intake.match.endpoint.flatMap { site.endpoints.paths.path(of: $0) }.map
            {
                String(decoding: $0, as: UTF8.self)
            }
        }
        switch site.settings.routes[index].path {
        case .exact(let path): return path
        case .prefix(let path): return path + "*"
        }
    }

    /// Cuts a range, so that a stranger's text cannot fill a queue.
    private static func cut(_ range: Range32, to byteCountMax: UInt32) -> Range32 {
        Range32(start: range.start, count: min(range.count, byteCountMax))
    }

    private static let pathByteCountMax: UInt32 = 1024
    private static let methodByteCountMax: UInt32 = 32
    static let batchByteCountMax = 64 * 1024
}

/// Turns the moments of an exchange into times of day, by the clock at its end.
private struct SpanTimes {
    /// The time of day at `now`, in nanoseconds since 1970.
    let wall: UInt64
    let now: MonotonicInstant

    func wall(_ instant: MonotonicInstant) -> UInt64 {
        let age = now.nanoseconds(since: instant)
        return wall > age ? wall - age : 0
    }
}

extension HTTP.Method {
    /// The method by the semantic conventions: names of spans and values of `http.request.method`
    /// must be few.
    fileprivate var spanWord: StaticString { self == .other ? "_OTHER" : name }
    fileprivate var spanName: StaticString { self == .other ? "HTTP" : name }
}

/// The two parts of `host:port`; the host is everything if there is no port.
private struct HostAndPort {
    let host: Range<Int>
    let port: UInt16?

    init(_ text: Span<UInt8>) {
        var colon = text.count
        while colon > 0, (0x30...0x39).contains(text[colon - 1]) { colon -= 1 }
        guard colon > 1, colon < text.count, text[colon - 1] == UInt8(ascii: ":"),
            let port = UInt16(String(decoding: text.extracting(colon...).array, as: UTF8.self)),
            text[0] == UInt8(ascii: "[") ? text[colon - 2] == UInt8(ascii: "]") : true
        else {
            host = 0..<text.count
            self.port = nil
            return
        }
        // IPv6 addresses stand in brackets, which do not belong to the host.
        host = text[0] == UInt8(ascii: "[") ? 1..<colon - 2 : 0..<colon - 1
        self.port = port
    }
}
