import AppAttest
import Bytes
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

extension HeadRewriter {
    /// Reaches the verdict, and writes the request head for the upstream. Nothing goes there
    /// without a verdict.
    func rewriteHeaders() throws(Refusal) -> Step {
        try judge.reachVerdict()
        switch judge.verdict {
        case .some(let verdict):
            guard let question = checkCall.question else { return try writeHead(verdict) }
            return try checkCall.allow(question, verdict)
        case nil: throw Refusal(.internalFailure, .undecided)
        }
    }

    /// Writes the request head for the upstream: what the client sent, byte for byte, less what
    /// ends at this hop or only the gateway may say, plus what the gateway says.
    private func writeHead(_ verdict: borrowing Verdict) throws(Refusal) -> Step {
        let handling = match.handling
        if handling != nil, let step = answerRoute() { return step }
        var forwardsLeft: UInt64?
        if head.methodKind == .options, let count = try intake.forwardsAllowed() {
            // The last hop that may answer is this one.
            if count == 0 { return exchange.answer(LocalResponse(status: 200)) }
            forwardsLeft = count - 1
        }
        let bytes = headBytes.span
        upstreamHead.reserve(bytes.count + 512)
        upstreamHead.append(bytes.extracting(head.method))
        upstreamHead.append(UInt8(ascii: " "))
        if let rewrite = handling?.rewrite {
            rewrite.append(bytes.extracting(head.originTarget), to: &upstreamHead)
        } else {
            upstreamHead.append(bytes.extracting(head.originTarget))
        }
        upstreamHead.append(" HTTP/1.1\r\n")
        // RFC 9110 section 7.2: Host first. HTTP/1.0 clients may send none.
        if let host = handling?.upstreamHost {
            upstreamHead.append("Host: ")
            upstreamHead.append(host)
            upstreamHead.append("\r\n")
        } else if let host = head.host {
            upstreamHead.append("Host: ")
            upstreamHead.append(bytes.extracting(host))
            upstreamHead.append("\r\n")
        } else {
            upstreamHead.append("Host: localhost\r\n")
        }
        appendClientFields(handling?.requestEdits)
        appendVia(handling?.requestEdits)
        if let forwardsLeft {
            upstreamHead.append("Max-Forwards: ")
            upstreamHead.append(decimal: forwardsLeft)
            upstreamHead.append("\r\n")
        }
        if let edits = handling?.requestEdits { append(edits, to: &upstreamHead) }
        appendForwarding()
        if let trace = recorder.trace { append(trace, handling?.requestEdits) }
        try append(verdict)
        if forwarder.tunnel.isAsked {
            upstreamHead.append("Connection: Upgrade\r\nUpgrade: websocket\r\n")
        }
        appendFraming()
        upstreamHead.append("\r\n")
        appendSmallBody()
        return .next
    }

    /// A held body's length is known; one that goes on as it comes keeps the framing it has.
    private func appendFraming() {
        guard head.framing != .none else { return }
        var byteCount = UInt64(intake.body.byteCount)
        if intake.isStreaming {
            guard case .length(let length) = head.framing else {
                return upstreamHead.append("Transfer-Encoding: chunked\r\n")
            }
            byteCount = length
        }
        upstreamHead.append("Content-Length: ")
        upstreamHead.append(decimal: byteCount)
        upstreamHead.append("\r\n")
    }

    /// A small body goes out with the head, in one write: copying it costs less than a second call.
    private func appendSmallBody() {
        forwarder.attempts.isBodyInHead =
            intake.body.isInMemory && intake.body.byteCount <= Self.inlineBodyByteCountMax
        guard forwarder.attempts.isBodyInHead, intake.body.byteCount > 0 else { return }
        intake.body.withMemory { upstreamHead.append($0) }
    }

    static let inlineBodyByteCountMax = 16 * 1024

    /// The client's own fields, except framing, hop-by-hop ones, those that `Connection` names,
    /// and every spelling of the ones only the gateway sets.
    private func appendClientFields(_ edits: FieldEdits?) {
        let bytes = headBytes.span
        let keepsForwarding = client.isPeerTrusted
        let names = site.fieldNames
        let hasNominated = !head.connectionTokens.isEmpty
        for field in head.fields {
            let name = bytes.extracting(field.name)
            if let edits, edits.removed.contains(name) { continue }
            switch field.known.forwarding {
            case .never: continue
            case .ifTrusted: if !keepsForwarding { continue }
            case .counted: if head.methodKind == .options { continue }
            case .always:
                if names.reserved.contains(name) || isWithheld(name, names) { continue }
            }
            if let trace = recorder.trace, isReplaced(field, in: trace) { continue }
            if hasNominated, head.isNominated(field, in: bytes) { continue }
            upstreamHead.append(line: field, of: bytes)
        }
    }

    /// Whether `name`, which is no known field's, stands for one that may not pass: upstreams that
    /// fold `_` to `-`, as CGI does, would take `X_Forwarded_For` for ours.
    private func isWithheld(_ name: Span<UInt8>, _ names: SiteFieldNames) -> Bool {
        if names.forwarding.contains(name) {
            return !client.isPeerTrusted || isDisguised(name)
        }
        return names.overriding.contains(name)
    }

    /// Whether a server may read `name` as another one that is spelled with `-` alone.
    func isDisguised(_ name: Span<UInt8>) -> Bool {
        for index in name.indices {
            let byte = ASCII.lowercased(name[index])
            let isPlain = (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            guard isPlain || byte == UInt8(ascii: "-") else { return true }
        }
        return false
    }

    /// The request id: the trusted peer's own where it sent a usable one, else ours.
    func appendRequestID(to output: inout ByteBuffer) {
        if let trustedRequestID = exchange.arrival.trustedRequestID {
            output.append(headBytes.span.extracting(trustedRequestID))
            return
        }
        output.append(paddedHexadecimal: exchange.arrival.requestID.word0)
        output.append(paddedHexadecimal: exchange.arrival.requestID.word1)
    }
}

extension KnownField {
    enum Forwarding {
        case always
        /// Ends at this hop, or is written anew from what was checked.
        case never
        /// Says who the client is: kept from trusted peers only.
        case ifTrusted
        /// One less at each hop of OPTIONS; of no meaning elsewhere.
        case counted
    }

    var forwarding: Forwarding {
        switch self {
        case .host, .connection, .contentLength, .transferEncoding, .te, .trailer, .upgrade,
            .keepAlive, .proxyConnection, .proxyAuthorization, .proxyAuthenticate, .http2Settings,
            .expect, .forwarded, .xForwardedFor, .xRequestID:
            .never
        case .xAppAttestFailure: .never
        // They ask the upstream for another method or path than the one that was matched: on an
        // open route they would lead to what a stricter one guards.
        case .xHTTPMethod, .xHTTPMethodOverride, .xMethodOverride, .xOriginalURL, .xRewriteURL:
            .never
        case .xForwardedHost, .xForwardedProto, .xForwardedPort, .xForwardedPrefix,
            .xForwardedServer, .xForwardedSsl, .xForwardedScheme, .xRealIP:
            .ifTrusted
        case .maxForwards: .counted
        default: .always
        }
    }
}
