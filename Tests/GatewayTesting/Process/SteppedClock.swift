import Foundation

/// A time of day that a test sets for one process.
///
/// A library that the process loads first adds the seconds that stand in a file to what the clocks
/// of the wall say; others go on as they do.
public final class SteppedClock: Sendable {
    public static let isPossible =
        (try? ChildProcess.run("cc", ["--version"]))?.status == .exited(0)

    /// What a gateway or a server is started with.
    public let launcher: [String]
    private let file: ClockFile

    /// The files lie in `directory`.
    public init(_ name: String, in directory: ScratchDirectory) throws {
        file = try ClockFile(name, in: directory)
        launcher = file.launcher(reading: "STEPPED_CLOCK")
    }

    /// How many seconds the process is ahead of everybody else from now on.
    public func set(_ seconds: Int) throws { try file.set(Int64(seconds)) }
}

/// A time of day that stands still where a test puts it, for one process.
public final class StandingClock: Sendable {
    /// What a server is started with.
    public let launcher: [String]
    private let file: ClockFile

    /// The files lie in `directory`. It stands at 1970 until it is set.
    public init(in directory: ScratchDirectory) throws {
        file = try ClockFile("standing", in: directory)
        launcher = file.launcher(reading: "STANDING_CLOCK")
    }

    /// `milliseconds` since 1970.
    public func set(_ milliseconds: Int64) throws { try file.set(milliseconds) }
}

/// A number that the library reads whenever it is asked for the time.
private struct ClockFile: Sendable {
    /// Where the library is, made once.
    private static let built = Result { () throws -> ScratchDirectory in
        let directory = try ScratchDirectory()
        let source = Repository.path(of: "Benchmarks/soak/clock.c")
        let outcome = try ChildProcess.run(
            "cc", ["-shared", "-fPIC", "-O1", "-o", directory.path(of: "clock.so"), source])
        guard outcome.status == .exited(0) else {
            throw ChildProcessError(description: outcome.standardError)
        }
        return directory
    }

    private let library: String
    private let path: String

    init(_ name: String, in directory: ScratchDirectory) throws {
        library = try Self.built.get().path(of: "clock.so")
        path = try directory.write([UInt8](repeating: 0, count: 8), to: "clock-\(name)")
    }

    func launcher(reading variable: String) -> [String] {
        ["env", "LD_PRELOAD=\(library)", "\(variable)=\(path)"]
    }

    func set(_ number: Int64) throws {
        guard let file = FileHandle(forUpdatingAtPath: path) else {
            throw ChildProcessError(description: "no \(path)")
        }
        try file.write(contentsOf: withUnsafeBytes(of: number) { Data($0) })
        try file.close()
    }
}
