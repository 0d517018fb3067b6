import Foundation
import GatewayTesting
import Testing

@Suite("The client for Android")
struct JavaClientTests {}

extension JavaClientTests {
    @Test(
        "compiles without a warning, and does what its own tests say",
        .enabled(if: JavaClient.isInstalled, "Java is not installed: scripts/install.sh test"))
    func ownTests() throws {
        let outcome = try JavaClient.shared.get().run("AllTests")
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.hasSuffix("\n0 failures\n"))
    }

    @Test(
        "keeps its promises at a gateway, with keys and certificates of simulated phones",
        .enabled(
            if: JavaClient.isInstalled && BuiltProgram.isBuilt,
            "Java is not installed: scripts/install.sh test"))
    func gateway() throws {
        let android = try AndroidSite {
            $0.routes.insert(
                .init(
                    "chatty", path: "/chatty/*", attest: "mode: enforce, accept: [assertion, token]"
                ),
                at: 0)
        }
        let site = android.site
        // The API answers with what it learns.
        site.upstream.answer { request in
            let fields = ["Result", "Tier", "Platform", "Security-Level", "Key"]
            let words = fields.map { request["X-Attest-\($0)"] ?? "-" }
            let body = String(decoding: request.body, as: UTF8.self)
            return .response(body: (words + [body]).joined(separator: " "))
        }
        let outcome = try JavaClient.shared.get().run(
            "GatewayTests",
            [
                "http://127.0.0.1:\(site.gateway.port)", BuiltProgram.sallyport,
                site.gateway.configurationPath,
            ] + android.phone)
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.hasSuffix("\n0 failures\n"))
        #expect(outcome.standardOutput.split(separator: "\n").count { $0.hasPrefix("ok ") } == 12)
        // Only what the app signed has reached the API.
        #expect(site.upstream.requests.allSatisfy { $0["X-Attest-Result"] == "verified" })
        #expect(!site.upstream.requests.contains { $0.body == Array("{\"amount\":1000}".utf8) })
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
        let sources = try JavaClient.sources(below: JavaClient.folder + "/src")
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
        for path in try JavaClient.sources(below: JavaClient.folder) {
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 401, "\(path)")
            #expect(lines.allSatisfy { $0.count <= 100 }, "\(path)")
        }
    }
}
