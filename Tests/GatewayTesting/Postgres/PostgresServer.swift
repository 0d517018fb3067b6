import Foundation

/// A real PostgreSQL on a port of 127.0.0.1 and a unix socket, in a directory of its own; killed
/// when released. Everyone on this machine may log in as anyone, unless `pg_hba.conf` is written
/// anew.
///
/// PostgreSQL refuses to run as root, so where the tests do it runs as the user `postgres`.
public final class PostgresServer: @unchecked Sendable {
    public let port: UInt16
    /// The directory of its socket, its data and its logs.
    public let directory: ScratchDirectory
    private let arguments: [String]
    private let lock = NSLock()
    private var process: ChildProcess
    private var databaseCount = 0

    /// One for all tests that neither stop it nor change its settings: each takes a database of
    /// its own.
    public static let shared = Result { try PostgresServer() }

    public static let isInstalled = !binaries.isEmpty

    /// The newest version's programs, which Debian keeps out of `PATH`.
    private static let binaries: String = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let found = versions.compactMap { Int($0) }.sorted().map { "\(root)/\($0)/bin" }
        return found.last { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") } ?? ""
    }()

    /// Becomes the user that may run it, and stays one process.
    static let launcher: [String] =
        geteuid() == 0
        ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []

    /// An empty cluster, made once: others are copies.
    private static let template = Result { () throws -> ScratchDirectory in
        let directory = try openDirectory()
        try makeCluster(directory.path(of: "data"))
        return directory
    }

    private static func makeCluster(_ data: String) throws {
        try run(
            launcher + [
                binaries + "/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                "--locale=C", "--no-sync",
            ])
    }

    /// Starts the server and waits until it takes connections. `settings` are of its
    /// configuration, e.g. `["ssl=on"]`; `prepare` may write files of the cluster before that.
    public convenience init(
        _ settings: [String] = ["fsync=off"],
        prepare: (_ server: String) throws -> Void = { _ in }
    ) throws {
        try self.init(settings) { data in
            try Self.run(["cp", "-a", try Self.template.get().path(of: "data"), data])
            try prepare(data)
            try Self.run(["chown", "-R", "--reference", data, data])
        }
    }

    /// A standby of `primary`, which follows it until ``promote()``.
    public convenience init(following primary: PostgresServer) throws {
        try self.init(["fsync=off"]) { data in
            try Self.run(
                Self.launcher + [
                    Self.binaries + "/pg_basebackup", "-D", data, "-h", primary.directory.path,
                    "-p", "\(primary.port)", "-U", "postgres", "-R", "-c", "fast", "--no-sync",
                ])
        }
    }

    /// A cluster that is no copy: with a system identifier of its own.
    public static func unrelated() throws -> PostgresServer {
        try PostgresServer(["fsync=off"], cluster: makeCluster)
    }

    /// `make` makes the cluster in the directory that it is given.
    private init(_ settings: [String], cluster make: (_ data: String) throws -> Void) throws {
        directory = try Self.openDirectory()
        port = FreePort.find()
        let data = directory.path(of: "data")
        try make(data)
        let fixed = [
            "listen_addresses=127.0.0.1", "unix_socket_directories=\(directory.path)",
            "lc_messages=C", "max_connections=200", "shared_buffers=16MB",
            // In its own directory: a killed server leaves what it shares elsewhere behind.
            "dynamic_shared_memory_type=mmap",
        ]
        arguments =
            ["-D", data, "-p", "\(port)"] + (fixed + settings).flatMap { ["-c", $0] }
        process = try Self.start(arguments)
    }

    private static func openDirectory() throws -> ScratchDirectory {
        let directory = try ScratchDirectory(inMemory: true)
        if !launcher.isEmpty { try run(["chown", "postgres:postgres", directory.path]) }
        return directory
    }

    @discardableResult
    private static func run(_ words: [String]) throws -> String {
        let outcome = try ChildProcess.run(words[0], Array(words.dropFirst()))
        guard outcome.status == .exited(0) else {
            throw ChildProcessError(description: "\(words): \(outcome.standardError)")
        }
        return outcome.standardOutput
    }

    private static func start(_ arguments: [String]) throws -> ChildProcess {
        let words = launcher + [binaries + "/postgres"] + arguments
        let process = try ChildProcess(words[0], Array(words.dropFirst()))
        try process.waitForLine(
            on: .standardError, containing: "database system is ready to accept")
        return process
    }

    deinit { try? kill() }

    private var current: ChildProcess { lock.withLock { process } }

    // MARK: its life

    /// kill -9 of all of its processes; returns when they are gone.
    public func kill() throws {
        let server = current
        // Stopped first: a process that it forks meanwhile would outlive it and keep the memory
        // that they share, and the next start is refused.
        server.stop()
        let children = self.children
        server.kill()
        for child in children { Foundation.kill(child, SIGKILL) }
        try server.waitForExit()
        for child in children { waitForEnd(of: child) }
    }

    /// Starts the server again on the same port, after ``kill()`` or ``terminate()``.
    public func start() throws {
        let fresh = try Self.start(arguments)
        lock.withLock { process = fresh }
    }

    /// A fast shutdown: sessions are ended, what they did not commit is undone.
    public func terminate() throws {
        current.send(signal: SIGINT)
        try current.waitForExit()
    }

    /// SIGSTOP for all of its processes: connections stay open, nothing is answered.
    public func stop() {
        current.stop()
        for child in children { Foundation.kill(child, SIGSTOP) }
    }

    /// SIGCONT.
    public func resume() {
        for child in children { Foundation.kill(child, SIGCONT) }
        current.resume()
    }

    /// SIGSTOP for one session's process: its connection stays open, nothing is answered on it.
    public func stopSession(_ id: Int32) {
        if children.contains(id) { Foundation.kill(id, SIGSTOP) }
    }

    /// SIGCONT.
    public func resumeSession(_ id: Int32) {
        if children.contains(id) { Foundation.kill(id, SIGCONT) }
    }

    /// Its server processes (`/proc/PID/task/PID/children`).
    private var children: [pid_t] {
        let id = current.processID
        let text = try? String(contentsOfFile: "/proc/\(id)/task/\(id)/children", encoding: .utf8)
        return (text ?? "").split(separator: " ").compactMap { pid_t($0) }
    }

    /// Orphans are not ours to wait for; /proc tells when one is gone.
    private func waitForEnd(of id: pid_t) {
        let limit = ChildProcess.deadline
        while FileManager.default.fileExists(atPath: "/proc/\(id)/stat"), Date() < limit {
            let state = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
            if state.contains(") Z") { return }
            _ = poll(nil, 0, 20)
        }
    }

    /// Makes a standby a primary, on a timeline of its own; the old primary is not told.
    public func promote() throws { try query("SELECT pg_promote(true, 60)") }

    // MARK: what it holds

    /// Makes an empty database of its own and returns its name.
    public func makeDatabase() throws -> String {
        let name = lock.withLock {
            databaseCount += 1
            return "test\(databaseCount)"
        }
        try query("CREATE DATABASE \(name)")
        return name
    }

    /// By TCP; `parameters` e.g. `?sslmode=require`.
    public func url(
        _ database: String, user: String = "postgres", parameters: String = "?sslmode=disable"
    ) -> String { "postgresql://\(user)@127.0.0.1:\(port)/\(database)\(parameters)" }

    /// Runs statements by psql and returns the rows, columns parted by `|`.
    @discardableResult
    public func query(_ sql: String, database: String = "postgres") throws -> String {
        let psql = try session(sql, database: database)
        guard try psql.waitForExit() == .exited(0) else {
            let words = psql.text(on: .standardError)
            throw ChildProcessError(description: "psql: \(sql): \(words)")
        }
        return psql.text(on: .standardOutput).trimmingCharacters(in: .newlines)
    }

    /// A psql that runs statements; not awaited.
    public func session(_ sql: String, database: String) throws -> ChildProcess {
        try ChildProcess(
            Self.binaries + "/psql",
            [
                "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", directory.path, "-p",
                "\(port)", "-U", "postgres", "-d", database, "-c", sql,
            ])
    }
}
