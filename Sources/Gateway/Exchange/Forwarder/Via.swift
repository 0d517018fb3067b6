import Bytes
import Crypto
import HTTP
import Judgement

/// Through whom messages have come (RFC 9110 section 7.6.3), and the loops that this shows.
///
/// Upstreams read a name that this process has made up for itself, so that no two gateways have the
/// same, whether they share a configuration or not: in a chain of them none takes another for
/// itself. Clients read what all gateways are called, and cannot count them.
enum Via {
    static let clientsName: StaticString = "sallyport"

    static func makeName() -> [UInt8] {
        Array("sallyport-".utf8) + Hex.encode(RandomBytes.bytes(8)).utf8
    }

    /// Whether `value` names `name`.
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
    /// Behind what came before, unless the route removes `Via`: some servers do without
    /// compression where they see it.
    func appendVia(_ edits: FieldEdits?) {
        guard edits?.removed.contains(Self.viaField.span) != true else { return }
        upstreamHead.append("Via: ")
        upstreamHead.append(
            exchange.arrival.isHTTP2 ? "2 " : head.version == .http11 ? "1.1 " : "1.0 ")
        upstreamHead.append(worker.hub.viaName)
        upstreamHead.append("\r\n")
    }

    /// The version in which the answer came, for its `Via`; nil where that is not to be told.
    var answerVersion: StaticString? {
        guard let upstream = forwarder.upstream,
            match.handling?.responseEdits?.removed.contains(Self.viaField.span) != true
        else { return nil }
        return upstream.protocolVersion
    }

    private static let viaField = Array("via".utf8)
}
