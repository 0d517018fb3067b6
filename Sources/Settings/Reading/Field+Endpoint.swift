import Bytes

extension Endpoint: CustomStringConvertible {
    /// `host:port`, `[v6]:port` or `unix:/path`: what the configuration reads back.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// Whether only programs of this machine reach it.
    var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _):
            host == "localhost" || host == "::1"
                || IPAddress.ipv4(Array(host.utf8)[...])?.first == 127
        }
    }
}

/// Reads where to listen or connect.
enum EndpointText {
    struct Fault: Error {
        let message: String
    }

    /// `struct sockaddr_un` holds 108 bytes with the final NUL (unix(7)).
    static let unixPathByteCountMax = 107

    static func parse(_ text: String) throws(Fault) -> Endpoint {
        if text.hasPrefix("unix:") { return try .unix(path: unixPath(text.dropFirst(5))) }
        let host: Substring
        let port: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]"), text[end...].dropFirst().first == ":" else {
                throw Fault(message: "lacks its port: write [address]:port")
            }
            host = text[text.index(after: text.startIndex)..<end]
            port = text[end...].dropFirst(2)
            guard IPAddress.ipv6(Array(host.utf8)[...]) != nil else {
                throw Fault(message: "does not hold an IPv6 address between [ and ]")
            }
        } else {
            guard let colon = text.lastIndex(of: ":") else {
                throw Fault(message: "lacks its port: write host:port, [v6]:port or unix:/path")
            }
            host = text[..<colon]
            port = text[colon...].dropFirst()
            guard !host.contains(":") else {
                throw Fault(message: "is ambiguous: write an IPv6 address as [address]:port")
            }
        }
        return try .tcp(host: self.host(host), port: self.port(port))
    }

    /// Lower case; numeric addresses in their canonical form.
    static func host(_ text: Substring) throws(Fault) -> String {
        let host = text.lowercased()
        if let address = IPAddress.bytes(host) { return IPAddress.text(address) }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName =
            host.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count)
                    && label.utf8.allSatisfy {
                        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
                            || $0 == 0x5F
                    }
            }
        guard isName else {
            throw Fault(message: "does not begin with a host name or numeric address")
        }
        // A last label of digits alone is an address gone wrong (WHATWG URL, "ends in a number").
        if let last = labels.last, last.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            throw Fault(message: "does not begin with a valid IPv4 address")
        }
        return host
    }

    static func port(_ text: Substring) throws(Fault) -> UInt16 {
        guard let number = Quantity.count(String(text)), let port = UInt16(exactly: number) else {
            throw Fault(message: "does not end in a port: 0 to 65535")
        }
        return port
    }

    static func unixPath(_ text: Substring) throws(Fault) -> String {
        guard text.hasPrefix("/"), text.utf8.count <= unixPathByteCountMax,
            !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else {
            throw Fault(
                message: "does not name an absolute path of at most "
                    + "\(unixPathByteCountMax) bytes after unix:")
        }
        return String(text)
    }
}

extension Field {
    /// Where to listen; port 0 takes any free port.
    func bindEndpoint() -> Endpoint? {
        guard let text = text() else { return nil }
        do throws(EndpointText.Fault) {
            return try EndpointText.parse(text.value)
        } catch {
            self.error("\(text.shown) \(error.message)")
            return nil
        }
    }

    /// Where to connect.
    func serverEndpoint() -> Endpoint? {
        guard let endpoint = bindEndpoint() else { return nil }
        if case .tcp(_, port: 0) = endpoint {
            error("port 0 cannot be connected to")
            return nil
        }
        return endpoint
    }
}
