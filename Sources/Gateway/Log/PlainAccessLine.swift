import Bytes
import EventLoop
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// Writes access lines that are not JSON, one after another: for people, and for tools that parse
/// the lines of other servers.
struct PlainAccessLine: ~Copyable {
    private var buffer = ByteBuffer()
    private var clock = WallClockText()
    private var date = ByteBuffer(capacity: 32)

    var byteCount: Int { buffer.count }

    /// The lines so far.
    var lines: Span<UInt8> {
        @_lifetime(borrow self)
        get { buffer.readable }
    }

    mutating func clear() { buffer.clear() }

    mutating func append(
        _ exchange: Exchange, _ verdict: borrowing Verdict, _ format: LogSettings.Format,
        nanoseconds: UInt64
    ) {
        if format == .combined {
            appendCombined(exchange)
        } else {
            appendText(exchange, verdict, nanoseconds: nanoseconds)
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    /// Apache's and nginx' "combined". The user field is empty, and the referrer is left out
    /// because it may hold a query.
    private mutating func appendCombined(_ exchange: Exchange) {
        exchange.recorder.appendClient(to: &buffer)
        buffer.append(" - - [")
        appendCommonDate()
        buffer.append("] \"")
        let request = LoggedRequest(exchange)
        if let request {
            append(request.method, of: exchange)
            buffer.append(" ")
            append(request.path, of: exchange)
            buffer.append(" HTTP/")
            buffer.append(request.version)
            if exchange.arrival.isHTTP2 { buffer.append(".0") }
        }
        buffer.append("\" ")
        buffer.append(decimal: UInt64(exchange.recorder.loggedStatus))
        buffer.append(" ")
        buffer.append(decimal: UInt64(exchange.progress.byteCount))
        buffer.append(" \"-\" \"")
        if let agent = request?.userAgent {
            append(agent, of: exchange, keepsSpaces: true)
        } else {
            buffer.append("-")
        }
        buffer.append("\"")
    }

    /// `06/Nov/1994:08:49:37 +0000`, from `Sun, 06 Nov 1994 08:49:37 GMT`.
    private mutating func appendCommonDate() {
        date.clear()
        clock.appendHTTPDate(to: &date)
        let text = date.readable.array
        buffer.append(text.span.extracting(5..<7))
        buffer.append("/")
        buffer.append(text.span.extracting(8..<11))
        buffer.append("/")
        buffer.append(text.span.extracting(12..<16))
        buffer.append(":")
        buffer.append(text.span.extracting(17..<25))
        buffer.append(" +0000")
    }

    /// Writes `TIME DECISION STATUS REASON METHOD PATH NAME=VALUE...`
    private mutating func appendText(
        _ exchange: Exchange, _ verdict: borrowing Verdict, nanoseconds: UInt64
    ) {
        let outcome = exchange.outcome
        clock.appendTimestamp(to: &buffer)
        buffer.append(" ")
        buffer.append(outcome.decision.name)
        buffer.append(" ")
        buffer.append(decimal: UInt64(exchange.recorder.loggedStatus))
        buffer.append(" ")
        buffer.append(outcome.reason.code)
        if let request = LoggedRequest(exchange) {
            buffer.append(" ")
            append(request.method, of: exchange)
            buffer.append(" ")
            append(request.path, of: exchange)
        }
        buffer.append(" client=")
        exchange.recorder.appendClient(to: &buffer)
        if let index = exchange.intake.match.routeIndex {
            append("route", exchange.site.settings.routes[index].name)
        }
        if let cause = outcome.cause { append("detail", cause.text) }
        if let appID = verdict.sender.appID { append("app", appID) }
        if let version = exchange.prover.known.key?.bundleVersion { append("app_version", version) }
        append("ms", "\(Double(nanoseconds / 1000) / 1000)")
        if let address = exchange.forwarder.attempts.address { append("upstream", address) }
        if let use = exchange.quotaUse, !use.charged.isEmpty {
            let charges = use.charged.map { "\($0.quota.name):\($0.charge)" }
            append("quotas", charges.joined(separator: ","))
        }
        buffer.append(" id=")
        exchange.rewriter.appendRequestID(to: &buffer)
    }

    private mutating func append(_ name: StaticString, _ value: String) {
        buffer.append(" ")
        buffer.append(name)
        buffer.append("=")
        append(Array(value.utf8).span, keepsSpaces: false)
    }

    private mutating func append(
        _ range: Range32, of exchange: Exchange, keepsSpaces: Bool = false
    ) {
        let bytes = exchange.intake.headBytes
        append(bytes.span.extracting(range), keepsSpaces: keepsSpaces)
    }

    /// Appends a stranger's bytes as nginx does: a byte that could end a value, or control a
    /// terminal, is written as `\xHH`.
    private mutating func append(_ bytes: Span<UInt8>, keepsSpaces: Bool) {
        for index in bytes.indices {
            let byte = bytes[index]
            let isPlain = byte > 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C
            if isPlain || (keepsSpaces && byte == 0x20) {
                buffer.append(byte)
            } else {
                buffer.append("\\x")
                buffer.append(Hex.digit(byte >> 4))
                buffer.append(Hex.digit(byte & 0xF))
            }
        }
    }
}
