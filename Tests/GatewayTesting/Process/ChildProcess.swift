import CSpawn
public import Foundation

/// A child process did not start, or did not do in time what a test waits for.
public struct ChildProcessError: Error, CustomStringConvertible {
    public let description: String
}

/// A program that a test runs: started with its output captured, awaited without polling, and
/// killed when released or when the test process exits.
public final class ChildProcess: Sendable {
    public enum Stream: Hashable, Sendable {
        case standardOutput
        case standardError
    }

    public enum ExitStatus: Hashable, Sendable {
        case exited(Int32)
        case signalled(Int32)
    }

    /// What ``run(_:_:environment:workingDirectory:standardInput:within:)`` saw.
    public struct Outcome: Sendable {
        public let status: ExitStatus
        public let standardOutput: String
        public let standardError: String
    }

    /// Long enough for a busy machine; no test waits for it to pass.
    public static let patience = Duration.seconds(patienceSeconds)
    /// `TEST_PATIENCE` times as long, for what makes everything slower.
    public static let patienceSeconds =
        120 * (ProcessInfo.processInfo.environment["TEST_PATIENCE"].flatMap { Int($0) } ?? 1)
    /// When that has passed, from now on.
    public static var deadline: Date { Date(timeIntervalSinceNow: TimeInterval(patienceSeconds)) }

    public let processID: Int32
    private let program: String
    private let output = ProcessOutput()

    /// Starts `program` (a path, or a name looked up in `PATH`). `environment` is added to the
    /// test's own; `standardInput` is all that the program can read.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:],
        workingDirectory: String? = nil, standardInput: [UInt8] = []
    ) throws {
        self.program = program
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        // There is no spawn action that changes the directory in Glibc's module; env keeps the id.
        let command =
            (workingDirectory.map { ["/usr/bin/env", "-C", $0] } ?? []) + [program] + arguments
        let started = try Self.start(
            command, environment: variables.map { "\($0.key)=\($0.value)" }, input: standardInput)
        processID = started.id
        ExitRegister.add(started.id)
        output.collect(.standardOutput, from: started.standardOutput)
        output.collect(.standardError, from: started.standardError)
        output.awaitExit(of: started.id)
    }

    /// Set where coverage is measured: a process that is killed does not write what it counted.
    private static let isCounted = ProcessInfo.processInfo.environment["LLVM_PROFILE_FILE"] != nil

    deinit {
        if Self.isCounted {
            resume()
            terminate()
            _ = output.waitForExit(until: Date(timeIntervalSinceNow: 3))
        }
        kill()
        _ = output.waitForExit(until: Date(timeIntervalSinceNow: 5))
        ExitRegister.remove(processID)
    }

    /// Runs a program to its end.
    public static func run(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:],
        workingDirectory: String? = nil, standardInput: [UInt8] = [],
        within limit: Duration = patience
    ) throws -> Outcome {
        let process = try ChildProcess(
            program, arguments, environment: environment, workingDirectory: workingDirectory,
            standardInput: standardInput)
        let status = try process.waitForExit(within: limit)
        return Outcome(
            status: status, standardOutput: process.text(on: .standardOutput),
            standardError: process.text(on: .standardError))
    }

    // MARK: what it wrote and how it ended

    /// Nil while the process runs.
    public var exitStatus: ExitStatus? { output.exitStatus }

    public func text(on stream: Stream) -> String {
        String(decoding: output.bytes(on: stream), as: UTF8.self)
    }

    /// The whole lines written so far, without their ends.
    public func lines(on stream: Stream) -> [String] { output.lines(on: stream) }

    /// Waits for the end of the process and of its output.
    @discardableResult
    public func waitForExit(within limit: Duration = patience) throws -> ExitStatus {
        if let status = output.waitForExit(until: Self.date(after: limit)) { return status }
        throw missed("did not exit")
    }

    /// Waits for a line for which `matches` is true, beginning with line `index` of all that the
    /// process ever wrote to `stream`.
    @discardableResult
    public func waitForLine(
        on stream: Stream, from index: Int = 0, within limit: Duration = patience,
        where matches: (String) -> Bool
    ) throws -> String {
        let line = output.waitForLine(
            on: stream, from: index, until: Self.date(after: limit), matches: matches)
        if let line { return line }
        throw missed("did not write the line waited for")
    }

    @discardableResult
    public func waitForLine(
        on stream: Stream, from index: Int = 0, within limit: Duration = patience,
        containing part: String
    ) throws -> String {
        try waitForLine(on: stream, from: index, within: limit) { $0.contains(part) }
    }

    private func missed(_ what: String) -> ChildProcessError {
        ChildProcessError(
            description: """
                \(program) (\(processID)) \(what); its status: \(String(describing: exitStatus))
                --- standard output, at most 4000 bytes
                \(String(decoding: output.bytes(on: .standardOutput).suffix(4000), as: UTF8.self))
                --- standard error, at most 4000 bytes
                \(String(decoding: output.bytes(on: .standardError).suffix(4000), as: UTF8.self))
                """)
    }

    // MARK: signals

    /// Sends a signal; nothing happens once the process has ended.
    public func send(signal: Int32) {
        output.ifNotReaped { _ = Foundation.kill(processID, signal) }
    }

    public func terminate() { send(signal: SIGTERM) }

    public func kill() { send(signal: SIGKILL) }

    /// Stops the process; returns when it stands still.
    public func stop() {
        send(signal: SIGSTOP)
        var info = siginfo_t()
        while waitid(P_PID, id_t(processID), &info, WSTOPPED | WEXITED | WNOWAIT) != 0,
            errno == EINTR
        {}
    }

    /// Lets a stopped process go on.
    public func resume() { send(signal: SIGCONT) }

    // MARK: starting

    private static func date(after limit: Duration) -> Date {
        Date(timeIntervalSinceNow: limit / .seconds(1))
    }

    private static func start(
        _ command: [String], environment: [String], input: [UInt8]
    ) throws -> (id: pid_t, standardOutput: Int32, standardError: Int32) {
        let inputFile = try unlinkedFile(holding: input)
        defer { close(inputFile) }
        let out = try makePipe()
        let err = try makePipe()
        defer {
            close(out.write)
            close(err.write)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, inputFile, 0)
        posix_spawn_file_actions_adddup2(&actions, out.write, 1)
        posix_spawn_file_actions_adddup2(&actions, err.write, 2)
        // Of what the test's process has open, nothing counts against a child's limit, and no
        // sibling holds a pipe open.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var id: pid_t = 0
        let failure = withCStrings(command) { argumentList in
            withCStrings(environment) { environmentList in
                spawn(&id, command[0], &actions, argumentList, environmentList)
            }
        }
        guard failure == 0 else {
            close(out.read)
            close(err.read)
            throw ChildProcessError(
                description: "\(command) did not start: \(String(cString: strerror(failure)))")
        }
        return (id, out.read, err.read)
    }

    private static func spawn(
        _ id: inout pid_t, _ program: String, _ actions: inout posix_spawn_file_actions_t,
        _ arguments: [UnsafeMutablePointer<CChar>?], _ environment: [UnsafeMutablePointer<CChar>?]
    ) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The test runner may ignore or block signals; a server must not inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
        return posix_spawnp(&id, program, &actions, &attributes, arguments, environment)
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw failure("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func unlinkedFile(holding bytes: [UInt8]) throws -> Int32 {
        guard !bytes.isEmpty else { return open("/dev/null", O_RDONLY | O_CLOEXEC) }
        var name = Array((NSTemporaryDirectory() + "/sallyport-input-XXXXXX").utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw failure("mkstemp") }
        unlink(name)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        try handle.write(contentsOf: Data(bytes))
        try handle.seek(toOffset: 0)
        return descriptor
    }

    private static func failure(_ call: String) -> ChildProcessError {
        ChildProcessError(description: "\(call): \(String(cString: strerror(errno)))")
    }
}
