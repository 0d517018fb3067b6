import Bytes

/// The hosts that a route answers for, in normal form.
public enum HostPattern: Hashable, Sendable {
    /// This host.
    case exact(String)
    /// Every host below this domain, at any depth, but not the domain itself.
    case below(String)

    /// The reason why a text is no host pattern.
    public enum Fault: Error, Equatable {
        case empty
        case hasPort
        case isURL
        case notASCII
        case badLabel
        case badAddress
        /// An IPv6 address without the brackets that it has in a URL (RFC 3986 section 3.2.2).
        case bareAddress
        case badWildcard
        case tooLong
    }

    /// Reads `api.example.com`, `*.example.com`, `192.0.2.1` or `[2001:db8::1]`.
    ///
    /// Case, a final period, and the spelling of an IPv6 address make no difference.
    public init(_ text: String) throws(Fault) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.allSatisfy({ $0 < 0x80 }) else { throw .notASCII }
        guard !text.contains("/") else { throw .isURL }
        if bytes[0] == UInt8(ascii: "[") {
            guard bytes.last == UInt8(ascii: "]") else {
                throw bytes.contains(UInt8(ascii: "]")) ? .hasPort : .badAddress
            }
            guard let name = HostName.normalized(bytes.span) else { throw .badAddress }
            self = .exact(name)
            return
        }
        guard !bytes.contains(UInt8(ascii: ":")) else {
            throw IPAddress.ipv6(bytes[...]) == nil ? .hasPort : .bareAddress
        }
        let isWildcard = text.hasPrefix("*.")
        let name = isWildcard ? Array(bytes.dropFirst(2)) : bytes
        guard !name.contains(UInt8(ascii: "*")) else { throw .badWildcard }
        guard name.count <= HostName.byteCountMax else { throw .tooLong }
        guard Self.areLabels(name), let normal = HostName.normalized(name.span) else {
            throw .badLabel
        }
        self = isWildcard ? .below(normal) : .exact(normal)
    }

    /// The pattern as the configuration writes it.
    public var description: String {
        switch self {
        case .exact(let name): name
        case .below(let domain): "*.\(domain)"
        }
    }

    /// True for labels of letters, digits, `-` and `_`, with or without a final period.
    private static func areLabels(_ name: [UInt8]) -> Bool {
        var labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        return labels.allSatisfy { label in
            (1...63).contains(label.count)
                && label.allSatisfy { byte in
                    let folded = ASCII.lowercased(byte)
                    return (0x61...0x7A).contains(folded) || (0x30...0x39).contains(byte)
                        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
        }
    }
}
