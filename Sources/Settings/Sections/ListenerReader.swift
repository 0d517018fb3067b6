import HTTP
import YAML

/// A listener and where the configuration names its address.
struct PlacedListener {
    var settings: ListenerSettings
    var bindMark: YAMLMark
}

/// Reads `listeners`.
enum ListenerReader {
    static let allowances: [(name: String, value: TargetAllowances)] = [
        ("dot_segments", .dotSegments), ("empty_segments", .emptySegments),
        ("encoded_slash", .encodedSlash), ("backslash", .backslash),
        ("path_parameters", .pathParameters), ("encoded_control", .encodedControl),
    ]

    static let protocols = HTTPProtocol.allCases.map { (name: $0.rawValue, value: $0) }

    static func listeners(_ field: Field) -> [PlacedListener] {
        guard let elements = field.list() else { return [] }
        if elements.isEmpty { field.error("is empty: at least one listener is needed") }
        return elements.compactMap { $0.section(listener) ?? nil }
    }

    private static func listener(_ section: inout Section) -> PlacedListener? {
        let bindField = section.required("bind")
        let bind = bindField?.bindEndpoint()
        var allow: TargetAllowances = []
        section.set("allow", &allow) { field in
            field.list { $0.choice(allowances) }.map { TargetAllowances($0) }
        }
        var trustedProxies: [TrustedProxy] = []
        section.set("trusted_proxies", &trustedProxies) { field in
            field.list { trustedProxy($0, bind: bind) }
        }
        var proxyProtocol: [TrustedProxy] = []
        section.set("proxy_protocol", &proxyProtocol) { self.proxyProtocol($0, bind: bind) }
        var rateLimits: [String] = []
        section.set("rate_limit", &rateLimits) { $0.rateLimitNames(allowingKey: false) }
        let tls = section.field("tls").flatMap(ListenerTLSReader.tls)
        // What clients of the one and the other expect; nobody speaks HTTP/2 there by surprise.
        var protocols = tls == nil ? [HTTPProtocol.http1] : [.http2, .http1]
        section.set("protocols", &protocols) { field in
            guard let chosen = field.list({ $0.choice(Self.protocols) }) else { return nil }
            if chosen.isEmpty { field.error("is empty: nothing could be spoken there") }
            return chosen
        }
        let redirect = section.field("redirect").flatMap(RedirectReader.listenerRedirect)
        guard let bind, let bindField else { return nil }
        var settings = ListenerSettings(bind: bind, allow: allow, trustedProxies: trustedProxies)
        settings.tls = tls
        settings.proxyProtocol = proxyProtocol
        settings.rateLimits = rateLimits
        settings.protocols = protocols
        settings.redirect = redirect
        return PlacedListener(settings: settings, bindMark: bindField.mark)
    }

    private static func proxyProtocol(_ field: Field, bind: Endpoint?) -> [TrustedProxy]? {
        field.section { section in
            guard let from = section.required("from"),
                let peers = from.list({ trustedProxy($0, bind: bind) })
            else { return nil }
            if peers.isEmpty { from.error("is empty: leave proxy_protocol out") }
            return peers
        } ?? nil
    }

    private static func trustedProxy(_ field: Field, bind: Endpoint?) -> TrustedProxy? {
        guard let text = field.text() else { return nil }
        let proxy: TrustedProxy
        if text.value == TrustedProxy.unix.description {
            proxy = .unix
        } else {
            guard let block = field.addressBlock(text) else { return nil }
            if block.prefixBitCount == 0 {
                field.warning("\(block) lets every client say who it is")
            }
            proxy = .block(block)
        }
        if let bind, bind.isUnix != (proxy == .unix) {
            field.warning("\(proxy) is never a peer of \(bind)")
        }
        return proxy
    }
}

extension TrustedProxy: CustomStringConvertible {
    public var description: String {
        switch self {
        case .block(let block): block.description
        case .unix: "unix"
        }
    }
}

extension Endpoint {
    var isUnix: Bool { if case .unix = self { true } else { false } }
}

/// The admin listener and where the configuration names its address.
struct PlacedAdmin {
    var settings: AdminSettings
    var bindMark: YAMLMark
}

/// Reads `admin`.
enum AdminReader {
    static func admin(_ field: Field) -> PlacedAdmin? {
        field.section { section in
            guard let bindField = section.required("bind"), let bind = bindField.bindEndpoint()
            else { return nil }
            if !bind.isLocal {
                bindField.warning(
                    "\(bind) may be reached from other machines: metrics and status are public "
                        + "there")
            }
            return PlacedAdmin(settings: AdminSettings(bind: bind), bindMark: bindField.mark)
        } ?? nil
    }
}
