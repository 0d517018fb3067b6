import Bytes

/// The parts of a URL behind `://`: the login, the servers and the path.
struct URLAuthority {
    private(set) var user: String?
    private(set) var password: String?
    /// True if the URL has an `@`.
    private(set) var hasLogin = false
    /// The servers as they are written, with their ports.
    let servers: Substring
    /// The path with its slash, or nothing.
    let path: Substring

    init(_ text: Substring) throws(Fault) {
        path = text[(text.firstIndex(of: "/") ?? text.endIndex)...]
        let authority = text[..<path.startIndex]
        guard let at = authority.lastIndex(of: "@") else {
            servers = authority
            return
        }
        servers = authority[at...].dropFirst()
        hasLogin = true
        let parts = authority[..<at].split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let user = try Self.decode(parts[0])
        self.user = user.isEmpty ? nil : user
        if parts.count == 2 { password = try Self.decode(parts[1]) }
    }

    /// A host and its port, or the one by default.
    static func server(
        _ text: Substring, port defaultPort: UInt16
    ) throws(Fault) -> (host: String, port: UInt16) {
        let hasPort = text.hasPrefix("[") ? text.contains("]:") : text.contains(":")
        let place = hasPort ? String(text) : "\(text):\(defaultPort)"
        guard case .tcp(let host, let port)? = try? EndpointText.parse(place) else {
            throw Fault("has no valid host and port")
        }
        guard port != 0 else { throw Fault("has port 0, which cannot be connected to") }
        return (host, port)
    }

    /// Percent-decoding (RFC 3986 section 2.1); the result is UTF-8 without control characters.
    static func decode(_ text: Substring) throws(Fault) -> String {
        let fault = Fault("has a part that is not percent-encoded UTF-8")
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
            !bytes.contains(where: \.isControl)
        else { throw fault }
        return decoded
    }
}
