import Foundation
import GatewayTesting
import Testing

@Suite("The client for Android")
struct JavaClientTests {
    private static let folder =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path + "/clients/android"
    private static let isInstalled = ["javac", "java"].allSatisfy { name in
        (try? ChildProcess.run(name, ["-version"]))?.status == .exited(0)
    }
    private static let patience = Duration.seconds(10 * ChildProcess.patienceSeconds)

    private static func sources(below folder: String) throws -> [String] {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String }
        return try #require(names).filter { $0.hasSuffix(".java") }.sorted()
            .map { folder + "/" + $0 }
    }

    @Test(
        "compiles without a warning, and does what its own tests say",
        .enabled(if: isInstalled, "Java is not installed: scripts/install.sh test"))
    func ownTests() throws {
        let directory = try ScratchDirectory()
        let classes = directory.path(of: "classes")
        let compiled = try ChildProcess.run(
            "javac",
            ["--release", "11", "-Xlint:all", "-Werror", "-d", classes]
                + Self.sources(below: Self.folder), within: Self.patience)
        #expect(compiled.status == .exited(0), "\(compiled.standardError)")
        let outcome = try ChildProcess.run(
            "java",
            [
                "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + directory.path(of: "."),
                "-cp", classes, "dev.sallyport.client.AllTests",
            ], within: Self.patience)
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.hasSuffix("\n0 failures\n"))
    }

    @Test("uses nothing that Android 7 lacks")
    func oldSystems() throws {
        let absent =
            /\bjava\.(?:util\.(?:Base64|HexFormat)|time|nio\.file|net\.http)\b/
            .matchingSemantics(.unicodeScalar)
        let functions =
            /\b(?:(?:List|Set|Map|Path|Optional)\.of|String\.join)\(/
            .matchingSemantics(.unicodeScalar)
        let methods =
            /\.(?:readAllBytes|transferTo|isBlank|strip|repeat|lines)\(/
            .matchingSemantics(.unicodeScalar)
        let sources = try Self.sources(below: Self.folder + "/src")
        #expect(sources.count > 20)
        for path in sources {
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            // A comment may say what is absent.
            for line in lines where !line.contains("*") {
                let isPresent = [absent, functions, methods].allSatisfy { !line.contains($0) }
                #expect(isPresent, "\(path): \(line)")
            }
        }
    }

    @Test("has lines of at most 100 columns, and files of at most 400 lines")
    func sizes() throws {
        for path in try Self.sources(below: Self.folder) {
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 401, "\(path)")
            #expect(lines.allSatisfy { $0.count <= 100 }, "\(path)")
        }
    }
}
