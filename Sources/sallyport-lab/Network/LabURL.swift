import EventLoop

/// A resource of a gateway: `http://HOST[:PORT][/PATH[?QUERY]]`, the same with `https`, or without
/// a scheme for `http`; or its path alone.
struct LabURL {
    /// Nil if only the path is given.
    let origin: GatewayOrigin?
    /// The path with the query.
    let target: String

    init(_ text: String) throws {
        let scheme = ["http://", "https://"].first { text.lowercased().hasPrefix($0) }
        // A fragment is not sent (RFC 9110 section 7.1).
        let rest = text.dropFirst(scheme?.count ?? 0).prefix { $0 != "#" }
        let host = rest.prefix { !"/?".contains($0) }
        let target = rest.dropFirst(host.count)
        self.target = target.hasPrefix("/") ? String(target) : "/" + target
        guard self.target.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw LabError("\(text): percent-encode what is not a visible ASCII character")
        }
        if host.isEmpty {
            guard scheme == nil, text.hasPrefix("/") else { throw LabError("\(text) has no host") }
            origin = nil
        } else {
            guard host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !host.contains("@") else {
                throw LabError("\(text) has no valid host")
            }
            let isSecure = scheme == "https://"
            let hasPort = host.last != "]" && host.contains(":")
            origin = GatewayOrigin(
                isSecure: isSecure,
                authority: hasPort ? String(host) : "\(host):\(isSecure ? 443 : 80)")
        }
    }

    /// The origin that is a gateway's own URL, which has no path.
    static func gateway(_ text: String) throws -> GatewayOrigin {
        let url = try LabURL(text)
        guard let origin = url.origin, url.target == "/" else {
            throw LabError(
                "\(text) is not http://HOST:PORT or https://HOST:PORT; a path belongs into --base")
        }
        return origin
    }
}
