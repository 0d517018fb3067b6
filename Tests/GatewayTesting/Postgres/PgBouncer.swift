import Foundation

/// A real PgBouncer in front of a database of its own; killed when released.
public final class PgBouncer {
    /// For the setting `registry.postgres`.
    public let url: String
    private let command: [String]
    private var process: ChildProcess

    public static let isInstalled = FileManager.default.isExecutableFile(
        atPath: "/usr/sbin/pgbouncer")

    /// `mode` is its setting `pool_mode`.
    public init(_ server: PostgresServer, mode: String) throws {
        let port = FreePort.find()
        let database = try server.makeDatabase()
        let directory = try ScratchDirectory()
        let path = try directory.write(
            """
            [databases]
            \(database) = host=127.0.0.1 port=\(server.port) user=postgres
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode)

            """, to: "pgbouncer.ini")
        url = "postgresql://postgres@127.0.0.1:\(port)/\(database)?sslmode=disable"
        // Like PostgreSQL it refuses to run as root.
        if geteuid() == 0 {
            chmod(directory.path, 0o755)
            chmod(path, 0o644)
        }
        command = (geteuid() == 0 ? PostgresServer.launcher : []) + ["/usr/sbin/pgbouncer", path]
        self.directory = directory
        process = try Self.start(command)
    }

    private let directory: ScratchDirectory

    private static func start(_ command: [String]) throws -> ChildProcess {
        let process = try ChildProcess(command[0], Array(command.dropFirst()))
        try process.waitForLine(on: .standardError, containing: "process up")
        return process
    }

    /// Kills it, with every connection, and starts it again.
    public func restart() throws {
        process.kill()
        try process.waitForExit()
        process = try Self.start(command)
    }
}
