import HTTP2
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
        if let field = section.required("servers"),
            let servers = UpstreamServerReader.servers(field)
        {
            upstream.servers = servers
        }
        section.set("balance", &upstream.balance) { $0.choice(BalancePolicy.self) }
        timeouts(&upstream, &section)
        section.set("idle_connections_max", &upstream.idleConnectionCountMax) {
            $0.count(0...65_535, "an address has no more ports")
        }
        section.set("connections_max", &upstream.connectionCountMax) {
            $0.count(1...65_535, "an address has no more ports")
        }
        section.set("requests_per_connection", &upstream.requestsPerConnectionMax) {
            $0.count(1...1_000_000_000, "a connection serves one request at least")
        }
        section.set("queue", &upstream.queue, UpstreamServerReader.queue)
        section.set("ejection", &upstream.ejection, UpstreamServerReader.ejection)
        if let field = section.field("health_check") {
            upstream.healthCheck = UpstreamServerReader.healthCheck(field)
        }
        section.set("slow_start", &upstream.slowStart) { field in
            if let text = field.text(), text.value == "off" { return .zero }
            return field.duration(.seconds(1), .seconds(3600), "the other servers bear the rest")
        }
        section.set("retries", &upstream.retries, UpstreamServerReader.retries)
        section.set(
            "resolve_interval", &upstream.resolveInterval, UpstreamServerReader.resolveInterval)
        if let field = section.field("identity") {
            upstream.identity = IdentityReader.upstream(field)
        }
        if let field = section.field("tls") {
            upstream.tls = UpstreamTLSReader.tls(
                field, servers: upstream.servers.map(\.endpoint))
        }
        section.set("paths", &upstream.paths, UpstreamPathReader.paths)
        section.set("protocol", &upstream.protocol) { $0.choice(HTTPProtocol.self) }
        if let field = section.field("http2") { http2(field, &upstream) }
        // Nothing is said to servers that are spoken to in HTTP/1.1: some know no ALPN.
        if upstream.protocol == .http2 {
            upstream.tls?.configuration.protocols = [HTTPProtocol.http2.rawValue]
        }
        return upstream
    }

    /// ``HTTP2ClientLimits`` says what each is for.
    private static func http2(_ field: Field, _ upstream: inout UpstreamSettings) {
        guard upstream.protocol == .http2 else {
            return field.error("has no use without protocol: h2", at: field.keyMark)
        }
        _ = field.section { section in
            section.set("concurrent_streams", &upstream.http2.concurrentStreamCountMax) {
                $0.count(1...10_000, "each stream is a request under way")
            }
            section.set("stream_window", &upstream.http2.streamWindowByteCount) {
                $0.byteCount(HTTP2LimitReader.windows, HTTP2LimitReader.windowReason)
            }
            section.set("connection_window", &upstream.http2.connectionWindowByteCount) {
                $0.byteCount(HTTP2LimitReader.windows, HTTP2LimitReader.windowReason)
            }
            section.set("ping_interval", &upstream.pingInterval) { field in
                if let text = field.text(), text.value == "off" { return .zero }
                return field.duration(
                    .seconds(1), .seconds(3600), "servers take frequent pings for an attack")
            }
            if upstream.http2.connectionWindowByteCount < upstream.http2.streamWindowByteCount {
                field.error("connection_window is smaller than stream_window")
            }
        }
    }

    private static func timeouts(_ upstream: inout UpstreamSettings, _ section: inout Section) {
        let (shortest, longest) = (Duration.milliseconds(100), Duration.seconds(3600))
        section.set("connect_timeout", &upstream.connectTimeout) {
            $0.duration(.milliseconds(10), .seconds(120), "requests wait for it")
        }
        section.set("send_timeout", &upstream.sendTimeout) {
            $0.duration(shortest, longest, "requests wait for it")
        }
        section.set("response_timeout", &upstream.responseTimeout, responseTimeout)
        section.set("read_timeout", &upstream.readTimeout, readTimeout)
        section.set("idle_timeout", &upstream.idleTimeout) {
            $0.duration(shortest, longest, "idle connections hold descriptors")
        }
    }

    static func readTimeout(_ field: Field) -> Duration? {
        field.duration(.milliseconds(100), .seconds(24 * 3600), "requests wait for it")
    }

    static func responseTimeout(_ field: Field) -> Duration? {
        field.duration(.milliseconds(100), .seconds(3600), "requests wait for it")
    }
}

/// Names that the operator gives to routes and upstreams: labels of metrics, members of log lines.
enum Name {
    static let rule = "is not a name: 1 to 64 letters, digits, periods, hyphens and underscores"

    static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || (0x30...0x39).contains(byte) || [0x2D, 0x2E, 0x5F].contains(byte)
            }
    }
}

/// Reads `log`.
enum LogReader {
    static func log(_ field: Field) -> LogSettings? {
        field.section { section in
            var log = LogSettings()
            section.set("access", &log.access, destination)
            section.set("events", &log.events, destination)
            section.set("keys", &log.keys, naming)
            return log
        }
    }

    private static func naming(_ field: Field) -> LogSettings.KeyNaming? {
        let naming = field.choice(LogSettings.KeyNaming.self)
        if naming == .prefix {
            field.warning("log lines tell keys by the beginning of their ids")
        }
        return naming
    }

    private static func destination(_ field: Field) -> LogSettings.Destination? {
        guard let text = field.text() else { return nil }
        // A slash tells a path from a mistyped word.
        if text.value.contains("/") { return field.filePath().map { .file(path: $0) } }
        switch text.value {
        case "off": return .off
        case "stdout": return .standardOutput
        case "stderr": return .standardError
        default:
            let words = ["off", "stdout", "stderr"]
            let ending = Suggestion.ending(for: text.value, among: words, listing: false)
            field.error("\(text.shown) is not off, stdout, stderr or a path with a /\(ending)")
            return nil
        }
    }
}
