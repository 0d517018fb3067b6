import EventLoop
import Settings
import TLS

/// The effect of a reload on the connections that a listener has accepted.
struct ListenerChange {
    /// The way in which a connection ends.
    enum Ending {
        case none
        /// The connection ends as at an upgrade: with its next answer, which is judged by the new
        /// configuration, or when it stays idle.
        case gently
        /// The connection ends with the requests that it has under way, because the rule by which
        /// it was admitted does not hold any more.
        case atOnce
    }

    /// The context by which further requests are judged.
    let context: ListenerContext
    private let ending: Ending

    /// `next`: the listener at the same place in the new configuration; nil if it has none.
    init(from old: ListenerContext, to next: ListenerContext?) {
        guard let next else {
            var gone = old.settings
            gone.trustedProxies = []
            gone.proxyProtocol = []
            context = ListenerContext(gone, for: old.audience, compiled: old.rateLimits)
            ending = .gently
            return
        }
        context = next
        if old.admission != next.admission {
            ending = .atOnce
        } else {
            ending = old.service == next.service ? .none : .gently
        }
    }

    /// The way in which a connection ends. `proxy`: the proxy that has named its client, if any.
    func ending(saidBy proxy: SocketAddress?) -> Ending {
        guard let proxy, !context.expectsProxyHeader(from: proxy) else { return ending }
        return .atOnce
    }
}

extension ListenerContext {
    func isSamePlace(as other: ListenerContext) -> Bool {
        bind == other.bind && isAdmin == other.isAdmin
    }

    /// The condition by which a connection was admitted. It cannot be judged again.
    fileprivate var admission: TLSServerConfiguration.ClientCertificates?? {
        settings.tls.map(\.configuration.clientCertificates)
    }

    /// The settings that clients notice. Certificates do not count, because connected clients have
    /// seen the old ones.
    fileprivate var service: ListenerSettings {
        var service = settings
        service.tls?.files = []
        service.tls?.configuration.certificates = []
        service.tls?.tickets = SessionTicketSettings()
        return service
    }
}
