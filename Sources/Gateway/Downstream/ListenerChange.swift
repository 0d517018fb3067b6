import EventLoop
import Settings
import TLS

/// What a reload means for the connections that a listener has taken.
struct ListenerChange {
    /// How a connection ends.
    enum Ending {
        case none
        /// As at an upgrade: with its next answer, which is judged by the new configuration, or
        /// when it stays idle.
        case gently
        /// With the requests that it has under way: how it was let in counts no more.
        case atOnce
    }

    /// What further requests are judged by.
    let context: ListenerContext
    private let ending: Ending

    /// `next`: the listener at the same place in the new configuration; nil where it has none.
    init(from old: ListenerContext, to next: ListenerContext?) {
        guard let next else {
            var gone = old.settings
            gone.trustedProxies = []
            gone.proxyProtocol = []
            context = ListenerContext(gone, isAdmin: old.isAdmin, compiled: old.rateLimits)
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

    /// For a connection on behalf of whose client `proxy` has spoken, if any.
    func ending(saidBy proxy: SocketAddress?) -> Ending {
        guard let proxy, !context.expectsProxyHeader(from: proxy) else { return ending }
        return .atOnce
    }
}

extension ListenerContext {
    func isSamePlace(as other: ListenerContext) -> Bool {
        bind == other.bind && isAdmin == other.isAdmin
    }

    /// What a connection was judged by when it was made, and cannot be judged by again.
    fileprivate var admission: TLSServerConfiguration.ClientCertificates?? {
        settings.tls.map(\.configuration.clientCertificates)
    }

    /// What clients notice. Certificates may be others: who is connected has seen those before.
    fileprivate var service: ListenerSettings {
        var service = settings
        service.tls?.files = []
        service.tls?.configuration.certificates = []
        service.tls?.tickets = SessionTicketSettings()
        return service
    }
}
