import Background
import EventLoop
import Settings

/// Returns every address of an endpoint. Blocks.
typealias NameResolver = @Sendable (Endpoint) throws(IOError) -> [SocketAddress]

/// The addresses that servers stand for, and the servers that could not be resolved.
struct ResolvedServers: Sendable {
    private(set) var addresses: [Endpoint: [SocketAddress]] = [:]
    private(set) var failures: [(upstream: String, endpoint: Endpoint, error: IOError)] = []

    fileprivate mutating func resolve(
        _ endpoint: Endpoint, of upstream: UpstreamSettings, by resolver: NameResolver
    ) {
        // A name server may take long, so each name is asked for only once.
        guard addresses[endpoint] == nil, !failures.contains(where: { $0.endpoint == endpoint })
        else { return }
        do throws(IOError) {
            addresses[endpoint] = try resolver(endpoint)
        } catch {
            failures.append((upstream.name, endpoint, error))
        }
    }
}

/// The resolved servers of every upstream. The control thread and the resolver's thread write;
/// workers read when they are told to.
final class UpstreamRegister: Sendable {
    private struct Contents {
        /// The groups, in the order of the configuration.
        var groups: [ServerGroup] = []
        /// The addresses of servers, including those of configurations that requests in progress
        /// began with.
        var addresses: [Endpoint: [SocketAddress]] = [:]
    }

    private let contents = Locked(Contents())
    private let resolver: NameResolver
    /// The events about names without an address that were told lately.
    let unresolved = Locked(RepeatedEvents())

    init(resolver: @escaping NameResolver) { self.resolver = resolver }

    var current: [ServerGroup] { contents.withLock { $0.groups } }

    /// Returns the addresses that the servers of a configuration stand for; with a `limit` also
    /// those of names that were resolved within it. It changes nothing.
    func addresses(
        of upstreams: [UpstreamSettings], within limit: Duration?
    ) throws(ConfigurationFailure) -> ResolvedServers {
        var resolved = ResolvedServers()
        for upstream in upstreams {
            for server in upstream.servers where !server.endpoint.isName {
                resolved.resolve(server.endpoint, of: upstream, by: resolver)
            }
        }
        if let limit { resolved = named(upstreams, beside: resolved, within: limit) }
        // An endpoint that is no name and has no address will never have one.
        if let failure = resolved.failures.first(where: { !$0.endpoint.isName }) {
            throw ConfigurationFailure("upstreams.\(failure.upstream): \(failure.error)")
        }
        return resolved
    }

    /// Asks for names on another thread, those without any address first: if a name server is
    /// silent, it is so for each of them.
    private func named(
        _ upstreams: [UpstreamSettings], beside begun: ResolvedServers, within limit: Duration
    ) -> ResolvedServers {
        let known = contents.withLock { $0.addresses }
        let names = upstreams.flatMap { upstream in
            upstream.servers.filter(\.endpoint.isName).map { (upstream, $0.endpoint) }
        }
        guard !names.isEmpty else { return begun }
        let asked = names.filter { known[$0.1] == nil } + names.filter { known[$0.1] != nil }
        let (found, resolver) = (Locked(begun), resolver)
        let thread = try? Thread.spawn(name: "names") {
            var resolved = begun
            for (upstream, endpoint) in asked {
                resolved.resolve(endpoint, of: upstream, by: resolver)
                found.withLock { [resolved] in $0 = resolved }
            }
        }
        thread?.join(within: limit)
        return found.withLock { $0 }
    }

    /// Takes the upstreams of a configuration. A name that was not resolved keeps its old
    /// addresses; if it has none, its servers are down until it is resolved.
    func take(_ upstreams: [UpstreamSettings], _ resolved: ResolvedServers) {
        contents.withLock { contents in
            contents.addresses.merge(resolved.addresses) { $1 }
            let (old, addresses) = (contents.groups, contents.addresses)
            contents.groups = upstreams.map { settings in
                Self.group(
                    settings, addresses, old: old.first { $0.settings.name == settings.name })
            }
        }
    }

    /// Resolves the names of an upstream again. A name that cannot be resolved keeps its addresses,
    /// and `failed` is called. True if the servers have changed.
    func refresh(
        _ settings: UpstreamSettings, failed: (String, IOError) -> Void
    ) -> Bool {
        var fresh = ResolvedServers()
        for server in settings.servers where server.endpoint.isName {
            fresh.resolve(server.endpoint, of: settings, by: resolver)
        }
        for failure in fresh.failures { failed(failure.upstream, failure.error) }
        let resolved = fresh.addresses
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
        // The same object, so that workers see no change if there is none.
        if let old, old.settings == settings, group.hasSameServers(as: old) { return old }
        return group
    }
}

extension Endpoint {
    /// True if it has to be resolved, and may come to stand for another address.
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

    /// The most addresses of a name. A name with more is a mistake or an attack.
    static let addressCountMax = 64
}
