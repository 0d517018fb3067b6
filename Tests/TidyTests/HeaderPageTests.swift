import Testing

/// `docs/headers.md` is what developers of APIs rely on.
@Suite("The page of headers")
struct HeaderPageTests {}

extension HeaderPageTests {
    private static let page = "docs/headers.md"

    private func rows() throws -> [String: Substring] {
        let page = try #require(SourceTree.read(Self.page))
        return page.lines.reduce(into: [:]) { rows, line in
            guard let match = line.firstMatch(of: /^\| `(X-Attest-[\w-]+)` \| [^|]+ \| [^|]+ \|$/)
            else { return }
            // The first row is the header's; tables of its values come later.
            let name = String(match.output.1)
            if rows[name] == nil { rows[name] = line }
        }
    }

    @Test("has every header that the gateway writes, and no other")
    func names() throws {
        let written = SourceTree.files.filter { $0.path.hasPrefix("Sources/Gateway/Exchange/") }
            .flatMap { file in
                file.text.matches(of: #/(X-Attest-[\w-]+): /#).map { String($0.output.1) }
            }
        let named = Set(written).union(["X-Attest-Identity", "X-Attest-Quota-NAME-Remaining"])
        #expect(named.count > 18)
        #expect(Set(try rows().keys) == named)
    }

    @Test("has every value of those with a few")
    func values() throws {
        let page = try #require(SourceTree.read(Self.page))
        let rows = try rows()
        func expect(_ header: String, _ values: [String]) {
            #expect(!values.isEmpty, "\(header)")
            for value in values {
                #expect(rows[header]?.contains("`\(value)`") == true, "\(header): \(value)")
            }
        }
        func words(_ path: String, _ pattern: Regex<(Substring, Substring)>) throws -> [String] {
            let source = try #require(SourceTree.read(path))
            return source.text.matches(of: pattern).map { String($0.output.1) }
        }
        let tiers = try words("Sources/Policy/TrustTier.swift", /case \.\w+: "(\w+)"/)
        expect("X-Attest-Tier", tiers)
        expect(
            "X-Attest-Body",
            try words(
                "Sources/Gateway/Exchange/Question/CheckQuestion.swift", /X-Attest-Body: (\w+)/))
        let results =
            try words(
                "Sources/Gateway/Exchange/Forwarder/TellVerdict.swift", /X-Attest-Result: (\w+)/)
            + words("Sources/Judgement/Shortfall.swift", /case \.\w+: "(\w+)"/)
        #expect(Set(results).count == 6)
        let categories = try words(
            "Sources/AppAttest/AuthenticatorData/ExtensionData.swift", /case \w+ = (\d+)/)
        for value in Set(results + tiers + categories) {
            #expect(page.lines.contains { $0.hasPrefix("| `\(value)` | ") }, "\(value)")
        }
    }
}
