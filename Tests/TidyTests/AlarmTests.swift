import Testing

/// The rules for Prometheus and the board for Grafana follow the documents and the code.
@Suite("Alarms")
struct AlarmTests {}

extension AlarmTests {
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

    /// Alarms that no problem of the status page stands for.
    private static let withoutProblem = [
        "ReceiptLease": "it counts the leases of all gateways"
    ]

    /// Problems that no alarm stands for.
    private static let withoutAlarm = [
        "rollout_unknown": "the registry is down, or was at the start: StoreDown",
        "rollout_held": "the guard did what it is for, and the event rollout_changed says so",
        "check_refused": "a proxy is wrongly configured, seen when it is set up",
        "log_reopen_failed": "no line is lost, and the event log_reopen_failed says so",
        "log_stuck": "no line is lost until memory is full: LogLinesDropped",
        "draining": "somebody stops the gateway",
        "problem_detail": "somebody has chosen it, and nothing is wrong",
        "capture": "likewise",
    ]

    @Test("the status page has a problem for each alarm, and its document names both")
    func problems() throws {
        let code = try Self.text("Sources/Gateway/Admin/StatusProblem.swift")
        let enumeration = try #require(
            code.firstMatch(of: /enum Name: String, CaseIterable \{(?<cases>[^}]+)\}/))
        let named = Self.names("\(enumeration.output.cases)", /case \w+ = "(\w+)"/)
        let plain = Self.names("\(enumeration.output.cases)", /case (\w+)\n/)
        let names = Set(named + plain)
        #expect(names.count > 25)
        let document = try Self.text("docs/operations/status.md")
        let rows = document.matches(
            of: /\n\| (?<name>`\w+`) \| (?:error|warning|note) \| (?<alarms>[^|]+) \|/)
        #expect(Set(rows.map { String($0.output.name.dropFirst().dropLast()) }) == names)
        #expect(rows.count == names.count)
        var shown: Set<String> = []
        for row in rows {
            let alarms = Self.names("\(row.output.alarms)", /`(\w+)`/)
            let name = String(row.output.name.dropFirst().dropLast())
            #expect(alarms.isEmpty == (Self.withoutAlarm[name] != nil), "\(name)")
            shown.formUnion(alarms)
        }
        let alarms = Self.names(try Self.rules(), /- alert: Sallyport(\w+)/)
        #expect(shown == Set(alarms).subtracting(Self.withoutProblem.keys))
        for alarm in Self.withoutProblem.keys { #expect(document.contains("`\(alarm)`")) }
    }

    @Test("rules and board use no metric that the gateway does not have")
    func metrics() throws {
        let code = SourceTree.files
            .filter {
                $0.path.hasPrefix("Sources/Gateway/Admin/MetricsPage")
                    || $0.path.hasSuffix("QuotaMetrics.swift")
            }
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
