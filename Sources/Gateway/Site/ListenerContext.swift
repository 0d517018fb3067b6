import EventLoop
import HTTP
import Settings

/// The part of a listener's settings that its exchanges need.
final class ListenerContext: Sendable {
    let settings: ListenerSettings
    let bind: Endpoint
    let audience: Audience
    let isTLS: Bool
    let allow: TargetAllowances
    /// The rate limits that each of its requests is counted against.
    let rateLimits: [RateLimit]
    let protocols: [HTTPProtocol]
    let redirect: ListenerRedirect?
    private let trustedProxies: [TrustedProxy]
    private let proxyProtocol: [TrustedProxy]

    /// Those whom a listener is for.
    enum Audience {
        case apps
        case operators
        /// Operators' programs, which show a token.
        case administrators
        /// Programs that watch over the process, such as the kubelet.
        case probes
    }

    /// Whether what comes here is answered by the gateway alone, on the admin thread.
    var isAdmin: Bool { audience != .apps }

    /// Whether connections here are bounded as those of clients: others than operators may reach
    /// it, and must not take what the gateway holds back.
    var isBounded: Bool { audience == .apps || audience == .administrators }

    convenience init(
        _ settings: ListenerSettings, for audience: Audience = .apps,
        rateLimits: [RateLimitSettings] = []
    ) {
        self.init(
            settings, for: audience,
            compiled: settings.rateLimits.compiled(RateLimit.byName(rateLimits)))
    }

    init(
        _ settings: ListenerSettings, for audience: Audience, compiled rateLimits: [RateLimit]
    ) {
        self.settings = settings
        bind = settings.bind
        allow = settings.allow
        protocols = settings.protocols
        redirect = settings.redirect
        isTLS = settings.tls != nil
        trustedProxies = settings.trustedProxies
        proxyProtocol = settings.proxyProtocol
        self.rateLimits = rateLimits
        self.audience = audience
    }

    /// Whether `peer` is a proxy whose word about the client is taken.
    func trusts(_ peer: SocketAddress) -> Bool { trustedProxies.contain(peer) }

    /// Whether `peer` may ask about requests that it forwards itself.
    func answers(_ peer: SocketAddress) -> Bool { settings.check?.from.contain(peer) == true }

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
