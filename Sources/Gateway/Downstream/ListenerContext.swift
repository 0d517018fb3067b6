import EventLoop
import HTTP
import Settings

/// What the exchanges of one listener need to know of it.
final class ListenerContext: Sendable {
    let settings: ListenerSettings
    let bind: Endpoint
    let isAdmin: Bool
    let isTLS: Bool
    let allow: TargetAllowances
    /// What each of its requests is counted against.
    let rateLimits: [RateLimit]
    let protocols: [HTTPProtocol]
    let redirect: ListenerRedirect?
    private let trustedProxies: [TrustedProxy]
    private let proxyProtocol: [TrustedProxy]

    convenience init(
        _ settings: ListenerSettings, isAdmin: Bool = false, rateLimits: [RateLimitSettings] = []
    ) {
        self.init(
            settings, isAdmin: isAdmin,
            compiled: settings.rateLimits.compiled(RateLimit.byName(rateLimits)))
    }

    init(_ settings: ListenerSettings, isAdmin: Bool, compiled rateLimits: [RateLimit]) {
        self.settings = settings
        bind = settings.bind
        allow = settings.allow
        protocols = settings.protocols
        redirect = settings.redirect
        isTLS = settings.tls != nil
        trustedProxies = settings.trustedProxies
        proxyProtocol = settings.proxyProtocol
        self.rateLimits = rateLimits
        self.isAdmin = isAdmin
    }

    /// Whether `peer` is a proxy whose word about the client is taken.
    func trusts(_ peer: SocketAddress) -> Bool { trustedProxies.contain(peer) }

    /// Whether connections of `peer` begin with a PROXY header.
    func expectsProxyHeader(from peer: SocketAddress) -> Bool { proxyProtocol.contain(peer) }
}

extension [TrustedProxy] {
    fileprivate func contain(_ peer: SocketAddress) -> Bool {
        guard !isEmpty else { return false }
        let address = peer.ipBytes
        return contains { proxy in
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
