import AppAttest
import Bytes
import EventLoop
import GatewayTokens
import HTTP
import JSON
import KeyStore
import Policy
import Settings
import TLS

/// One worker's access lines, gathered for a turn of its loop and handed to the log's thread at
/// once.
final class WorkerLog {
    private let writers: LogWriters
    private var writer = JSONWriter()
    private var clock = WallClockText()
    private var timestamp = ByteBuffer(capacity: 32)
    private var turnEnd: TurnEndHook?
    private var repeated = RepeatedEvents()
    private let loop: EventLoop

    init(writers: LogWriters, loop: EventLoop) {
        self.writers = writers
        self.loop = loop
        turnEnd = TurnEndHook(loop: loop) { [unowned self] in flush() }
    }

    func event(level: StaticString = "warning", _ name: StaticString, _ message: String) {
        writers.event(level: level, name, message)
    }

    /// As ``event(level:_:_:)``, of what strangers can bring about as often as they like: the same
    /// words once a minute, with how often they were left out.
    func repeatedEvent(_ name: StaticString, _ message: String) {
        guard let message = repeated.text(message, at: loop.now) else { return }
        event(name, message)
    }

    /// Ends the turn: what was gathered goes to the log's thread.
    func flush() {
        guard writer.buffer.count > 0 else { return }
        writers.access?.post(writer.buffer.readable.array)
        writer.reset()
    }

    /// The line of an exchange that has ended. Never holds an assertion, a token, a key or a query.
    func access(_ exchange: Exchange, nanoseconds: UInt64) {
        guard writers.access != nil, !exchange.listener.isAdmin else { return }
        timestamp.clear()
        clock.appendTimestamp(to: &timestamp)
        writer.beginObject()
        writer.member("time", bytes: timestamp.readable)
        writer.member("request_id", string: exchange.requestIDText)
        writer.member("client", string: exchange.peerText)
        writeRequest(exchange)
        writer.member("status", int: Int64(exchange.loggedStatus))
        writer.member("bytes_in", int: Int64(exchange.receivedByteCount))
        writer.member("bytes_out", int: Int64(exchange.responseByteCount))
        writer.member("duration_ms", double: milliseconds(nanoseconds))
        if let index = exchange.routeIndex {
            writer.member("route", string: exchange.site.settings.routes[index].name)
        }
        writer.member("decision", constant: exchange.decision.name)
        writer.member("reason", constant: exchange.reason.code)
        if let cause = exchange.cause { writer.member("detail", string: cause.text) }
        if exchange.policy.mode != .off, exchange.endpoint == nil {
            writeJudgement(exchange)
        }
        if exchange.endpoint == .assertToken, exchange.decision == .verified {
            writer.beginArray("token_routes")
            for name in exchange.tokenAudience { writer.element(string: name) }
            writer.endArray()
        }
        if let token = exchange.developerToken {
            writer.member("developer_token", string: token.name)
            writer.member("developer_token_id", string: token.id)
        }
        if let security = exchange.enrolment?.macSecurity, security != .notMac {
            writer.member("mac_security", string: security.rawValue)
        }
        if let keyID = exchange.claimedKeyID ?? exchange.enrolment?.keyID
            ?? exchange.inquiry?.order?.keyID
        {
            writeKey(keyID, exchange.site)
        }
        if let appID = exchange.claimedAppID { writer.member("app", string: appID) }
        if let signals = exchange.signals, !signals.raised.isEmpty {
            writer.beginArray("signals")
            for signal in signals.raised {
                writer.element(string: exchange.site.signals?.rule(of: signal)?.name ?? "")
            }
            writer.endArray()
        }
        if let session = exchange.session {
            writer.member("tls", constant: session.version.name)
            writer.member("cipher", string: session.cipherName)
        }
        writeUpstream(exchange)
        writer.endObject()
        writer.raw("\n")
        if writer.buffer.count > Self.batchByteCountMax {
            flush()
        } else {
            turnEnd?.schedule()
        }
    }

    /// What the proof was worth, what it counts as, and whether that had any consequence.
    private func writeJudgement(_ exchange: Exchange) {
        writer.member("tier", constant: exchange.provedTier.name)
        if let bucket = exchange.requestBucket { writer.member("bucket", constant: bucket.name) }
        if exchange.policy.mode == .enforce, let percent = exchange.rolloutPercent, percent < 100 {
            writer.member("rollout", int: Int64(percent))
            writer.member("cohort", int: Int64(exchange.cohort))
        }
        if exchange.isOutdated { writer.member("outdated", bool: true) }
        if exchange.isRisky { writer.member("risk_above", bool: true) }
    }

    /// Enough to tell keys apart, and for the operator to find this one in the registry.
    private func writeKey(_ keyID: KeyID, _ site: Site) {
        switch site.settings.log.keys {
        case .pseudonym:
            writer.member("key", digitsOf: site.pseudonyms.pseudonym(of: keyID).value)
        case .prefix: writer.member("key", string: keyID.logPrefix)
        case .off: break
        }
    }

    private func writeRequest(_ exchange: Exchange) {
        let head = exchange.head
        let headBytes = exchange.headBytes
        guard head.byteCount > 0, headBytes.count >= head.byteCount else { return }
        let bytes = headBytes.span
        writer.member("method", bytes: bytes.extracting(head.method))
        let target = bytes.extracting(head.originTarget)
        var pathCount = 0
        while pathCount < target.count, target[pathCount] != UInt8(ascii: "?") { pathCount += 1 }
        // Without its query, which may hold what is nobody's business.
        writer.member("path", bytes: target.extracting(0..<pathCount))
        let version: StaticString =
            exchange.isHTTP2 ? "2" : head.version == .http11 ? "1.1" : "1.0"
        writer.member("version", constant: version)
    }

    private func writeUpstream(_ exchange: Exchange) {
        guard let address = exchange.upstreamAddress else { return }
        writer.member("upstream", string: address)
        guard exchange.upstreamHeadAt > exchange.upstreamStartedAt else { return }
        let wait = exchange.upstreamHeadAt.nanoseconds(since: exchange.upstreamStartedAt)
        writer.member("upstream_ms", double: milliseconds(wait))
    }

    /// To the microsecond.
    private func milliseconds(_ nanoseconds: UInt64) -> Double {
        Double(nanoseconds / 1000) / 1000
    }

    static let batchByteCountMax = 64 * 1024
}

extension Site {
    /// What stands for a key in the text of an event.
    func logName(of keyID: KeyID) -> String {
        switch settings.log.keys {
        case .pseudonym: "key \(pseudonyms.pseudonym(of: keyID))"
        case .prefix: "key \(keyID.logPrefix)"
        case .off: "a key"
        }
    }
}

extension KeyID {
    fileprivate var logPrefix: String { String(base64.prefix(12)) }
}
