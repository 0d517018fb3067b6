import Bytes

extension Endpoint: CustomStringConvertible {
    /// `host:port`, `[v6]:port` or `unix:/path`, as the configuration writes it.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// True if the Internet may reach it. This is judged by the address alone, because the system's
    /// routes are unknown here.
    var isPublic: Bool {
        guard !isLocal, case .tcp(let host, _) = self else { return false }
        guard let bytes = IPAddress.bytes(host) else { return true }
        // RFC 1918, 3927, 4193, 4291 and 6598.
        let inside: [(network: [UInt8], bitCount: Int)] = [
            ([10], 8), ([172, 16], 12), ([192, 168], 16), ([169, 254], 16), ([100, 64], 10),
            ([0xFC], 7), ([0xFE, 0x80], 10),
        ]
        return !inside.contains { network, bitCount in
            let isIPv6 = network[0] >= 0xFC
            guard isIPv6 == (bytes.count == 16) else { return false }
            return network.indices.allSatisfy { index in
                let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, bitCount - 8 * index))
                return bytes[index] & mask == network[index]
            }
        }
    }

    /// Reads what ``description`` writes. Nil unless it is an address to connect to.
    public init?(connectingTo text: String) {
        guard let endpoint = try? EndpointText.parse(text) else { return nil }
        if case .tcp(_, port: 0) = endpoint { return nil }
        self = endpoint
    }

    /// True if only programs on this machine can reach it.
    var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _):
            host == "localhost" || host == "::1"
                || IPAddress.ipv4(Array(host.utf8)[...])?.first == 127
        }
    }
}

/// Reads an address to listen at or to connect to.
enum EndpointText {
    /// `struct sockaddr_un` holds 108 bytes with the final NUL (unix(7)).
    static let unixPathByteCountMax = 107

    static func parse(_ text: String) throws(Fault) -> Endpoint {
        if text.hasPrefix("unix:") { return try .unix(path: unixPath(text.dropFirst(5))) }
        if let fault = slip(text) { throw fault }
        let host: Substring
        let port: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]"), text[end...].dropFirst().first == ":" else {
                throw Fault("lacks its port: write [address]:port")
            }
            host = text[text.index(after: text.startIndex)..<end]
            port = text[end...].dropFirst(2)
            guard IPAddress.ipv6(Array(host.utf8)[...]) != nil else {
                throw Fault("does not hold an IPv6 address between [ and ]")
            }
        } else {
            guard let colon = text.lastIndex(of: ":") else {
                throw Fault("lacks its port: write host:port, [v6]:port or unix:/path")
            }
            host = text[..<colon]
            port = text[colon...].dropFirst()
            guard !host.contains(":") else {
                throw Fault("is ambiguous: write an IPv6 address as [address]:port")
            }
        }
        return try .tcp(host: self.host(host), port: self.port(port))
    }

    /// The fault of a text in the form of another program, with the form to write instead.
    private static func slip(_ text: String) -> Fault? {
        if let port = try? port(text.hasPrefix(":") ? text.dropFirst() : text[...]) {
            return Fault(
                "is a port without a host: write 127.0.0.1:\(port) for this machine "
                    + "alone, or 0.0.0.0:\(port) for every IPv4 address of it")
        }
        guard let scheme = text.firstRange(of: "://") else { return nil }
        let ports = ["http": 80, "https": 443]
        guard let standard = ports[text[..<scheme.lowerBound].lowercased()] else {
            return Fault("is a URL: write host:port")
        }
        let authority = text[scheme.upperBound...].prefix { !"/?#".contains($0) }
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let hasPort = (try? parse(String(place))) != nil
        return Fault(
            "is a URL: write \(place)\(hasPort ? "" : ":\(standard)")"
                + (standard == 443 ? ", and the key tls beside it" : ""))
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
                    && label.utf8.allSatisfy { $0.isLowercase || $0.isDigit || $0.isOne(of: "-_") }
            }
        guard isName else {
            throw Fault("does not begin with a host name or numeric address")
        }
        // A last label of digits alone is an address gone wrong (WHATWG URL, "ends in a number").
        if let last = labels.last, last.utf8.allSatisfy(\.isDigit) {
            throw Fault("does not begin with a valid IPv4 address")
        }
        return host
    }

    static func port(_ text: Substring) throws(Fault) -> UInt16 {
        guard let number = Quantity.count(String(text)), let port = UInt16(exactly: number) else {
            throw Fault("does not end in a port: 0 to 65535")
        }
        return port
    }

    static func unixPath(_ text: Substring) throws(Fault) -> String {
        guard text.hasPrefix("/"), text.utf8.count <= unixPathByteCountMax,
            !text.utf8.contains(where: \.isControl)
        else {
            throw Fault(
                "does not name an absolute path of at most "
                    + "\(unixPathByteCountMax) bytes after unix:")
        }
        return String(text)
    }
}

extension Kind where Value == Endpoint {
    /// An address to listen at. Port 0 takes any free port.
    static var bind: Kind {
        Kind(.server, text: \.description, parse: EndpointText.parse)
    }

    /// An address to connect to, whose port is not 0.
    static var server: Kind {
        bind.reading { field in
            guard let endpoint = bind.read(field) else { return nil }
            if case .tcp(_, port: 0) = endpoint {
                field.error("port 0 cannot be connected to")
                return nil
            }
            return endpoint
        }
    }
}
