import Foundation
import GatewayTesting
import Testing

/// `docs/recipes/capacity.md`.
@Suite("The recipe for capacity")
struct CapacityRecipeTests {
    private let recipe: Recipe

    init() throws { recipe = try Recipe("capacity") }
}

extension CapacityRecipeTests {
    private func run(_ command: String) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            "bash", ["-euo", "pipefail", "-c", command],
            environment: ["PYTHONDONTWRITEBYTECODE": "1"], workingDirectory: Repository.path)
    }

    @Test("the commands print what the page shows")
    func commands() throws {
        #expect(recipe.commands.count == 2)
        let speed = try run(recipe.commands[0])
        #expect(speed.status == .exited(0))
        #expect(speed.standardOutput.contains("verify/s"))
        let computed = try run(recipe.commands[1])
        let shown = try #require(recipe.page.firstMatch(of: #/(?s)```text\n(.*?)```/#)).output.1
        #expect(computed.standardOutput == shown)
    }

    @Test("the page's formula is the script's")
    func formula() throws {
        let line = try #require(
            recipe.page.firstMatch(
                of: #/= s × \(([\d.]+) × V \+ ([\d.]+) × P \+ (\d+) × H\) / 1,000,000 / ([\d.]+)/#))
        let (_, verified, plain, handshake, share) = line.output
        let script = """
            import sys; sys.path.insert(0, "Benchmarks")
            import formula
            print(formula.VERIFIED, formula.PLAIN, formula.BUSY_SHARE, formula.VERIFIED_REDIS)
            print(formula.BASE >> 20, formula.CACHED_KEY, formula.FLOOR, formula.EMBEDDED_KEY,
                  formula.SPENT_CHALLENGE, formula.IN_FLIGHT >> 10, formula.REGISTRY_KEY,
                  formula.SQLITE_KEY, formula.SQLITE_CACHES >> 20, formula.REDIS_KEY,
                  formula.REDIS_CHALLENGE)
            print(*formula.HANDSHAKE.values())
            """
        let lines = try run("python3 -c '\(script)'").standardOutput.split(separator: "\n")
        #expect(lines[0].hasPrefix("\(verified) \(plain) \(share) "))
        #expect(recipe.page.contains("write \(lines[0].split(separator: " ")[3]) instead"))
        let figures = lines[1].split(separator: " ")
        for (figure, words) in zip(
            figures,
            [
                "MiB", "× `workers`", "× keys in use within", "× keys in use +", "× `V` × 2",
                "KiB × requests", "× keys (SQLite", "× keys) +", "MiB more",
                "× keys used within 30 days",
                "× `V` × (`challenge.ttl`",
            ])
        {
            #expect(recipe.page.contains("\(figure) \(words)"), "\(figure) \(words)")
        }
        let table = recipe.page.matches(
            of: #/\| (?:in full|resumed), .*? \| (\d+) \|/#
        ).map(\.output.1)
        #expect(table.joined(separator: " ") == lines[2])
        #expect(table.first == handshake)
        // The page tells what these were rounded up from.
        let measured = try #require(
            recipe.page.firstMatch(
                of: #/([\d.]+), ([\d.]+), ([\d.]+) and ([\d.]+) ms,\seach divided by the (\d+) us/#
            )
        ).output
        let unit = try #require(Double(measured.5))
        let times = [measured.1, measured.2, measured.3, measured.4].compactMap { Double($0) }
        #expect(times.map { "\(Int(($0 * 1000 / unit).rounded(.up)))" } == table.map(String.init))
    }

    @Test(
        "a formula that promises too little is found by the comparison, and one that wastes named")
    func comparison() throws {
        let script = """
            import sys; sys.path.insert(0, "Benchmarks")
            import capacity
            print(capacity.RATIO_MAX)
            for measured in (60, 114, 116):
                print("ends with", capacity.judge([capacity.Row("a request", measured, 100)]))
            """
        let outcome = try run("python3 -c '\(script)'")
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let lines = outcome.standardOutput.split(separator: "\n")
        #expect(recipe.page.contains("exits with 1 if a ratio is above \(lines[0]),"))
        #expect(lines.filter { $0.hasPrefix("ends") }.map(\.last) == ["0", "0", "1"])
        #expect(lines.contains("wastes: a request: 0.60 of what the formula says"))
        #expect(lines.contains("FAIL: a request: 1.16 of what the formula says, at most 1.15"))
    }
}
