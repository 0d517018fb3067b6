import Bytes

/// `redis://[user[:password]@]host[:port][/database]`, `rediss://` the same over TLS, or
/// `unix://[user[:password]@]/path`, also as `redis+unix://`.
struct RedisURL: Equatable {
    struct Fault: Error, Equatable {
        /// Quotes nothing of the URL, which may hold a password.
        let message: String
    }

    /// Where Redis listens by default.
    static let defaultPort: UInt16 = 6379
    /// Redis has 16 by default, and any number by its configuration.
    static let databaseMax = 65_535

    var endpoint: Endpoint
    var username: String?
    var password: String?
    var database: Int?
    var hasTLS = false

    init(_ text: String) throws(Fault) {
        guard let separator = text.range(of: "://") else {
            throw Fault(message: "is not a URL: write redis://host:6379/0 or unix:///path")
        }
        let scheme = text[..<separator.lowerBound].lowercased()
        let rest = text[separator.upperBound...]
        guard !rest.contains("?"), !rest.contains("#") else {
            throw Fault(
                message: "has a query or fragment; in a password write ? as %3F and # as %23")
        }
        switch scheme {
        case "redis": endpoint = .unix(path: "")
        case "unix", "redis+unix": endpoint = .unix(path: "")
        case "rediss":
            endpoint = .unix(path: "")
            hasTLS = true
        default: throw Fault(message: "has an unknown scheme: write redis://… or unix:///path")
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        var authority = rest[..<slash]
        if let at = authority.lastIndex(of: "@") {
            try setCredentials(authority[..<at])
            authority = authority[at...].dropFirst()
        }
        do throws(EndpointText.Fault) {
            if scheme.hasSuffix("unix") {
                guard authority.isEmpty else {
                    throw EndpointText.Fault(message: "has a host: write unix:///path")
                }
                endpoint = try .unix(path: EndpointText.unixPath(rest[slash...]))
            } else {
                endpoint = try Self.server(authority)
            }
        } catch { throw Fault(message: error.message) }
        if scheme.hasPrefix("redis"), !scheme.hasSuffix("unix") {
            try setDatabase(rest[slash...].dropFirst())
        }
    }

    private mutating func setCredentials(_ text: Substring) throws(Fault) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let username = try Self.decode(parts.first ?? "")
        self.username = username.isEmpty ? nil : username
        guard parts.count == 2 else {
            throw Fault(
                message: "has a user without a password: write user:password@ or :password@")
        }
        password = try Self.decode(parts[1])
    }

    private mutating func setDatabase(_ text: Substring) throws(Fault) {
        guard !text.isEmpty else { return }
        guard let number = Quantity.count(String(text)), number <= Self.databaseMax else {
            throw Fault(
                message: "has a path that is not a database number, 0 to \(Self.databaseMax); "
                    + "in a password write / as %2F")
        }
        database = number
    }

    private static func server(_ authority: Substring) throws(EndpointText.Fault) -> Endpoint {
        let hasPort =
            authority.hasPrefix("[") ? authority.contains("]:") : authority.contains(":")
        let text = hasPort ? String(authority) : "\(authority):\(defaultPort)"
        let endpoint: Endpoint
        do throws(EndpointText.Fault) {
            endpoint = try EndpointText.parse(text)
        } catch { throw EndpointText.Fault(message: "has no valid host and port") }
        if case .tcp(_, port: 0) = endpoint {
            throw EndpointText.Fault(message: "has port 0, which cannot be connected to")
        }
        return endpoint
    }

    /// Percent-decoding (RFC 3986 section 2.1); the result is UTF-8 without control characters.
    static func decode(_ text: Substring) throws(Fault) -> String {
        let fault = Fault(message: "has a user or password that is not percent-encoded UTF-8")
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hex.value),
                let low = rest.popFirst().flatMap(Hex.value)
            else { throw fault }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self),
            !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw fault }
        return decoded
    }
}

extension String {
    /// The first occurrence of `other`; the standard library has none for single searches.
    fileprivate func range(of other: String) -> Range<Index>? { ranges(of: other).first }
}
