import Foundation
import GatewayTesting
import Testing

/// The client in TypeScript, compiled beside a copy of its tests.
struct TypeScriptClient {
    static let isInstalled = ["tsc", "node"].allSatisfy { name in
        (try? ChildProcess.run(name, ["--version"]))?.status == .exited(0)
    }
    static let hint: Comment = "TypeScript or Node.js is not installed: scripts/install.sh test"
    private static let patience = Duration.seconds(10 * ChildProcess.patienceSeconds)

    /// One for all tests that write nothing beside it.
    static let shared = Result { try TypeScriptClient() }

    private let directory: ScratchDirectory

    /// The folder of the compiled package.
    var folder: String { path(of: "clients/typescript") }

    /// The path of a copied file.
    func path(of name: String) -> String { directory.path(of: name) }

    /// Compiles it, and records what the compiler says as an issue.
    ///
    /// - Parameter others: The other files and folders of the repository that a test needs.
    init(with others: [String] = []) throws {
        directory = try ScratchDirectory()
        for name in ["clients/typescript", "docs/client"] + others {
            let parent = URL(fileURLWithPath: directory.path(of: name)).deletingLastPathComponent()
            try FileManager.default.createDirectory(
                at: parent, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: Repository.path(of: name), toPath: directory.path(of: name))
        }
        // What an earlier build left must not pass for this one.
        try? FileManager.default.removeItem(atPath: folder + "/build")
        try compile(folder)
    }

    /// Has `tsc` check and compile the project in a folder.
    func compile(_ project: String, _ options: [String] = []) throws {
        let compiled = try ChildProcess.run(
            "tsc", ["-p", project] + options, within: Self.patience)
        try #require(compiled.status == .exited(0), "\(compiled.standardOutput)")
    }

    /// The names of its tests that need no gateway.
    func tests() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder + "/tests")
            .filter { $0.hasSuffix(".test.mjs") }.sorted().map { "tests/" + $0 }
    }

    func run(
        _ arguments: [String], environment: [String: String] = [:], in folder: String? = nil
    ) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            "node", arguments, environment: environment,
            workingDirectory: folder ?? self.folder, within: Self.patience)
    }
}
