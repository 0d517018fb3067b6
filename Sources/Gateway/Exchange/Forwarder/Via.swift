import Bytes
import Crypto
import HTTP
import Judgement

/// The hops that a message has passed (RFC 9110 section 7.6.3), and the loops that they show.
///
/// Upstreams read a name that this process has made up. No two gateways have the same name, even if
/// they share a configuration, so a gateway in a chain never takes another for itself. Clients read
/// the name that all gateways have, so they cannot count the gateways.
enum Via {
    static let clientsName: StaticString = "sallyport"

    static func makeName() -> [UInt8] {
        Array("sallyport-".utf8) + Hex.encode(RandomBytes.bytes(8)).utf8
    }

    /// True if `value` contains `name`.
    static func names(_ name: [UInt8], in value: Span<UInt8>) -> Bool {
        guard value.count >= name.count else { return false }
        for start in 0...(value.count - name.count)
        where ASCII.equals(value.extracting(start..<start + name.count), name) {
            return true
        }
        return false
    }
}

extension HeadRewriter {
    /// Appends the gateway's `Via` after those of earlier hops. A route can remove the field,
    /// because some servers do not compress if they see it.
    func appendVia(_ edits: FieldEdits?) {
        guard edits?.removed.contains(Self.viaField.span) != true else { return }
        state.upstreamHead.append("Via: ")
        state.upstreamHead.append(
            exchange.arrival.isHTTP2 ? "2 " : head.version == .http11 ? "1.1 " : "1.0 ")
        state.upstreamHead.append(services.hub.viaName)
        state.upstreamHead.append("\r\n")
    }

    /// The protocol version of the upstream's answer, for the answer's `Via`; nil if the route
    /// hides it.
    var answerVersion: StaticString? {
        guard let upstream = forwarder.upstream,
            match.handling?.responseEdits?.removed.contains(Self.viaField.span) != true
        else { return nil }
        return upstream.protocolVersion
    }

    private static let viaField = Array("via".utf8)
}
