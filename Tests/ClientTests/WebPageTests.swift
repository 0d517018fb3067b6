import Foundation
import GatewayTesting
import JSON
import SallyportClient
import Testing

/// docs/client/web.md: its code compiles, and does in Chromium what the page says.
@Suite("A page in an app's web view", .timeLimit(.minutes(30)))
struct WebPageTests {
    private static let isBrowserInstalled =
        (try? ChildProcess.run("chromium", ["--version", "--no-sandbox"]))?.status == .exited(0)
        && PythonInterpreter.debian.has("websockets")

    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension WebPageTests {
    /// The only block of a language on the page.
    private func block(_ language: String) throws -> String {
        let blocks = try ClientPage.blocks(of: "docs/client/web.md", in: language)
        try #require(blocks.count == 1)
        return blocks[0]
    }

    /// A gateway whose API has the page, and preflights that reach the API below `/open`.
    private func site() throws -> ClientSite {
        let script = try block("js")
        let site = try ClientSite(attest: "mode: enforce, accept: [assertion, token]") {
            $0.routes.insert(
                .init("open", path: "/open/*", attest: "mode: enforce, accept: [assertion, token]"),
                at: 0)
            $0.routes.insert(
                .init("preflight", path: "/open/*", methods: ["OPTIONS"], attest: "mode: off"),
                at: 0)
        }
        let port = site.gateway.port
        site.upstream.answer { request in
            switch request.target {
            case "/page": .response(fields: [("Content-Type", "text/html")], body: "<p>Page</p>")
            case "/api.js":
                .response(fields: [("Content-Type", "text/javascript")], body: script)
            case "/other.js":
                // A page of another origin names the gateway.
                .response(
                    fields: [("Content-Type", "text/javascript")],
                    body: script.replacingOccurrences(
                        of: "location.origin", with: "\"http://127.0.0.1:\(port)\""))
            default:
                .response(
                    fields: [
                        ("Access-Control-Allow-Origin", request["Origin"] ?? "*"),
                        ("Access-Control-Allow-Headers", "x-app-attest-token"),
                    ], body: request["X-Attest-Tier"] ?? "-")
            }
        }
        return site
    }

    @Test(
        "calls the API with the token that the bridge gives, and with nothing else",
        .enabled(if: BuiltProgram.isBuilt),
        .enabled(if: isBrowserInstalled, "chromium or python3-websockets is not installed"))
    func browser() async throws {
        let site = try site()
        let token = try await site.client().sessionToken().text
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            [
                Repository.path(of: "Tests/Browser/web_view.py"),
                "http://127.0.0.1:\(site.gateway.port)",
                "http://127.0.0.1:\(site.upstream.port)", token,
            ], environment: ["PYTHONDONTWRITEBYTECODE": "1"],
            within: .seconds(10 * ChildProcess.patienceSeconds))
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        let seen = try JSONValue.parse(outcome.standardOutput)
        func status(_ name: String) -> Int64? { seen[name]?.arrayValue?.first?.integerValue }
        func body(_ name: String) -> String { seen[name]?.arrayValue?.last?.stringValue ?? "" }
        #expect(status("bare") == 401)
        #expect(body("bare").contains(#""code":"assertion_required""#), "\(seen)")
        for bridge in ["apple", "android"] {
            #expect(status(bridge) == 200 && body(bridge) == "token", "\(seen)")
        }
        #expect(status("no token") == 0 && body("no token").contains("no token"), "\(seen)")
        #expect(status("three") == 200 && body("three") == "token", "\(seen)")
        #expect(status("foreign") == 0 && body("foreign").contains("another origin"), "\(seen)")
        #expect(
            status("no bridge") == 0 && body("no bridge").contains("no bridge"), "\(seen)")
        #expect(status("altered") == 401)
        #expect(body("altered").contains(#""code":"token_invalid""#), "\(seen)")
        #expect(status("refused") == 200 && body("refused") == "token", "\(seen)")
        #expect(status("refused origin") == 0, "\(seen)")
        #expect(status("allowed origin") == 200 && body("allowed origin") == "token", "\(seen)")
        let api = site.upstream.requests.filter { $0.target.hasPrefix("/api/") }
        #expect(api.count == 6 && api.allSatisfy { $0["X-Attest-Result"] == "verified" })
        #expect(site.upstream.requests.allSatisfy { !$0.target.contains(token) })
    }

    @Test("has a bridge for Apple's platforms that compiles", .enabled(if: BuiltProgram.isBuilt))
    func swift() throws {
        let stub = Repository.path(of: "clients/swift/Stubs/WebKit/WebKit.swift")
        let source = try directory.write(block("swift"), to: "TokenBridge.swift")
        let modules = URL(fileURLWithPath: BuiltProgram.sallyport).deletingLastPathComponent()
            .appendingPathComponent("Modules").path
        for words in [
            [
                "-emit-module", "-module-name", "WebKit", "-emit-module-path",
                directory.path(of: "WebKit.swiftmodule"), stub,
            ],
            ["-typecheck", "-I", directory.path(of: "."), "-I", modules, source],
        ] {
            let outcome = try ChildProcess.run(
                "swiftc", ["-swift-version", "6", "-parse-as-library"] + words,
                workingDirectory: directory.path(of: "."),
                within: .seconds(10 * ChildProcess.patienceSeconds))
            try #require(outcome.status == .exited(0), "\(outcome.standardError)")
            #expect(!outcome.standardError.contains("warning:"), "\(outcome.standardError)")
        }
    }

    @Test(
        "has a bridge for Android that compiles",
        .enabled(if: JavaClient.isInstalled, "Java is not installed: scripts/install.sh test"))
    func java() throws {
        try FileManager.default.createDirectory(
            atPath: directory.path(of: "java"), withIntermediateDirectories: true)
        try directory.write(block("java"), to: "java/TokenBridge.java")
        _ = try JavaClient(with: [directory.path(of: "java")])
    }
}
