import Bytes
import EventLoop

/// Follows the addresses that proxies have added to a request back to the first one that no trusted
/// proxy stands behind.
struct ForwardedChain {
    /// The farthest that could be believed so far.
    private(set) var client: SocketAddress

    /// `peer` is trusted.
    init(peer: SocketAddress) { client = peer }

    /// Goes back through one field's value, from right to left. False where the chain ends: at an
    /// address that is not trusted, or at a word that is no address, before which anything may
    /// stand.
    mutating func follow(_ value: Span<UInt8>, _ listener: ListenerContext) -> Bool {
        var elements = value.array.split(separator: 0x2C, omittingEmptySubsequences: false)[...]
        while let element = elements.popLast() {
            guard let address = Self.address(Self.trimmed(element)) else { return false }
            client = address
            guard listener.trusts(address) else { return false }
        }
        return true
    }

    static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = text.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
        return text
    }

    /// An address with or without a port, which some proxies add; IPv6 with or without brackets.
    static func address(_ text: ArraySlice<UInt8>) -> SocketAddress? {
        if let bytes = IPAddress.bytes(text) { return unmapped(bytes) }
        if text.first == 0x5B {
            guard let end = text.firstIndex(of: 0x5D) else { return nil }
            let rest = text[(end + 1)...]
            guard rest.isEmpty || isPort(rest) else { return nil }
            return IPAddress.ipv6(text[(text.startIndex + 1)..<end]).flatMap(unmapped)
        }
        guard let colon = text.firstIndex(of: 0x3A), isPort(text[colon...]) else { return nil }
        return IPAddress.ipv4(text[..<colon]).flatMap(unmapped)
    }

    private static func isPort(_ text: ArraySlice<UInt8>) -> Bool {
        text.first == 0x3A && (2...6).contains(text.count)
            && text.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }

    /// `::ffff:192.0.2.1` is 192.0.2.1 to rules and limits.
    private static func unmapped(_ bytes: [UInt8]) -> SocketAddress? {
        let prefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        let isMapped = bytes.count == 16 && bytes.starts(with: prefix)
        return SocketAddress(ipBytes: isMapped ? Array(bytes[12...]) : bytes, port: 0)
    }
}
