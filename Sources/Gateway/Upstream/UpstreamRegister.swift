import EventLoop
import Settings

/// Every address of an endpoint. Blocks.
typealias NameResolver = @Sendable (Endpoint) throws(IOError) -> [SocketAddress]

/// The servers of every upstream, resolved: the control thread and the resolver's thread write,
/// workers read when they are told to.
final class UpstreamRegister: Sendable {
    private struct Contents {
        /// In the order of the configuration.
        var groups: [ServerGroup] = []
        /// Also of configurations that requests in progress began with.
        var addresses: [Endpoint: [SocketAddress]] = [:]
    }

    private let contents = Locked(Contents())
    private let resolver: NameResolver

    init(resolver: @escaping NameResolver) { self.resolver = resolver }

    var current: [ServerGroup] { contents.withLock { $0.groups } }

    /// Takes the upstreams of a configuration, or none where a name of theirs is unknown.
    func resolve(_ upstreams: [UpstreamSettings]) throws(ConfigurationFailure) {
        var addresses: [Endpoint: [SocketAddress]] = [:]
        for upstream in upstreams {
            for server in upstream.servers where addresses[server.endpoint] == nil {
                do throws(IOError) {
                    addresses[server.endpoint] = try resolver(server.endpoint)
                } catch {
                    throw ConfigurationFailure("upstreams.\(upstream.name): \(error)")
                }
            }
        }
        let resolved = addresses
        contents.withLock { contents in
            contents.addresses.merge(resolved) { $1 }
            let old = contents.groups
            contents.groups = upstreams.map { settings in
                Self.group(
                    settings, resolved, old: old.first { $0.settings.name == settings.name })
            }
        }
    }

    /// Resolves the names of an upstream again. A name that cannot be resolved keeps its addresses,
    /// and `failed` is told. True where the servers are others now.
    func refresh(
        _ settings: UpstreamSettings, failed: (String, IOError) -> Void
    ) -> Bool {
        var fresh: [Endpoint: [SocketAddress]] = [:]
        for server in settings.servers where server.endpoint.isName {
            do throws(IOError) {
                fresh[server.endpoint] = try resolver(server.endpoint)
            } catch {
                failed(settings.name, error)
            }
        }
        let resolved = fresh
        return contents.withLock { contents in
            contents.addresses.merge(resolved) { $1 }
            guard let index = contents.groups.firstIndex(where: { $0.settings == settings }) else {
                return false
            }
            let old = contents.groups[index]
            let group = Self.group(settings, contents.addresses, old: old)
            guard !group.hasSameServers(as: old) else { return false }
            contents.groups[index] = group
            return true
        }
    }

    func group(of settings: UpstreamSettings) -> ServerGroup {
        contents.withLock { contents in
            contents.groups.first { $0.settings == settings }
                ?? Self.group(settings, contents.addresses, old: nil)
        }
    }

    private static func group(
        _ settings: UpstreamSettings, _ addresses: [Endpoint: [SocketAddress]], old: ServerGroup?
    ) -> ServerGroup {
        let group = ServerGroup(
            settings, addresses: settings.servers.map { addresses[$0.endpoint] ?? [] }, old: old)
        // The same object, so that workers see no change where there is none.
        if let old, old.settings == settings, group.hasSameServers(as: old) { return old }
        return group
    }
}

extension Endpoint {
    /// Whether it has to be resolved, and may come to stand for another address.
    var isName: Bool {
        guard case .tcp(let host, let port) = self else { return false }
        return SocketAddress.numeric(host: host, port: port) == nil
    }

    /// Every address, as the system resolves it: IPv4 and IPv6 in its order of preference.
    @Sendable
    static func allAddresses(_ endpoint: Endpoint) throws(IOError) -> [SocketAddress] {
        guard case .tcp(let host, let port) = endpoint else {
            return [try endpoint.socketAddress()]
        }
        return Array(try SocketAddress.resolve(host: host, port: port).prefix(addressCountMax))
    }

    /// A name that stands for more is a mistake or an attack.
    static let addressCountMax = 64
}
