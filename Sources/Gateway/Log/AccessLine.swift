import Attestation
import Bytes
import EventLoop
import GatewayTokens
import HTTP
import JSON
import Judgement
import KeyStore
import Policy
import Settings
import TLS

/// Writes access lines as JSON, one after another.
struct AccessLine: ~Copyable {
    private var writer = JSONWriter()
    private var clock = WallClockText()
    /// A buffer for values that are made here. It is kept, so that a line allocates nothing for
    /// them.
    private var scratch = ByteBuffer(capacity: 64)

    var byteCount: Int { writer.buffer.count }

    /// The lines so far.
    var lines: Span<UInt8> {
        @_lifetime(borrow self)
        get { writer.buffer.readable }
    }

    mutating func clear() { writer.reset() }

    /// The line of an exchange that has ended. Never holds an assertion, a token, a key or a query.
    mutating func append(_ exchange: Exchange, _ verdict: borrowing Verdict, nanoseconds: UInt64) {
        writer.beginObject()
        writeStart(exchange)
        writeRequest(exchange)
        writer.member("status", int: Int64(exchange.recorder.loggedStatus))
        writer.member("bytes_in", int: Int64(exchange.intake.receivedByteCount))
        writer.member("bytes_out", int: Int64(exchange.progress.byteCount))
        writer.member("duration_ms", double: milliseconds(nanoseconds))
        writeOutcome(exchange, verdict)
        writeProof(exchange, verdict)
        if let session = exchange.client.session {
            writer.member("tls", constant: session.version.name)
            writer.member("cipher", string: session.cipherName)
        }
        writeUpstream(exchange)
        if let use = exchange.quotaUse, !use.charged.isEmpty { write(use) }
        let sample = exchange.site.settings.log.samplePercent
        if sample < 100, exchange.recorder.isSampled { writer.member("sample", int: Int64(sample)) }
        writer.endObject()
        writer.raw("\n")
    }

    private mutating func writeStart(_ exchange: Exchange) {
        var text = ByteBuffer()
        swap(&text, &scratch)
        text.clear()
        clock.appendTimestamp(to: &text)
        writer.member("time", bytes: text.readable)
        text.clear()
        exchange.rewriter.appendRequestID(to: &text)
        writer.member("request_id", bytes: text.readable)
        text.clear()
        exchange.recorder.appendClient(to: &text)
        writer.member("client", bytes: text.readable)
        text.clear()
        Recorder.append(exchange.client.peer, to: &text)
        writer.member("peer", bytes: text.readable)
        swap(&text, &scratch)
    }

    private mutating func writeOutcome(_ exchange: Exchange, _ verdict: borrowing Verdict) {
        if let index = exchange.intake.match.routeIndex {
            writer.member("route", string: exchange.site.settings.routes[index].name)
        }
        let outcome = exchange.outcome
        writer.member("decision", constant: outcome.decision.name)
        writer.member("reason", constant: outcome.reason.code)
        if let cause = outcome.cause { writer.member("detail", string: cause.text) }
        if verdict.isJudged { write(verdict) }
    }

    /// Writes the sender that the request claims and the part of it that is proved.
    private mutating func writeProof(_ exchange: Exchange, _ verdict: borrowing Verdict) {
        if exchange.intake.match.endpoint == .assertToken, exchange.outcome.decision == .verified {
            writer.beginArray("token_routes")
            for name in exchange.endpoints.tokenAudience { writer.element(string: name) }
            writer.endArray()
        }
        if let token = verdict.sender.developer {
            writer.member("developer_token", string: token.name)
            writer.member("developer_token_id", string: token.id)
        }
        if let proof = verdict.sender.foreign { writer.member("proof", string: proof) }
        if let details = exchange.endpoints.enrolment?.details {
            for detail in details {
                switch detail.value {
                case .word(let word): writer.member(named: detail.name, value: .string(word))
                case .number(let number):
                    writer.member(named: detail.name, value: .integer(Int64(clamping: number)))
                }
            }
        }
        if let keyID = verdict.sender.keyID { writeKey(keyID, exchange.site) }
        if let appID = verdict.sender.appID { writer.member("app", string: appID) }
        if let platform = verdict.sender.platform {
            writer.member("platform", string: platform.text)
        }
        if let version = exchange.prover.known.key?.bundleVersion
            ?? exchange.endpoints.enrolment?.record.bundleVersion
        {
            writer.member("app_version", string: version)
        }
        if let environment = exchange.recorder.environment(verdict) {
            writer.member("environment", string: environment.rawValue)
        }
        if let signals = verdict.signals, !signals.raised.isEmpty {
            writer.beginArray("signals")
            for rule in signals.raised { writer.element(string: rule.name) }
            writer.endArray()
        }
    }

    /// Writes the worth of the proof, the verdict, and the consequence if there was one.
    private mutating func write(_ verdict: borrowing Verdict) {
        writer.member("tier", constant: verdict.tier.name)
        if let bucket = verdict.bucket { writer.member("bucket", constant: bucket.name) }
        if let rollout = verdict.rollout {
            writer.member("rollout", int: Int64(rollout.percent))
            writer.member("cohort", int: Int64(rollout.cohort))
        }
        if verdict.isOutdated { writer.member("outdated", bool: true) }
        if verdict.isRisky { writer.member("risk_above", bool: true) }
    }

    /// Writes enough to tell keys apart, and for the operator to find this one in the registry.
    private mutating func writeKey(_ keyID: KeyID, _ site: Site) {
        switch site.settings.log.keys {
        case .pseudonym:
            writer.member("key", digitsOf: site.pseudonyms.pseudonym(of: keyID).value)
        case .prefix: writer.member("key", string: keyID.logPrefix)
        case .off: break
        }
    }

    private mutating func writeRequest(_ exchange: Exchange) {
        guard let request = LoggedRequest(exchange) else { return }
        let headBytes = exchange.intake.headBytes
        let bytes = headBytes.span
        writer.member("method", bytes: bytes.extracting(request.method))
        if let host = request.host { writer.member("host", bytes: bytes.extracting(host)) }
        writer.member("path", bytes: bytes.extracting(request.path))
        writer.member("version", constant: request.version)
        if let agent = request.userAgent {
            writer.member("user_agent", bytes: bytes.extracting(agent))
        }
        if exchange.checkCall.question != nil,
            let check = exchange.client.listener.settings.check
        {
            writer.member("check", string: check.dialect.rawValue)
        }
        if let trace = exchange.recorder.trace {
            writer.member("trace_id", digitsOf: trace.traceID)
        } else if let trace = request.traceID {
            writer.member("trace_id", bytes: bytes.extracting(trace))
        }
    }

    /// Writes what the request was charged.
    private mutating func write(_ use: QuotaUse) {
        writer.beginObject("quotas")
        for (quota, charge) in use.charged {
            writer.member(named: quota.name, value: .integer(Int64(charge)))
        }
        writer.endObject()
    }

    private mutating func writeUpstream(_ exchange: Exchange) {
        guard let address = exchange.forwarder.attempts.address else { return }
        writer.member("upstream", string: address)
        guard exchange.forwarder.attempts.headAt > exchange.forwarder.attempts.startedAt else {
            return
        }
        let wait = exchange.forwarder.attempts.headAt.nanoseconds(
            since: exchange.forwarder.attempts.startedAt)
        writer.member("upstream_ms", double: milliseconds(wait))
    }

    /// Milliseconds, to the microsecond.
    private func milliseconds(_ nanoseconds: UInt64) -> Double {
        Double(nanoseconds / 1000) / 1000
    }
}

extension KeyID {
    var logPrefix: String { String(base64.prefix(12)) }
}
