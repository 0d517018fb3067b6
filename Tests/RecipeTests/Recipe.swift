import Foundation
import GatewayTesting

/// A page of `docs/recipes`, whose commands and files a test runs as they stand there.
struct Recipe {
    private static let folder = Repository.path(of: "docs/recipes/")

    let page: String

    init(_ name: String) throws { page = try Self.file(name + ".md") }

    /// A file below `docs/recipes`.
    static func file(_ path: String) throws -> String {
        try String(contentsOfFile: folder + path, encoding: .utf8)
    }

    /// The commands that the page shows, block by block.
    var commands: [String] {
        page.matches(of: #/(?ms)^```sh\n(.*?)^```$/#).map { String($0.output.1) }
    }

    /// The rows of the table whose first title is `title`: the code of the first cell, and the
    /// text of the others.
    func rows(_ title: String) throws -> [[String]] {
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let rows = lines.drop { !$0.hasPrefix("| \(title) |") }.dropFirst(2)
            .prefix { $0.hasPrefix("|") }
        guard !rows.isEmpty else { throw RecipeError("no table begins with \(title)") }
        return rows.map { row in
            row.dropFirst().dropLast().replacing("\\|", with: "\u{1}").split(separator: "|")
                .map {
                    $0.trimmingCharacters(in: .whitespaces).replacing("`", with: "")
                        .replacing("\u{1}", with: "|")
                }
        }
    }
}

struct RecipeError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension String {
    /// The text with another place for each that it names: every one of them has to be there.
    func moved(_ places: KeyValuePairs<String, String>) throws -> String {
        for place in places where !contains(place.key) {
            throw RecipeError("\(place.key) is not in:\n\(self)")
        }
        // All at once: what was put in, a port for one, may contain what another place is called.
        var (moved, rest) = ("", self[...])
        while let (range, value) = places.compactMap({ key, value in
            rest.firstRange(of: key).map { ($0, value) }
        }).min(by: { $0.0.lowerBound < $1.0.lowerBound }) {
            moved += rest[..<range.lowerBound] + value
            rest = rest[range.upperBound...]
        }
        return moved + rest
    }
}

/// A gateway with a recipe's configuration, which trusts the simulated Apple.
final class RecipeGateway {
    let process: ChildProcess
    let configurationPath: String

    init(
        _ text: String, in directory: ScratchDirectory, named name: String = "sallyport.yaml"
    ) throws {
        configurationPath = try directory.write(
            GatewayConfiguration.withoutBacklog(
                text + "trust: { extra_roots: [\(TestApple.rootPath)] }\n"), to: name)
        process = try ChildProcess(BuiltProgram.sallyport, ["run", "-c", configurationPath])
        try process.waitForLine(on: .standardError, containing: #""event":"ready""#)
    }

    /// SIGTERM, and the end of the drain.
    func stop() throws {
        process.terminate()
        try process.waitForExit()
    }
}
