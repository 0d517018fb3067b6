import Testing

/// The rules for Prometheus and the board for Grafana follow the documents and the code.
@Suite("Alarms")
struct AlarmTests {
    private static func text(_ path: String) throws -> String {
        try #require(SourceTree.read(path), "\(path) is missing").text
    }

    private static func rules() throws -> String {
        try text("deploy/prometheus/sallyport.rules.yml")
    }

    private static func names(_ text: String, _ pattern: Regex<(Substring, Substring)>) -> [String]
    {
        text.matches(of: pattern).map { String($0.output.1) }
    }

    @Test("the alarms of the documents are those of the rules, and each is tried")
    func alarms() throws {
        let alarms = Self.names(try Self.rules(), /- alert: (\w+)/)
        #expect(alarms.count > 20 && Set(alarms).count == alarms.count)
        let document = try Self.text("docs/operations/observe.md")
        #expect(Self.names(document, /\n\| `(Sallyport\w+)` \|/) == alarms)
        let tests = try Self.text("deploy/prometheus/sallyport.test.yml")
        #expect(Set(Self.names(tests, /alertname: (\w+)/)) == Set(alarms))
    }

    @Test("rules and board use no metric that the gateway does not have")
    func metrics() throws {
        let code = SourceTree.files
            .filter { $0.path.hasPrefix("Sources/Gateway/Admin/MetricsPage") }
            .map(\.text).joined()
        let families = Set(Self.names(code, /"((?:sallyport|process)_\w+)"/))
        let board = try Self.text("deploy/grafana/sallyport.json")
        for text in [try Self.rules(), board] {
            let used = Set(Self.names(text, /\b((?:sallyport|process)_[a-z_]+)\b/))
            #expect(used.count > 15)
            for name in used {
                let family = ["_bucket", "_sum", "_count"].reduce(name) { name, suffix in
                    name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
                }
                #expect(families.contains(family), "\(name)")
            }
        }
    }
}
