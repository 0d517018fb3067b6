import EventLoop

extension SocketAddress {
    /// Parses `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, each also as an `http://` URL.
    static func ofGateway(_ text: String) throws -> SocketAddress {
        if text.lowercased().hasPrefix("https://") {
            throw LabError("\(text): write HOST:PORT, without https://")
        }
        var rest = text[...]
        if rest.hasPrefix("http://") { rest = rest.dropFirst("http://".count) }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard let colon = rest.lastIndex(of: ":"),
            let port = UInt16(rest[rest.index(after: colon)...])
        else { throw LabError("\(text) is not HOST:PORT") }
        let host = host(of: rest)
        if let address = numeric(host: host, port: port) { return address }
        guard let address = try resolve(host: host, port: port).first else {
            throw LabError("\(host) has no address")
        }
        return address
    }

    /// The host of `HOST:PORT`, without the brackets of an IPv6 address.
    static func host(of authority: Substring) -> String {
        var host = authority[..<(authority.lastIndex(of: ":") ?? authority.endIndex)]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return String(host)
    }
}
