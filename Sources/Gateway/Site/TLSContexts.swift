import Crypto
import EventLoop
import Settings
import TLS

/// The TLS contexts of the configuration's listeners and upstreams: made once, shared by all
/// workers, and replaced as a whole by a reload.
struct TLSContexts: Sendable {
    private let servers: [Endpoint: TLSServerContext]
    private let clients: [TLSClientConfiguration: TLSClientContext]

    init(_ settings: Settings, ticketKeys: TicketKeyRings) throws(ConfigurationFailure) {
        var servers: [Endpoint: TLSServerContext] = [:]
        var clients: [TLSClientConfiguration: TLSClientContext] = [:]
        for listener in settings.tlsListeners {
            guard let tls = listener.tls else { continue }
            var configuration = tls.configuration
            configuration.protocols = listener.protocols.map(\.rawValue)
            do throws(TLSError) {
                servers[listener.bind] = try TLSServerContext(
                    configuration, ticketKeys: ticketKeys.ring(for: tls.tickets))
            } catch {
                throw ConfigurationFailure("listener \(listener.bind): tls: \(error)")
            }
        }
        for upstream in settings.upstreams {
            guard let configuration = upstream.tls?.configuration else { continue }
            do throws(TLSError) {
                clients[configuration] = try TLSClientContext(configuration)
            } catch {
                throw ConfigurationFailure("upstreams.\(upstream.name).tls: \(error)")
            }
        }
        self.servers = servers
        self.clients = clients
    }

    /// Nil if the listener there has no TLS.
    func server(at bind: Endpoint) -> TLSServerContext? { servers[bind] }

    func client(_ configuration: TLSClientConfiguration) -> TLSClientContext? {
        clients[configuration]
    }
}

/// The keys of session tickets that are made in memory. They outlive reloads, so that clients can
/// resume sessions after one. Belongs to the control thread.
final class TicketKeyRings {
    private var rings: [Duration: TLSTicketKeys] = [:]

    /// Listeners with the same lifetime share their keys.
    func ring(for tickets: SessionTicketSettings) -> TLSTicketKeys {
        guard tickets.keys.isEmpty else {
            return TLSTicketKeys(keys: tickets.keys.map(\.bytes), lifetime: tickets.lifetime)
        }
        if let ring = rings[tickets.lifetime] { return ring }
        let ring = TLSTicketKeys(lifetime: tickets.lifetime)
        rings[tickets.lifetime] = ring
        return ring
    }

    func rotate(now: MonotonicInstant) {
        for ring in rings.values { ring.rotate(now: now) }
    }
}
