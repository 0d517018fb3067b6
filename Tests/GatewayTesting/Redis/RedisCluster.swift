import Foundation

/// A cluster of real servers, masters and a replica for each; all are killed when released.
public final class RedisCluster: Sendable {
    /// The masters first, in the order of their slots; then their replicas.
    public let servers: [RedisServer]
    public let masterCount: Int

    public static let slotCount = 16_384

    /// Returns when every server knows which slots are whose.
    /// A server that is silent for `nodeTimeout` milliseconds is replaced; on a busy machine a
    /// short one replaces servers that are well.
    /// With `security` they take TLS alone.
    public init(
        masterCount: Int = 3, replicasPerMaster: Int = 1, nodeTimeout: Int = 15_000,
        security: RedisSecurity? = nil
    ) throws {
        self.masterCount = masterCount
        let count = masterCount * (1 + replicasPerMaster)
        servers = try (0..<count).map { _ in
            let arguments = [
                "--cluster-enabled", "yes", "--cluster-node-timeout", "\(nodeTimeout)",
                "--cluster-port", "\(FreePort.find())", "--cluster-replica-validity-factor", "0",
            ]
            return try security.map { try RedisServer(secured: $0, arguments) }
                ?? RedisServer(arguments)
        }
        try meet()
        for index in 0..<masterCount {
            let first = Self.slotCount * index / masterCount
            let last = Self.slotCount * (index + 1) / masterCount - 1
            try servers[index].command("CLUSTER", "ADDSLOTSRANGE", "\(first)", "\(last)")
        }
        for (index, replica) in servers[masterCount...].enumerated() {
            let id = try servers[index % masterCount].command("CLUSTER", "MYID")
            try replica.command("CLUSTER", "REPLICATE", id)
        }
        try waitUntilWhole()
        try RedisSentinelSet.wait("replicas") {
            try servers[masterCount...].allSatisfy {
                try $0.command("INFO", "replication").contains("master_link_status:up")
            }
        }
    }

    private func meet() throws {
        for (index, server) in servers.enumerated() {
            try server.command("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
        }
        for server in servers.dropFirst() {
            let port = try server.command("CONFIG", "GET", "cluster-port")
                .split(separator: "\n").last.map(String.init)
            try servers[0].command(
                "CLUSTER", "MEET", "127.0.0.1", "\(server.port)", port ?? "")
        }
        try RedisSentinelSet.wait("servers that know each other") {
            try servers.allSatisfy {
                try $0.command("CLUSTER", "INFO")
                    .contains("cluster_known_nodes:\(servers.count)\r")
            }
        }
    }

    /// Waits until every server that answers says that all slots are served.
    public func waitUntilWhole() throws {
        try RedisSentinelSet.wait("a whole cluster") {
            servers.allSatisfy { server in
                guard let text = try? server.command("CLUSTER", "INFO") else { return true }
                return text.contains("cluster_state:ok")
            }
        }
    }

    /// `127.0.0.1:port` of each server, for a configuration.
    public var addresses: [String] { servers.map { "127.0.0.1:\($0.port)" } }

    /// The server that keeps `slot`, as `witness` sees it.
    public func master(ofSlot slot: Int, asking witness: RedisServer? = nil) throws -> RedisServer?
    {
        let text = try (witness ?? servers[0]).command("CLUSTER", "NODES")
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count > 8, words[2].contains("master") else { continue }
            let isOwner = words[8...].contains { range in
                let ends = range.split(separator: "-").compactMap { Int($0) }
                return !ends.isEmpty && !range.hasPrefix("[")
                    && (ends[0]...(ends.last ?? ends[0])).contains(slot)
            }
            guard isOwner else { continue }
            let port = words[1].split(separator: "@")[0].split(separator: ":").last
            return servers.first { "\($0.port)" == port.map(String.init) }
        }
        return nil
    }

    /// The server that keeps `slot` by its own account.
    public func keeper(ofSlot slot: Int) throws -> RedisServer {
        var found: RedisServer?
        try RedisSentinelSet.wait("a master of slot \(slot)") {
            found = try servers.first { try master(ofSlot: slot, asking: $0) === $0 }
            return found != nil
        }
        guard let found else { throw ChildProcessError(description: "no master") }
        return found
    }

    /// One that follows `master`.
    public func replica(of master: RedisServer) throws -> RedisServer {
        let found = try servers.first {
            try $0.command("ROLE").split(separator: "\n").dropFirst(2).first == "\(master.port)"
        }
        guard let found else { throw ChildProcessError(description: "no replica") }
        return found
    }

    /// Waits until each master has its replicas, and they have what it has.
    public func waitUntilFollowed() throws {
        try waitUntilWhole()
        try RedisSentinelSet.wait("replicas that have caught up") {
            let roles = try servers.map { try $0.command("ROLE") }
            return roles.count { $0.hasPrefix("master") } == masterCount
                && roles.allSatisfy { $0.hasPrefix("master") || $0.contains("connected") }
        }
    }

    /// Waits until a replica has taken its master's place.
    public func waitUntilMaster(_ heir: RedisServer) throws {
        try RedisSentinelSet.wait("an heir") { try heir.command("ROLE").hasPrefix("master") }
    }

    // MARK: moving slots

    /// Opens a slot on both sides, as resharding begins.
    public func beginMove(ofSlot slot: Int, from source: RedisServer, to target: RedisServer) throws
    {
        let ids = try (source.command("CLUSTER", "MYID"), target.command("CLUSTER", "MYID"))
        try target.command("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", ids.0)
        try source.command("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", ids.1)
    }

    /// Moves the keys that are there: all of them, or the first `count`. A slot that changes hands
    /// with keys left behind has lost them.
    public func moveKeys(
        ofSlot slot: Int, from source: RedisServer, to target: RedisServer, count: Int? = nil
    ) throws {
        var answer = ""
        try RedisSentinelSet.wait("keys to move: \(answer)") {
            let text = try source.command("CLUSTER", "GETKEYSINSLOT", "\(slot)", "\(count ?? 100)")
            let keys = text.split(separator: "\n").map(String.init)
            if keys.isEmpty { return true }
            // What fails, since a server was slow or a key has just gone, is tried again.
            answer = try source.command(
                ["MIGRATE", "127.0.0.1", "\(target.port)", "", "0", "5000", "KEYS"] + keys)
            return count != nil
        }
    }

    /// Tells everybody who keeps the slot now.
    public func endMove(ofSlot slot: Int, to target: RedisServer) throws {
        let id = try target.command("CLUSTER", "MYID")
        try target.command("CLUSTER", "SETSLOT", "\(slot)", "NODE", id)
        for server in servers where server !== target {
            // Replicas learn it from their masters.
            _ = try? server.command("CLUSTER", "SETSLOT", "\(slot)", "NODE", id)
        }
    }

    public func move(slot: Int, from source: RedisServer, to target: RedisServer) throws {
        try beginMove(ofSlot: slot, from: source, to: target)
        try moveKeys(ofSlot: slot, from: source, to: target)
        try endMove(ofSlot: slot, to: target)
    }
}
