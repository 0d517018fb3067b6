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
        ("path_parameters", .pathParameters),
    ]

    static let protocols = ClientProtocol.allCases.map { (name: $0.rawValue, value: $0) }

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
        var trustedProxies: [AddressBlock] = []
        section.set("trusted_proxies", &trustedProxies) { field in
            field.list(trustedProxy)
        }
        var protocols = [ClientProtocol.http1]
        section.set("protocols", &protocols) { field in
            guard let chosen = field.list({ $0.choice(Self.protocols) }) else { return nil }
            if chosen.isEmpty { field.error("is empty: nothing could be spoken there") }
            return chosen
        }
        section.refuse("tls", "TLS listeners are not part of this version")
        guard let bind, let bindField else { return nil }
        return PlacedListener(
            settings: ListenerSettings(
                bind: bind, allow: allow, trustedProxies: trustedProxies, protocols: protocols),
            bindMark: bindField.mark)
    }

    private static func trustedProxy(_ field: Field) -> AddressBlock? {
        guard let block = field.addressBlock() else { return nil }
        if block.prefixBitCount == 0 {
            field.warning("\(block) lets every client say who it is")
        }
        return block
    }
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
