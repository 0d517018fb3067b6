import TLS
import YAML

/// An upstream and where the configuration names it.
struct PlacedUpstream {
    var settings: UpstreamSettings
    var mark: YAMLMark
}

/// Reads `upstreams`.
enum UpstreamReader {
    /// An upstream with faults is still returned: routes may name it.
    static func upstreams(_ field: Field) -> [PlacedUpstream]? {
        guard let fields = field.namedFields() else { return nil }
        if fields.isEmpty { field.error("is empty: at least one upstream is needed") }
        return fields.map { field in
            if !Name.isValid(field.key) {
                field.context.error("\(quoted(field.key)) \(Name.rule)", at: field.keyMark)
            }
            let settings = field.section { upstream(field.key, &$0) }
            return PlacedUpstream(
                settings: settings ?? UpstreamSettings(name: field.key, servers: []),
                mark: field.keyMark)
        }
    }

    private static func upstream(_ name: String, _ section: inout Section) -> UpstreamSettings {
        var upstream = UpstreamSettings(name: name, servers: [])
        form.read(&section, into: &upstream)
        // Nothing is said to servers that are spoken to in HTTP/1.1: some know no ALPN.
        if upstream.protocol == .http2 {
            upstream.tls?.configuration.protocols = [HTTPProtocol.http2.rawValue]
        }
        return upstream
    }
}

/// Names that the operator gives to routes and upstreams: labels of metrics, members of log lines.
enum Name {
    static let rule = "is not a name: 1 to 64 letters, digits, periods, hyphens and underscores"

    static var shape: Shape { .text("name", pattern: "^[A-Za-z0-9._-]{1,64}$") }

    static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || (0x30...0x39).contains(byte) || [0x2D, 0x2E, 0x5F].contains(byte)
            }
    }
}

extension Field {
    /// A name of the operator's.
    func name() -> String? {
        guard let text = text() else { return nil }
        guard Name.isValid(text.value) else {
            error("\(text.shown) \(Name.rule)")
            return nil
        }
        return text.value
    }
}
