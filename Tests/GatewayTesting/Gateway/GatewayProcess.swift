import Foundation
public import JSON

/// The built gateway on free ports of 127.0.0.1, with its registry and logs in a directory of its
/// own that outlives restarts; killed when released.
public final class GatewayProcess: @unchecked Sendable {
    public let port: UInt16
    public let adminPort: UInt16
    public let directory: ScratchDirectory
    public let configurationPath: String
    private let launcher: [String]
    private let lock = NSLock()
    private var process: ChildProcess

    /// Starts the gateway and waits until it takes connections. `directory` is given where two
    /// gateways, or a gateway and its test, share files; `launcher` is a command that becomes the
    /// one it is given, e.g. `["nice"]`.
    public init(
        _ configuration: GatewayConfiguration, directory: ScratchDirectory? = nil,
        launcher: [String] = []
    ) throws {
        let directory = try directory ?? ScratchDirectory()
        self.directory = directory
        port = FreePort.find()
        adminPort = FreePort.find()
        configurationPath = try directory.write(
            configuration.text(port: port, adminPort: adminPort, directory: directory.path),
            to: "sallyport-\(port).yaml")
        self.launcher = launcher
        process = try Self.start(configurationPath, launcher)
    }

    /// The command of `GATEWAY_LAUNCHER`, which becomes every gateway: words without spaces.
    private static let everyLauncher =
        (ProcessInfo.processInfo.environment["GATEWAY_LAUNCHER"] ?? "")
        .split(whereSeparator: \.isWhitespace).map(String.init)

    private static func start(_ path: String, _ launcher: [String]) throws -> ChildProcess {
        let words = launcher + everyLauncher + [BuiltProgram.sallyport, "run", "-c", path]
        let process = try ChildProcess(words[0], Array(words.dropFirst()))
        try process.waitForLine(on: .standardError, containing: #""event":"ready""#)
        return process
    }

    /// The process that runs now; another one after ``start()``.
    public var current: ChildProcess { lock.withLock { process } }

    // MARK: its life

    /// SIGTERM, and the end of the drain. Returns how it ended.
    @discardableResult
    public func terminate() throws -> ChildProcess.ExitStatus {
        current.terminate()
        return try current.waitForExit()
    }

    /// kill -9; returns when the process is gone.
    public func kill() throws {
        current.kill()
        try current.waitForExit()
    }

    /// Starts it again on the same ports and files, after ``terminate()`` or ``kill()``.
    public func start() throws {
        let fresh = try Self.start(configurationPath, launcher)
        lock.withLock { process = fresh }
    }

    /// Ends it by ``terminate()``, or by ``kill()``, and starts it again.
    public func restart(byKill isKilled: Bool = false) throws {
        if isKilled { try kill() } else { try terminate() }
        try start()
    }

    /// Writes another configuration, sends SIGHUP and waits for the event that tells the outcome.
    @discardableResult
    public func reload(_ configuration: GatewayConfiguration) throws -> JSONValue {
        try reload(
            text: configuration.text(port: port, adminPort: adminPort, directory: directory.path))
    }

    @discardableResult
    public func reload(text: String) throws -> JSONValue {
        try directory.replace("sallyport-\(port).yaml", with: text)
        let index = current.lines(on: .standardError).count
        current.send(signal: SIGHUP)
        let line = try current.waitForLine(on: .standardError, from: index) {
            $0.contains(#""event":"reloaded""#) || $0.contains(#""event":"reload_failed""#)
        }
        return try JSONValue.parse(line)
    }

    /// What must not be in the log of a healthy gateway: the words of a trap or a sanitizer.
    public var alarms: [String] {
        let words = ["Fatal error", "Sanitizer", "*** Signal", "Program crashed", "runtime error"]
        return (current.lines(on: .standardError) + current.lines(on: .standardOutput))
            .filter { line in words.contains { line.contains($0) } }
    }

    /// Whether it runs still, and the last that it said: for whoever finds it silent.
    public var ending: String {
        let words = current.lines(on: .standardError).suffix(8).joined(separator: "\n")
        return "its status: \(String(describing: current.exitStatus)); it said last:\n\(words)"
    }

    // MARK: what it says

    /// The next access line of this kind from line `index` on.
    public func accessLine(
        from index: Int = 0, where matches: (JSONValue) -> Bool = { _ in true }
    ) throws -> JSONValue {
        var found: JSONValue?
        try current.waitForLine(on: .standardOutput, from: index) { line in
            guard let value = try? JSONValue.parse(line), matches(value) else { return false }
            found = value
            return true
        }
        guard let found else { throw RawSocketError("the access line vanished") }
        return found
    }

    /// How many access lines there are so far.
    public var accessLineCount: Int { current.lines(on: .standardOutput).count }

    /// Every access line once there are `count` of them.
    public func accessLines(_ count: Int) throws -> [JSONValue] {
        _ = try current.waitForLine(on: .standardOutput, from: count - 1) { _ in true }
        return try current.lines(on: .standardOutput).map { try JSONValue.parse($0) }
    }

    @discardableResult
    public func waitForEvent(_ name: String, from index: Int = 0) throws -> JSONValue {
        let line = try current.waitForLine(
            on: .standardError, from: index, containing: #""event":"\#(name)""#)
        return try JSONValue.parse(line)
    }

    // MARK: talking to it

    public func connect(receiveBufferByteCount: Int32? = nil) throws -> RawClient {
        try RawClient(port: port, receiveBufferByteCount: receiveBufferByteCount)
    }

    /// One request on a connection of its own.
    public func exchange(
        _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8] = []
    ) throws -> HTTPMessage {
        try connect().exchange(method, target, fields: fields, body: body)
    }

    public func admin(_ target: String) throws -> HTTPMessage {
        try RawClient(port: adminPort, host: "127.0.0.1").exchange("GET", target)
    }

    /// Asks the admin listener until the answer has this status; the gateway looks at its stores
    /// once a second, and no event tells.
    public func waitForReadiness(_ status: Int) throws {
        let limit = ChildProcess.deadline
        let client = try RawClient(port: adminPort, host: "127.0.0.1")
        while Date() < limit {
            if try client.exchange("GET", "/readyz").status == status { return }
            _ = Foundation.poll(nil, 0, 20)
        }
        throw RawSocketError("/readyz did not answer \(status)")
    }

    /// One sample of `/metrics`, e.g. `sallyport_requests_total{route="all"}`; nil where absent.
    public func metric(_ sample: String) throws -> Double? {
        let page = try admin("/metrics").bodyText
        let line = page.split(separator: "\n").first { $0.hasPrefix(sample + " ") }
        return line.flatMap { Double($0.dropFirst(sample.count + 1)) }
    }

    /// Asks until a sample of `/metrics` has this value.
    public func waitForMetric(_ sample: String, _ value: Double) throws {
        let limit = ChildProcess.deadline
        while Date() < limit {
            if try metric(sample) == value { return }
            _ = Foundation.poll(nil, 0, 20)
        }
        throw RawSocketError("\(sample) did not become \(value)")
    }

    /// Memory that the process has resident (`/proc/PID/statm`).
    public func residentByteCount() throws -> Int {
        let text = try String(
            contentsOfFile: "/proc/\(current.processID)/statm", encoding: .utf8)
        guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw RawSocketError("/proc/PID/statm: \(text)")
        }
        return pages * 4096
    }

    public func fileDescriptorCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(current.processID)/fd").count
    }
}

extension JSONValue {
    /// A text of a test's own, or of a program under test.
    public static func parse(_ text: String) throws -> JSONValue {
        let bytes = Array(text.utf8)
        return try parse(bytes.span, byteCountMax: 1 << 20, depthMax: 16)
    }
}
