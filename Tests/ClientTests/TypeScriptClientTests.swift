import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "The client in TypeScript",
    .enabled(if: TypeScriptClient.isInstalled, TypeScriptClient.hint),
    .timeLimit(.minutes(30)))
struct TypeScriptClientTests {}

extension TypeScriptClientTests {
    @Test("compiles, and does what its own tests say")
    func ownTests() throws {
        let client = try TypeScriptClient.shared.get()
        let tests = try client.tests()
        #expect(tests.count > 2)
        let outcome = try client.run(["--test"] + tests)
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
    }

    @Test(
        "keeps its promises at a gateway, with keys of simulated devices",
        .enabled(if: BuiltProgram.isBuilt), arguments: PlatformSite.Platform.allCases)
    func gateway(platform: PlatformSite.Platform) throws {
        let place = try PlatformSite(platform) {
            $0.routes.insert(
                .init(
                    "chatty", path: "/chatty/*", attest: "mode: enforce, accept: [assertion, token]"
                ),
                at: 0)
        }
        // The API answers with what it learns.
        place.site.upstream.answer { request in
            let fields = ["Result", "Tier", "Platform", "Key", "Installation"]
            let words = fields.map { request["X-Attest-\($0)"] ?? "-" }
            let body = String(decoding: request.body, as: UTF8.self)
            return .response(body: (words + [body]).joined(separator: " "))
        }
        let words: [String: Any] = [
            "url": "http://127.0.0.1:\(place.site.gateway.port)", "platform": platform.rawValue,
            "device": place.device, "program": BuiltProgram.sallyport,
            "configuration": place.site.gateway.configurationPath,
        ]
        let text = try JSONSerialization.data(withJSONObject: words)
        let outcome = try TypeScriptClient.shared.get().run(
            ["--test", "--test-reporter=tap", "tests/gateway.mjs"],
            environment: ["SALLYPORT_SITE": String(decoding: text, as: UTF8.self)])
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
        #expect(outcome.standardOutput.contains("# pass 7\n"))
        #expect(place.site.upstream.requests.allSatisfy { $0["X-Attest-Result"] == "verified" })
    }

    @Test(
        "makes no mistake on trial", .enabled(if: BuiltProgram.isBuilt),
        arguments: PlatformSite.Platform.allCases)
    func trial(platform: PlatformSite.Platform) throws {
        let place = try PlatformSite(platform)
        let trial = try ChildProcess(
            BuiltProgram.lab,
            [
                "trial", "--platform", platform.rawValue, "--gateway",
                "127.0.0.1:\(place.site.gateway.port)", "--seconds", "900", "--json",
            ])
        let line = try trial.waitForLine(on: .standardOutput) { $0.contains("port") }
        let port = try #require(try JSONValue.parse(line)["port"]?.integerValue)
        let client = try TypeScriptClient.shared.get().run(
            ["tests/trial.mjs", "http://127.0.0.1:\(port)", platform.rawValue] + place.device)
        #expect(client.status == .exited(0), "\(client.standardError)")
        let status = try trial.waitForExit(within: .seconds(1000))
        let card = try JSONValue.parse(try #require(trial.lines(on: .standardOutput).last))
        #expect(status == .exited(0), "\(card)")
        #expect(card["of"]?.integerValue == (platform == .android ? 25 : 24))
        #expect(card["passed"] == card["of"] && card["mistakes"] == .array([]), "\(card)")
    }

    @Test("has lines of at most 100 columns, and files of at most 400 lines")
    func sizes() throws {
        let names = FileManager.default.enumerator(
            atPath: Repository.path(of: "clients"))?.compactMap { $0 as? String }
        let sources = try #require(names).filter { name in
            [".ts", ".mjs", ".js", ".java"].contains(where: name.hasSuffix)
                && !name.contains("build/")
        }
        #expect(sources.count > 25)
        for name in sources {
            let path = Repository.path(of: "clients/\(name)")
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 401, "\(name)")
            #expect(lines.allSatisfy { $0.count <= 100 }, "\(name)")
        }
    }
}
