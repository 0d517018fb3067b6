import Bytes
import EventLoop
import HTTP
import Settings

/// The fields that name the client to the upstream. The gateway continues each form that a trusted
/// proxy used, and always writes the form that the operator chose.
extension HeadRewriter {
    func appendForwarding(_ bytes: Span<UInt8>) {
        let form = site.settings.forwarded
        let hasChain = client.isPeerTrusted && head.has(.xForwardedFor)
        if form != .rfc7239 || hasChain { appendXForwarded(bytes, isComplete: form != .rfc7239) }
        let hasForwarded = client.isPeerTrusted && head.has(.forwarded)
        if form != .xForwarded || hasForwarded { appendForwarded(hasForwarded: hasForwarded) }
        state.upstreamHead.append("X-Request-Id: ")
        appendRequestID(to: &state.upstreamHead)
        state.upstreamHead.append("\r\n")
    }

    /// `X-Forwarded-For`. If `isComplete`, also the scheme and host that no trusted proxy has
    /// named.
    private func appendXForwarded(_ bytes: Span<UInt8>, isComplete: Bool) {
        state.upstreamHead.append("X-Forwarded-For: ")
        var hasProto = false
        var hasHost = false
        if client.isPeerTrusted {
            for field in head.fields {
                switch field.known {
                case .xForwardedFor where !field.value.isEmpty:
                    state.upstreamHead.append(bytes.extracting(field.value))
                    state.upstreamHead.append(", ")
                case .xForwardedProto: hasProto = true
                case .xForwardedHost: hasHost = true
                default: break
                }
            }
        }
        if let downstream = exchange.downstream { state.upstreamHead.append(downstream.peerText) }
        state.upstreamHead.append("\r\n")
        guard isComplete else { return }
        if !hasProto {
            state.upstreamHead.append("X-Forwarded-Proto: ")
            state.upstreamHead.append(scheme)
            state.upstreamHead.append("\r\n")
        }
        if !hasHost, let host = head.host {
            state.upstreamHead.append("X-Forwarded-Host: ")
            state.upstreamHead.append(bytes.extracting(host))
            state.upstreamHead.append("\r\n")
        }
    }

    private var scheme: StaticString { client.listener.isTLS ? "https" : "http" }

    /// `Forwarded` (RFC 7239), with one element per hop. The gateway's is the last.
    private func appendForwarded(hasForwarded: Bool) {
        state.upstreamHead.append("Forwarded: ")
        let bytes = headBytes.span
        if client.isPeerTrusted {
            if hasForwarded { appendForwardedElements() }
            // RFC 7239 section 7.4: converts the chain if the proxies before know only the old
            // form.
            for field in head.fields where field.known == .xForwardedFor && !hasForwarded {
                appendElements(of: bytes.extracting(field.value))
            }
        }
        if let peer = client.peer { Self.append(peer, to: &state.upstreamHead) }
        if let host = head.host {
            state.upstreamHead.append(";host=\"")
            state.upstreamHead.append(bytes.extracting(host))
            state.upstreamHead.append("\"")
        }
        state.upstreamHead.append(";proto=")
        state.upstreamHead.append(scheme)
        state.upstreamHead.append("\r\n")
    }

    /// The elements that trusted proxies sent. A field that breaks RFC 7239's grammar is dropped,
    /// because it could change how the rest is read. The fields before it are dropped as well,
    /// because their elements would stand next to hops that did not send them.
    private func appendForwardedElements() {
        let bytes = headBytes.span
        var values: [[UInt8]] = []
        for field in head.fields where field.known == .forwarded {
            if let value = ForwardedNodes.canonical(bytes.extracting(field.value).array) {
                values.append(value)
            } else {
                values.removeAll()
            }
        }
        for value in values {
            state.upstreamHead.append(value)
            state.upstreamHead.append(", ")
        }
    }

    private func appendElements(of value: Span<UInt8>) {
        for element in value.array.split(separator: 0x2C) {
            if let address = ForwardedChain.address(ForwardedChain.trimmed(element)) {
                Self.append(address, to: &state.upstreamHead)
            } else {
                state.upstreamHead.append("for=unknown")
            }
            state.upstreamHead.append(", ")
        }
    }

    /// A node (RFC 7239 section 6). IPv6 is in brackets, and so has to be quoted.
    private static func append(_ address: SocketAddress, to output: inout ByteBuffer) {
        switch address.ipBytes.count {
        case 4:
            output.append("for=")
            address.appendIP(to: &output)
        case 16:
            output.append("for=\"[")
            address.appendIP(to: &output)
            output.append("]\"")
        default: output.append("for=unknown")
        }
    }
}
