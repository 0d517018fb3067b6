import Foundation
import GatewayTesting
import Testing

/// `docs/recipes/capacity.md`.
@Suite("The recipe for capacity")
struct CapacityRecipeTests {
    private let recipe: Recipe

    init() throws { recipe = try Recipe("capacity") }

    private func run(_ command: String) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            "bash", ["-euo", "pipefail", "-c", command],
            environment: ["PYTHONDONTWRITEBYTECODE": "1"], workingDirectory: Recipe.repository)
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
                of: #/processors = s × \(([\d.]+) × V \+ ([\d.]+) × P\) / 1,000,000 / ([\d.]+)/#))
        let (verified, plain, share) = (line.output.1, line.output.2, line.output.3)
        let script = """
            import sys; sys.path.insert(0, "Benchmarks")
            import formula
            print(formula.VERIFIED, formula.PLAIN, formula.BUSY_SHARE, formula.VERIFIED_REDIS)
            print(formula.BASE >> 20, formula.CACHED_KEY, formula.FLOOR, formula.EMBEDDED_KEY,
                  formula.SPENT_CHALLENGE, formula.IN_FLIGHT >> 10, formula.REGISTRY_KEY,
                  formula.REDIS_KEY, formula.REDIS_CHALLENGE)
            """
        let lines = try run("python3 -c '\(script)'").standardOutput.split(separator: "\n")
        #expect(lines[0].hasPrefix("\(verified) \(plain) \(share) "))
        #expect(recipe.page.contains("write \(lines[0].split(separator: " ")[3]) instead"))
        let figures = lines[1].split(separator: " ")
        for (figure, words) in zip(
            figures,
            [
                "MiB", "× `workers`", "× keys in use within", "× keys in use +", "× `V` × 2",
                "KiB × requests", "× keys +", "× keys used within 30 days",
                "× `V` × (`challenge.ttl`",
            ])
        {
            #expect(recipe.page.contains("\(figure) \(words)"), "\(figure) \(words)")
        }
    }
}
