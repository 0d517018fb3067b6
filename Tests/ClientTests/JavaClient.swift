import Foundation
import GatewayTesting
import Testing

/// The client for Android and its tests, compiled.
struct JavaClient {
    static let folder = Repository.path(of: "clients/android")
    static let isInstalled = ["javac", "java"].allSatisfy { name in
        (try? ChildProcess.run(name, ["-version"]))?.status == .exited(0)
    }
    private static let patience = Duration.seconds(10 * ChildProcess.patienceSeconds)

    static let shared = Result { try JavaClient() }

    private let directory: ScratchDirectory

    /// Compiles it, and records a warning as an issue.
    ///
    /// - Parameter others: Other folders with sources.
    init(with others: [String] = []) throws {
        directory = try ScratchDirectory()
        let sources = try ([Self.folder] + others).flatMap(Self.sources(below:))
        let compiled = try ChildProcess.run(
            "javac",
            [
                // The second compiler of the virtual machine takes longer than it saves.
                "-J-XX:TieredStopAtLevel=1", "--release", "11", "-Xlint:all", "-Werror", "-d",
                directory.path(of: "classes"),
            ] + sources, within: Self.patience)
        try #require(compiled.status == .exited(0), "\(compiled.standardError)")
    }

    static func sources(below folder: String) throws -> [String] {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String }
        return try #require(names).filter { $0.hasSuffix(".java") }.sorted()
            .map { folder + "/" + $0 }
    }

    /// Runs a class of the client's tests to its end.
    func run(_ name: String, _ arguments: [String] = []) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            "java",
            [
                "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + directory.path(of: "."),
                "-cp", directory.path(of: "classes"), "dev.sallyport.client." + name,
            ] + arguments, workingDirectory: Repository.path, within: Self.patience)
    }
}
