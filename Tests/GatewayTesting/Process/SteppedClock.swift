import Foundation

/// A time of day that a test sets for one process.
///
/// A library that the process loads first adds the seconds that stand in a file to what the clocks
/// of the wall say; others go on as they do.
public final class SteppedClock: Sendable {
    private static let source = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appending(path: "../../../Benchmarks/soak/clock.c")
        .standardizedFileURL.path

    public static let isPossible =
        (try? ChildProcess.run("cc", ["--version"]))?.status == .exited(0)

    /// What a gateway or a server is started with.
    public let launcher: [String]
    private let path: String

    /// The files lie in `directory`.
    public init(_ name: String, in directory: ScratchDirectory) throws {
        let library = directory.path(of: "clock.so")
        let outcome = try ChildProcess.run(
            "cc", ["-shared", "-fPIC", "-O1", "-o", library, Self.source], within: .seconds(60))
        guard outcome.status == .exited(0) else {
            throw ChildProcessError(description: outcome.standardError)
        }
        path = try directory.write([UInt8](repeating: 0, count: 8), to: "clock-\(name)")
        launcher = ["env", "LD_PRELOAD=\(library)", "STEPPED_CLOCK=\(path)"]
    }

    /// How many seconds the process is ahead of everybody else from now on.
    public func set(_ seconds: Int) throws {
        guard let file = FileHandle(forUpdatingAtPath: path) else {
            throw ChildProcessError(description: "no \(path)")
        }
        try file.write(contentsOf: withUnsafeBytes(of: Int64(seconds)) { Data($0) })
        try file.close()
    }
}
