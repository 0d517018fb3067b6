import Foundation

/// A master, its replicas, and the Sentinels that watch them; all are killed when released.
///
/// Faults are injected at the servers themselves (``RedisServer/kill()``, ``RedisServer/stop()``)
/// and at ``sentinels``.
public final class RedisSentinelSet: Sendable {
    /// In the order in which they were started; the first one began as the master.
    public let servers: [RedisServer]
    public let sentinels: [RedisServer]
    private let directory: ScratchDirectory

    public static let masterName = "main"

    /// `arguments` are options of every server; with `security` they and the Sentinels take TLS
    /// alone. Returns when each Sentinel knows all others and every replica, so that any one of
    /// them could lead a failover.
    public init(
        replicaCount: Int = 2, sentinelCount: Int = 3, arguments: [String] = [],
        security: RedisSecurity? = nil
    ) throws {
        let directory = try ScratchDirectory()
        self.directory = directory
        let servers = try (0...replicaCount).map { _ in
            try security.map { try RedisServer(secured: $0, arguments) } ?? RedisServer(arguments)
        }
        for replica in servers.dropFirst() { try replica.replicate(servers[0]) }
        self.servers = servers
        sentinels = try (0..<sentinelCount).map { index in
            let path = try directory.write(
                """
                sentinel monitor \(Self.masterName) 127.0.0.1 \(servers[0].port) \
                \(sentinelCount / 2 + 1)
                sentinel down-after-milliseconds \(Self.masterName) 500
                sentinel failover-timeout \(Self.masterName) 4000

                """ + (security == nil ? "" : RedisSecurity.sentinelLines(master: Self.masterName)),
                to: "sentinel-\(index).conf")
            return try RedisServer(sentinel: path, security: security)
        }
        try Self.wait("Sentinels that know each other") {
            try sentinels.allSatisfy { sentinel in
                let text = try sentinel.command("SENTINEL", "MASTER", Self.masterName)
                let lines = text.split(separator: "\n").map(String.init)
                func value(_ name: String) -> Int? {
                    lines.firstIndex(of: name).flatMap { Int(lines[$0 + 1]) }
                }
                return value("num-other-sentinels") == sentinelCount - 1
                    && value("num-slaves") == replicaCount
            }
        }
    }

    /// `127.0.0.1:port` of each Sentinel, for a configuration.
    public var addresses: [String] { sentinels.map { "127.0.0.1:\($0.port)" } }

    /// The server that `sentinel` says is the master.
    public func master(_ sentinel: Int = 0) throws -> RedisServer? {
        let text = try sentinels[sentinel].command(
            "SENTINEL", "get-master-addr-by-name", Self.masterName)
        let port = text.split(separator: "\n").last.flatMap { UInt16($0) }
        return servers.first { $0.port == port }
    }

    /// Has the Sentinels choose another master at once; returns when they all name it.
    @discardableResult
    public func failOver() throws -> RedisServer {
        var before: RedisServer?
        // A replica that was silent for a moment is none to promote, and an earlier failover may
        // still be under way: its end would be taken for that of this one.
        try Self.wait("a failover to begin") {
            before = try master()
            let answer = try sentinels[0].command("SENTINEL", "FAILOVER", Self.masterName)
            return answer.hasPrefix("OK")
        }
        return try waitForMaster(other: before)
    }

    /// Has all others follow `master`; the Sentinels would see to it in some ten seconds. Returns
    /// when no failover is under way: if the new master died in the middle of it, the Sentinel that
    /// leads it would wait for that server for ever.
    public func rejoin(_ master: RedisServer) throws {
        for server in servers where server !== master {
            try Self.wait("a replica that follows") {
                let text = try server.command("INFO", "replication")
                if text.contains("master_port:\(master.port)\r"),
                    text.contains("master_link_status:up")
                {
                    return true
                }
                try server.command("REPLICAOF", "127.0.0.1", "\(master.port)")
                return false
            }
        }
        try Self.wait("the end of a failover") {
            sentinels.allSatisfy { sentinel in
                let text = try? sentinel.command("SENTINEL", "MASTER", Self.masterName)
                return text?.contains("failover_in_progress") != true
            }
        }
    }

    /// Waits until every Sentinel that answers names another server than `before`.
    @discardableResult
    public func waitForMaster(other before: RedisServer?) throws -> RedisServer {
        var found: RedisServer?
        do {
            try Self.wait("another master") {
                let masters = sentinels.indices.compactMap { try? master($0) }
                found = masters.first
                return found != nil && masters.allSatisfy { $0 !== before && $0 === found }
            }
        } catch {
            throw ChildProcessError(description: "\(error) than \(before?.port ?? 0): \(state)")
        }
        guard let found else { throw ChildProcessError(description: "no master") }
        return found
    }

    /// What Sentinels and servers say, for whoever finds out why a test failed.
    private var state: String {
        let views = sentinels.map { sentinel in
            let text = try? sentinel.command("SENTINEL", "MASTER", Self.masterName)
            return "Sentinel \(sentinel.port): \(text?.replacing("\n", with: " ") ?? "silent")"
        }
        let replications = servers.map { server in
            let text = try? server.command("INFO", "replication")
            return "server \(server.port): \(text?.replacing("\r\n", with: " ") ?? "silent")"
        }
        return (views + replications).joined(separator: "; ")
    }

    /// Asks again and again: Redis tells nobody.
    static func wait(_ what: @autoclosure () -> String, until isSo: () throws -> Bool) throws {
        let limit = ChildProcess.deadline
        while try !isSo() {
            guard Date() < limit else {
                throw ChildProcessError(description: "waited in vain for \(what())")
            }
            _ = poll(nil, 0, 20)
        }
    }
}
