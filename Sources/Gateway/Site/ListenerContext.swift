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
    let takesEnvoyCalls: Bool
    private let trustedProxies: [TrustedProxy]
    private let proxyProtocol: [TrustedProxy]

    /// The audience of a listener.
    enum Audience {
        case apps
        case operators
        /// Operators' programs that show a token.
        case administrators
        /// Programs that watch over the process, such as the kubelet.
        case probes
    }

    /// True if the gateway answers all requests of this listener itself, on the admin thread.
    var isAdmin: Bool { audience != .apps }

    /// True if connections here are bounded like those of clients: others than operators may reach
    /// the listener, and must not take the reserve of the gateway.
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
        takesEnvoyCalls = settings.check?.dialect == .envoyGRPC
        isTLS = settings.tls != nil
        trustedProxies = settings.trustedProxies
        proxyProtocol = settings.proxyProtocol
        self.rateLimits = rateLimits
        self.audience = audience
    }

    /// True if `peer` is a proxy that is trusted with the client's address.
    func trusts(_ peer: SocketAddress) -> Bool { trustedProxies.contain(peer) }

    /// True if `peer` may ask about requests that it forwards itself.
    func answers(_ peer: SocketAddress) -> Bool { settings.check?.from.contain(peer) == true }

    /// True if connections of `peer` begin with a PROXY header.
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
    /// True if `bytes` (4 or 16) lie in this block. A block of one family contains no address of
    /// the other.
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
