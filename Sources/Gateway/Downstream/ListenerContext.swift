import EventLoop
import HTTP
import Settings

/// What the exchanges of one listener need to know of it.
final class ListenerContext: Sendable {
    let bind: Endpoint
    let isAdmin: Bool
    let isTLS: Bool
    let allow: TargetAllowances
    let protocols: [ClientProtocol]
    let redirect: ListenerRedirect?
    private let trustedProxies: [TrustedProxy]

    init(_ settings: ListenerSettings, isAdmin: Bool = false) {
        bind = settings.bind
        allow = settings.allow
        protocols = settings.protocols
        redirect = settings.redirect
        isTLS = settings.tls != nil
        trustedProxies = settings.trustedProxies
        self.isAdmin = isAdmin
    }

    /// Whether `peer` is a proxy whose word about the client is taken.
    func trusts(_ peer: SocketAddress) -> Bool {
        guard !trustedProxies.isEmpty else { return false }
        let address = peer.ipBytes
        return trustedProxies.contains { proxy in
            switch proxy {
            case .block(let block): block.contains(address)
            case .unix: peer.isUnix
            }
        }
    }
}

extension AddressBlock {
    /// Whether `bytes` (4 or 16) lie in this block; families never mix.
    func contains(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == address.count, !bytes.isEmpty else { return false }
        let wholeCount = prefixBitCount / 8
        guard bytes[..<wholeCount] == address[..<wholeCount] else { return false }
        let restCount = prefixBitCount % 8
        guard restCount > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> restCount)
        return bytes[wholeCount] & mask == address[wholeCount] & mask
    }
}
