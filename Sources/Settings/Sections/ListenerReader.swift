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

    static func listeners(_ field: Field) -> [PlacedListener] {
        guard let elements = field.list() else { return [] }
        if elements.isEmpty { field.error("is empty: at least one listener is needed") }
        return elements.compactMap { $0.section(listener) ?? nil }
    }

    private static func listener(_ section: inout Section) -> PlacedListener? {
        let bindField = section.required("bind")
        let bind = bindField?.bindEndpoint()
        var settings = ListenerSettings(bind: bind ?? .unix(path: ""))
        form(bind: bind).read(&section, into: &settings)
        guard let bind, let bindField else { return nil }
        settings.bind = bind
        return PlacedListener(settings: settings, bindMark: bindField.mark)
    }

    static var shape: Shape { .list(form(bind: nil).shape) }

    static func write(_ listeners: [ListenerSettings], to yaml: inout YAMLText) {
        yaml.list("listeners", listeners) { form(bind: nil).write($1, to: &$0) }
    }

    private static func form(bind: Endpoint?) -> Form<ListenerSettings> {
        let peers = Kind<[TrustedProxy]>(
            .list(.text("address block, or unix")),
            read: { $0.list { trustedProxy($0, bind: bind) } },
            write: { $2.entry($0, list: $1.map(\.description)) })
        return Form(ListenerSettings(bind: .unix(path: ""))) {
            Setting(
                "bind", shown: \.bind.description, .server, required: true,
                "Where clients connect. Port 0 takes any free port.")
            Setting(
                "allow", \.allow, allowed,
                "Spellings of a request's path on which servers disagree. Each is refused with "
                    + "400 unless it is named here.")
            Setting(
                "trusted_proxies", \.trustedProxies, peers,
                "Peers whose Forwarded, X-Forwarded-* and X-Request-Id are kept. unix: whoever may "
                    + "connect to a unix socket. From everybody else these headers are replaced.")
            Setting("proxy_protocol", \.proxyProtocol, proxyProtocol(peers), proxyProtocolText)
            Setting(
                "rate_limit", \.rateLimits, .rateLimits(),
                "One or more of rate_limits for every request, also for those that no route takes.")
            Setting(
                "protocols", .list(Kind<HTTPProtocol>.word.shape),
                standard: "[http/1.1]; with tls [h2, http/1.1]",
                "What is spoken, the preferred first. With tls the client chooses by ALPN; "
                    + "without, h2 is told by its first bytes (prior knowledge)."
            ) { section, listener in
                readTLS(&section, &listener)
            } write: { listener, yaml in
                yaml.entry("protocols", list: listener.protocols.map(\.rawValue))
            }
            Setting(
                "redirect", optional: \.redirect, RedirectReader.ofListener,
                "Send everything that comes here elsewhere, except some paths.")
            Setting(
                "tls", ListenerTLSReader.form.shape,
                "TLS 1.2 and 1.3. Left out: HTTP without TLS. Files are read at the start and at "
                    + "SIGHUP."
            ) { listener, yaml in
                if let tls = listener.tls { ListenerTLSReader.write(tls, to: &yaml) }
            }
        }
    }

    private static var allowed: Kind<TargetAllowances> {
        Kind(.list(.words(allowances.map(\.name)))) { field in
            field.list { $0.choice(allowances) }.map { TargetAllowances($0) }
        } write: { key, allowed, yaml in
            let names = allowances.filter { allowed.contains($0.value) }.map(\.name)
            yaml.entry(key, list: names)
        }
    }

    /// What is spoken depends on whether there is TLS.
    private static func readTLS(_ section: inout Section, _ listener: inout ListenerSettings) {
        listener.tls = section.field("tls").flatMap(ListenerTLSReader.tls)
        // What clients of the one and the other expect; nobody speaks HTTP/2 there by surprise.
        listener.protocols = listener.tls == nil ? [.http1] : [.http2, .http1]
        section.set("protocols", &listener.protocols) { field in
            guard let chosen = field.list(Kind<HTTPProtocol>.word.read) else { return nil }
            if chosen.isEmpty { field.error("is empty: nothing could be spoken there") }
            return chosen
        }
    }

    private static let proxyProtocolText =
        "Peers whose connections begin with a PROXY header, version 1 or 2. Whatever else they "
        + "send is closed, and from nobody else is such a header read."

    private static func proxyProtocol(_ peers: Kind<[TrustedProxy]>) -> Kind<[TrustedProxy]> {
        let from = Entry("from", peers.shape, required: true, "Those peers.")
        return Kind(.section([from])) { field in
            field.section { section in
                guard let from = section.required("from"), let read = peers.read(from) else {
                    return nil
                }
                if read.isEmpty { from.error("is empty: leave proxy_protocol out") }
                return read
            } ?? nil
        } write: { key, proxies, yaml in
            guard !proxies.isEmpty else { return }
            yaml.mapping(key) { peers.write("from", proxies, &$0) }
        }
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
    static var shape: Shape {
        .section([
            Entry("bind", .server, required: true, "Where operators connect: this machine alone.")
        ])
    }

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
