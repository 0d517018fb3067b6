import Attestation
import Bytes
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

extension HeadRewriter {
    /// Reaches the verdict and writes the request head for the upstream. No request goes there
    /// without a verdict.
    func rewriteHeaders() throws(Refusal) -> Step {
        try judge.reachVerdict()
        // Without a name for the state, a build that is not optimized would keep it for ever.
        let judged = judge.state
        switch judged.verdict {
        case .some(let verdict):
            guard let question = checkCall.question else { return try writeHead(verdict) }
            return try checkCall.allow(question, verdict)
        case nil: throw Refusal(.internalFailure, .undecided)
        }
    }

    /// Writes the request head: the client's fields byte for byte, without those that end at this
    /// hop or that only the gateway may set, and then the gateway's own.
    private func writeHead(_ verdict: borrowing Verdict) throws(Refusal) -> Step {
        let handling = match.handling
        if handling != nil, let step = answerRoute() { return step }
        var forwardsLeft: UInt64?
        if head.methodKind == .options, let count = try intake.forwardsAllowed() {
            // This is the last hop, so it answers.
            if count == 0 { return exchange.answer(LocalResponse(status: 200)) }
            forwardsLeft = count - 1
        }
        let bytes = headBytes.span
        state.upstreamHead.reserve(bytes.count + 512)
        state.upstreamHead.append(bytes.extracting(head.method))
        state.upstreamHead.append(UInt8(ascii: " "))
        if let rewrite = handling?.rewrite {
            rewrite.append(bytes.extracting(head.originTarget), to: &state.upstreamHead)
        } else {
            state.upstreamHead.append(bytes.extracting(head.originTarget))
        }
        state.upstreamHead.append(" HTTP/1.1\r\n")
        // `Host` comes first (RFC 9110 section 7.2). HTTP/1.0 clients may send none.
        if let host = handling?.upstreamHost {
            state.upstreamHead.append("Host: ")
            state.upstreamHead.append(host)
            state.upstreamHead.append("\r\n")
        } else if let host = head.host {
            state.upstreamHead.append("Host: ")
            state.upstreamHead.append(bytes.extracting(host))
            state.upstreamHead.append("\r\n")
        } else {
            state.upstreamHead.append("Host: localhost\r\n")
        }
        appendClientFields(
            bytes, handling?.requestEdits, readsAnswer: handling?.quotas?.readsJSON == true)
        appendVia(handling?.requestEdits)
        if let forwardsLeft {
            state.upstreamHead.append("Max-Forwards: ")
            state.upstreamHead.append(decimal: forwardsLeft)
            state.upstreamHead.append("\r\n")
        }
        if let edits = handling?.requestEdits { append(edits, to: &state.upstreamHead) }
        appendForwarding(bytes)
        if let trace = recorder.trace { append(trace, handling?.requestEdits) }
        try append(verdict)
        if let quotas = handling?.quotas {
            if quotas.readsJSON { state.upstreamHead.append("Accept-Encoding: identity\r\n") }
            appendQuotas()
        }
        if forwarder.tunnel.isAsked {
            state.upstreamHead.append("Connection: Upgrade\r\nUpgrade: websocket\r\n")
        }
        appendFraming()
        state.upstreamHead.append("\r\n")
        appendSmallBody()
        return .next
    }

    /// Announces a held body's length, which is known. A streamed body keeps the framing that it
    /// has.
    private func appendFraming() {
        guard head.framing != .none else { return }
        var byteCount = UInt64(intake.state.body.byteCount)
        if intake.isStreaming {
            guard case .length(let length) = head.framing else {
                return state.upstreamHead.append("Transfer-Encoding: chunked\r\n")
            }
            byteCount = length
        }
        state.upstreamHead.append("Content-Length: ")
        state.upstreamHead.append(decimal: byteCount)
        state.upstreamHead.append("\r\n")
    }

    /// Appends a small body to the head, for one write. Copying it costs less than a second system
    /// call.
    private func appendSmallBody() {
        let isInHead =
            intake.state.body.isInMemory
            && intake.state.body.byteCount <= Self.inlineBodyByteCountMax
        forwarder.sendsBody(inHead: isInHead)
        guard isInHead, intake.state.body.byteCount > 0 else { return }
        intake.state.body.withMemory { state.upstreamHead.append($0) }
    }

    static let inlineBodyByteCountMax = 16 * 1024

    /// Appends the client's own fields. Left out are framing, hop-by-hop fields, those that
    /// `Connection` names, and every spelling of the fields that only the gateway sets.
    ///
    /// - Parameter readsAnswer: true if the gateway has to read the answer, so that the client may
    ///   not ask for a coding.
    private func appendClientFields(
        _ bytes: Span<UInt8>, _ edits: FieldEdits?, readsAnswer: Bool
    ) {
        let keepsForwarding = client.isPeerTrusted
        let names = site.fieldNames
        let hasNominated = !head.connectionTokens.isEmpty
        for field in head.fields {
            let name = bytes.extracting(field.name)
            if let edits, edits.removed.contains(name) { continue }
            if readsAnswer, field.known == .acceptEncoding { continue }
            switch field.known.forwarding {
            case .never: continue
            case .ifTrusted: if !keepsForwarding { continue }
            case .counted: if head.methodKind == .options { continue }
            case .always:
                if names.reserved.contains(name) || isWithheld(name, names) { continue }
            }
            if let trace = recorder.trace, isReplaced(field, in: trace) { continue }
            if hasNominated, head.isNominated(field, in: bytes) { continue }
            state.upstreamHead.append(line: field, of: bytes)
        }
    }

    /// True if `name`, which is not a known field's, stands for a field that may not pass. An
    /// upstream that folds `_` to `-`, as CGI does, would take `X_Forwarded_For` for the gateway's
    /// field.
    private func isWithheld(_ name: Span<UInt8>, _ names: SiteFieldNames) -> Bool {
        if names.forwarding.contains(name) {
            return !client.isPeerTrusted || isDisguised(name)
        }
        return names.overriding.contains(name)
    }

    /// True if a server may read `name` as another name that is spelled with `-` alone.
    func isDisguised(_ name: Span<UInt8>) -> Bool {
        for index in name.indices {
            let byte = ASCII.lowercased(name[index])
            let isPlain = (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            guard isPlain || byte == UInt8(ascii: "-") else { return true }
        }
        return false
    }

    /// Appends the request id: the trusted peer's if it sent a usable one, or else the gateway's.
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
        /// The field ends at this hop, or the gateway writes it anew from what it checked.
        case never
        /// The field names the client, so it is kept only from trusted peers.
        case ifTrusted
        /// Each hop of OPTIONS lowers it by one; for other methods it means nothing.
        case counted
    }

    var forwarding: Forwarding {
        switch self {
        case .host, .connection, .contentLength, .transferEncoding, .te, .trailer, .upgrade,
            .keepAlive, .proxyConnection, .proxyAuthorization, .proxyAuthenticate, .http2Settings,
            .expect, .forwarded, .xForwardedFor, .xRequestID:
            .never
        case .xAppAttestFailure: .never
        // These fields ask the upstream for another method or path than the matched one. On an open
        // route they would reach what a stricter route guards.
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
