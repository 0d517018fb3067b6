import Bytes
import EventLoop
import HTTP

/// Follows the addresses that proxies have added to a request, back to the first one that is not a
/// trusted proxy's.
struct ForwardedChain {
    /// The farthest address that is believed so far.
    private(set) var client: SocketAddress
    private var hopCount = 0
    /// More proxies than any real chain has. Addresses behind them are not read.
    private static let hopCountMax = 32

    /// `peer` is trusted.
    init(peer: SocketAddress) { client = peer }

    /// Follows one `X-Forwarded-For` from right to left. False if the chain ends there: at an
    /// address that is not trusted, or at a word that is not an address, before which a client may
    /// have written anything.
    mutating func follow(xForwardedFor value: Span<UInt8>, _ listener: ListenerContext) -> Bool {
        var end = value.count
        while true {
            var start = end
            while start > 0, value[start - 1] != 0x2C { start -= 1 }
            let element = value.extracting(start..<end).array
            guard follow(Self.address(Self.trimmed(element[...])), listener) else { return false }
            guard start > 0 else { return true }
            end = start - 1
        }
    }

    /// Follows one `Forwarded` in the same way. A hidden name (`unknown`, `_a`) is not an address.
    mutating func follow(forwarded value: Span<UInt8>, _ listener: ListenerContext) -> Bool {
        guard let nodes = ForwardedNodes.parse(value.array) else { return false }
        for node in nodes.reversed() {
            guard follow(node.flatMap(Self.nodeAddress), listener) else { return false }
        }
        return true
    }

    private mutating func follow(_ address: SocketAddress?, _ listener: ListenerContext) -> Bool {
        guard let address, hopCount < Self.hopCountMax else { return false }
        hopCount += 1
        client = address
        return listener.trusts(address)
    }

    static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = text.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
        return text
    }

    /// Reads an address with or without the port that some proxies add; IPv6 with or without
    /// brackets.
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

    /// Reads a node (RFC 7239 section 6): IPv6 only in brackets, and the port may be hidden.
    private static func nodeAddress(_ node: [UInt8]) -> SocketAddress? {
        let end = node.first == 0x5B ? node.firstIndex(of: 0x5D) : nil
        let colon = node[(end ?? 0)...].firstIndex(of: 0x3A)
        guard let colon else { return address(node[...]) }
        let port = node[(colon + 1)...]
        let isHidden =
            port.first == 0x5F && port.count > 1
            && port.allSatisfy { byte in
                (0x61...0x7A).contains(ASCII.lowercased(byte)) || (0x30...0x39).contains(byte)
                    || "._-".utf8.contains(byte)
            }
        guard isPort(node[colon...]) || isHidden else { return nil }
        return address(node[..<colon])
    }

    private static func isPort(_ text: ArraySlice<UInt8>) -> Bool {
        text.first == 0x3A && (2...6).contains(text.count)
            && text.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Reads `::ffff:192.0.2.1` as 192.0.2.1, as rules and limits do.
    private static func unmapped(_ bytes: [UInt8]) -> SocketAddress? {
        let prefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        let isMapped = bytes.count == 16 && bytes.starts(with: prefix)
        return SocketAddress(ipBytes: isMapped ? Array(bytes[12...]) : bytes, port: 0)
    }
}

/// The client that a request comes from, as far as trusted proxies are believed.
struct ClientOrigin: Equatable {
    let address: SocketAddress
    /// False if the proxies contradict each other. Then `address` is the last one beyond doubt.
    let isCertain: Bool
}

extension ClientOrigin {
    /// Finds the last address in `X-Forwarded-For` or `Forwarded` that is not a trusted proxy's, as
    /// nginx's `real_ip_recursive` does. `peer` is trusted.
    ///
    /// A proxy that writes one of the two passes the other on as the client sent it, and the
    /// gateway cannot tell which one the proxy writes. If both are there and name different
    /// clients, neither is believed, and the client is the peer.
    init(
        _ fields: [FieldRange], in bytes: Span<UInt8>, from peer: SocketAddress,
        over listener: ListenerContext
    ) {
        var old: ForwardedChain?
        var new: ForwardedChain?
        var isOldEnded = false
        var isNewEnded = false
        for field in fields.reversed() {
            switch field.known {
            case .xForwardedFor where !isOldEnded:
                var chain = old ?? ForwardedChain(peer: peer)
                isOldEnded = !chain.follow(xForwardedFor: bytes.extracting(field.value), listener)
                old = chain
            case .forwarded where !isNewEnded:
                var chain = new ?? ForwardedChain(peer: peer)
                isNewEnded = !chain.follow(forwarded: bytes.extracting(field.value), listener)
                new = chain
            default: break
            }
        }
        if let old, let new, old.client != new.client {
            self.init(address: peer, isCertain: false)
        } else {
            self.init(address: (old ?? new)?.client ?? peer, isCertain: true)
        }
    }
}

extension RequestIntake {
    /// The client that the request comes from; nil without a peer. It is read once per request,
    /// because the fields that proxies write can be long.
    var origin: ClientOrigin? {
        if let knownOrigin = client.knownOrigin { return knownOrigin }
        let origin = readOrigin()
        exchange.client.knownOrigin = .some(origin)
        return origin
    }

    private func readOrigin() -> ClientOrigin? {
        guard let peer = client.peer else { return nil }
        guard client.isPeerTrusted else { return ClientOrigin(address: peer, isCertain: true) }
        // Without a head, no field names the client.
        guard !headBytes.isEmpty else { return ClientOrigin(address: peer, isCertain: false) }
        return ClientOrigin(
            state.head.fields, in: headBytes.span, from: peer, over: client.listener)
    }

    /// Appends the client's address, for the headers and answers that operators write.
    func appendClientAddress(to output: inout ByteBuffer) {
        if client.isPeerTrusted || client.isOriginSaid, let origin {
            origin.address.appendIP(to: &output)
        } else if let downstream = exchange.downstream {
            output.append(downstream.peerText)
        }
    }
}
