import Foundation

/// A real `redis-server` on a port of 127.0.0.1, in a directory of its own; killed when released.
///
/// Without persistence unless `arguments` say otherwise, so that a restart has lost everything.
public final class RedisServer: @unchecked Sendable {
    public let port: UInt16
    /// Also reachable here, beside the port.
    public let socketPath: String
    /// TLS only, where the server was started with certificates.
    public let tlsPort: UInt16?
    private let directory: ScratchDirectory
    private let arguments: [String]
    private let launcher: [String]
    /// For ``command(_:password:)``.
    private let password: String?
    private let lock = NSLock()
    private var process: ChildProcess

    public static let isInstalled =
        (try? ChildProcess.run("redis-server", ["--version"]))?.status == .exited(0)

    /// Starts the server and waits until it takes connections. `arguments` are options of the
    /// server's command line, e.g. `["--requirepass", "secret"]`, `["--appendonly", "yes"]`;
    /// `launcher` is a command that becomes the server.
    public init(_ arguments: [String] = [], launcher: [String] = []) throws {
        directory = try ScratchDirectory()
        self.launcher = launcher
        password = nil
        port = FreePort.find()
        tlsPort = nil
        socketPath = directory.path(of: "redis.sock")
        self.arguments =
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--dir", directory.path,
                "--unixsocket", socketPath, "--save", "", "--appendonly", "no",
                "--daemonize", "no", "--repl-diskless-sync-delay", "0",
            ] + arguments
        process = try Self.start(launcher, self.arguments)
    }

    /// A server that also takes TLS, with this certificate, from clients that `authority` vouches
    /// for (or from all, where it is nil).
    public init(
        certificate: TestCertificate, authority: TestCertificate? = nil, _ arguments: [String] = []
    ) throws {
        directory = try ScratchDirectory()
        launcher = []
        password = nil
        port = FreePort.find()
        let tlsPort = FreePort.find()
        self.tlsPort = tlsPort
        socketPath = directory.path(of: "redis.sock")
        self.arguments =
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--dir", directory.path,
                "--unixsocket", socketPath, "--save", "", "--tls-port", "\(tlsPort)",
                "--tls-cert-file", certificate.certificatePath, "--tls-key-file",
                certificate.keyPath, "--tls-ca-cert-file",
                (authority ?? certificate).certificatePath, "--tls-auth-clients",
                authority == nil ? "no" : "yes",
            ] + arguments
        process = try Self.start(launcher, self.arguments)
    }

    /// A server that takes TLS alone, at ``port``, and nobody whom it does not know.
    public init(secured security: RedisSecurity, _ arguments: [String] = []) throws {
        directory = try ScratchDirectory()
        launcher = []
        password = RedisSecurity.adminPassword
        port = FreePort.find()
        tlsPort = port
        socketPath = directory.path(of: "redis.sock")
        self.arguments =
            [
                "--bind", "127.0.0.1", "--dir", directory.path, "--unixsocket", socketPath,
                "--save", "", "--appendonly", "no", "--daemonize", "no",
                "--repl-diskless-sync-delay", "0",
            ] + security.options(port: port) + arguments
        process = try Self.start(launcher, self.arguments)
    }

    /// A Sentinel with the configuration at `path`, which it rewrites.
    init(sentinel path: String, security: RedisSecurity? = nil) throws {
        directory = try ScratchDirectory()
        launcher = []
        password = security.map { _ in RedisSecurity.adminPassword }
        let port = FreePort.find()
        self.port = port
        tlsPort = security.map { _ in port }
        socketPath = directory.path(of: "redis.sock")
        arguments =
            [
                path, "--bind", "127.0.0.1", "--dir", directory.path, "--unixsocket", socketPath,
                "--daemonize", "no", "--sentinel",
            ] + (security?.options(port: port, isSentinel: true) ?? ["--port", "\(port)"])
        process = try Self.start(launcher, arguments)
    }

    private static func start(
        _ launcher: [String], _ arguments: [String]
    ) throws -> ChildProcess {
        let words = launcher + ["redis-server"] + arguments
        let process = try ChildProcess(words[0], Array(words.dropFirst()))
        let sign =
            arguments.contains("--sentinel") ? "+monitor master" : "Ready to accept connections"
        try process.waitForLine(on: .standardOutput, containing: sign)
        return process
    }

    public var url: String { "redis://127.0.0.1:\(port)/0" }

    /// `counters` of a gateway that waits for this server as long as its settings allow: by default
    /// it gives up sooner than a busy machine answers. A closed connection ends the wait at once.
    public var counters: String {
        "{ redis: \"\(url)\", connect_timeout: 1m, command_timeout: 1m }"
    }

    private var current: ChildProcess { lock.withLock { process } }

    /// kill -9; returns when the process is gone.
    public func kill() throws {
        current.kill()
        try current.waitForExit()
    }

    /// Starts the server again on the same port, after ``kill()``.
    public func start() throws {
        let fresh = try Self.start(launcher, arguments)
        lock.withLock { process = fresh }
    }

    public func restart() throws {
        try kill()
        try start()
    }

    /// A copy of all that is there now, for ``restart(from:)``.
    public func dump() throws -> [UInt8] {
        try command("SAVE")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: dumpPath)))
    }

    /// kill -9, and a start with what an earlier ``dump()`` held: a backup that was restored.
    public func restart(from dump: [UInt8]) throws {
        try kill()
        try directory.write(dump, to: "dump.rdb")
        try start()
    }

    /// kill -9, and a start without anything, whatever was dumped before.
    public func restartEmpty() throws {
        try kill()
        try? FileManager.default.removeItem(atPath: dumpPath)
        try start()
    }

    /// Loads an earlier ``dump()`` into the same process, which has to take `DEBUG`.
    public func reload(_ dump: [UInt8]) throws {
        try directory.write(dump, to: "dump.rdb")
        try command("DEBUG", "RELOAD", "NOSAVE")
    }

    private var dumpPath: String { directory.path(of: "dump.rdb") }

    /// SIGSTOP: connections stay open, nothing is answered.
    public func stop() { current.stop() }

    /// SIGCONT.
    public func resume() { current.resume() }

    /// Makes the server a replica of `master`; returns when it has all of its data.
    ///
    /// A master's first replica begins a new replication history there.
    public func replicate(_ master: RedisServer) throws {
        let server = current
        let lineCount = server.lines(on: .standardOutput).count
        try command("REPLICAOF", "127.0.0.1", "\(master.port)")
        try server.waitForLine(on: .standardOutput, from: lineCount) {
            $0.contains("sync: Finished with success") || $0.contains("accepted a Partial")
        }
    }

    /// Leaves replicas that stand still behind: what is written from now on never reaches them,
    /// not even by what is on its way.
    public func leaveBehind(_ replicas: [RedisServer]) throws {
        for replica in replicas { replica.stop() }
        try command("CLIENT", "KILL", "TYPE", "replica")
    }

    /// Waits until a replica has all that was written so far.
    public func waitForReplica() throws {
        // WAIT counts from the last write of its own connection.
        let dialog = try RedisDialog(socketPath, password: password)
        let replies = try [dialog.ask(["SET", "marker", "1"]), dialog.ask(["WAIT", "1", "0"])]
        guard replies == ["OK", "1"] else {
            throw ChildProcessError(description: "WAIT: \(replies)")
        }
    }

    /// Runs one command, on a connection of its own to the Unix socket, and returns what redis-cli
    /// would print, without the last line feed.
    @discardableResult
    public func command(_ words: String..., password: String? = nil) throws -> String {
        try command(words, password: password)
    }

    public func command(_ words: [String], password: String? = nil) throws -> String {
        try RedisDialog(socketPath, password: password ?? self.password).ask(words)
    }
}
