import Bytes
import EventLoop
import HTTP
import Settings

/// For whom the gateway asks. What a trusted proxy said is continued in the form in which it said
/// so; the form that the operator chose is written in any case.
extension Exchange {
    func appendForwarding() {
        let form = site.settings.forwarded
        let hasChain = client.isPeerTrusted && head.has(.xForwardedFor)
        if form != .rfc7239 || hasChain { appendXForwarded(isComplete: form != .rfc7239) }
        let hasForwarded = client.isPeerTrusted && head.has(.forwarded)
        if form != .xForwarded || hasForwarded { appendForwarded(hasForwarded: hasForwarded) }
        upstreamHead.append("X-Request-Id: ")
        appendRequestID(to: &upstreamHead)
        upstreamHead.append("\r\n")
    }

    /// `X-Forwarded-For`, and where `isComplete` what a trusted proxy has not said of the rest.
    private func appendXForwarded(isComplete: Bool) {
        let bytes = headBytes.span
        upstreamHead.append("X-Forwarded-For: ")
        var hasProto = false
        var hasHost = false
        if client.isPeerTrusted {
            for field in head.fields {
                switch field.known {
                case .xForwardedFor:
                    upstreamHead.append(bytes.extracting(field.value))
                    upstreamHead.append(", ")
                case .xForwardedProto: hasProto = true
                case .xForwardedHost: hasHost = true
                default: break
                }
            }
        }
        if let downstream { upstreamHead.append(downstream.peerText) }
        upstreamHead.append("\r\n")
        guard isComplete else { return }
        if !hasProto {
            upstreamHead.append("X-Forwarded-Proto: ")
            upstreamHead.append(scheme)
            upstreamHead.append("\r\n")
        }
        if !hasHost, let host = head.host {
            upstreamHead.append("X-Forwarded-Host: ")
            upstreamHead.append(bytes.extracting(host))
            upstreamHead.append("\r\n")
        }
    }

    private var scheme: StaticString { client.listener.isTLS ? "https" : "http" }

    /// `Forwarded` (RFC 7239) with one element for each hop, ours the last.
    private func appendForwarded(hasForwarded: Bool) {
        upstreamHead.append("Forwarded: ")
        let bytes = headBytes.span
        if client.isPeerTrusted {
            for field in head.fields {
                let value = bytes.extracting(field.value)
                switch field.known {
                case .forwarded where Self.hasWholeQuotes(value):
                    upstreamHead.append(value)
                    upstreamHead.append(", ")
                // RFC 7239 section 7.4: the chain so far, from proxies that know the old form only.
                case .xForwardedFor where !hasForwarded: appendElements(of: value)
                default: break
                }
            }
        }
        if let peer = client.peer { Self.append(peer, to: &upstreamHead) }
        if let host = head.host {
            upstreamHead.append(";host=\"")
            upstreamHead.append(bytes.extracting(host))
            upstreamHead.append("\"")
        }
        upstreamHead.append(";proto=")
        upstreamHead.append(scheme)
        upstreamHead.append("\r\n")
    }

    private func appendElements(of value: Span<UInt8>) {
        for element in value.array.split(separator: 0x2C) {
            if let address = ForwardedChain.address(ForwardedChain.trimmed(element)) {
                Self.append(address, to: &upstreamHead)
            } else {
                upstreamHead.append("for=unknown")
            }
            upstreamHead.append(", ")
        }
    }

    /// A node (RFC 7239 section 6): IPv6 in brackets, which want quotes.
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

    /// Whether every quoted string in `value` ends: one that does not would swallow what the
    /// gateway adds, so that such a field is dropped.
    private static func hasWholeQuotes(_ value: Span<UInt8>) -> Bool {
        var isQuoted = false
        var isEscaped = false
        for index in value.indices {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, value[index] == UInt8(ascii: "\\") {
                isEscaped = true
            } else if value[index] == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
        }
        return !isQuoted && !value.isEmpty
    }
}
