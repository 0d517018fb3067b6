import Foundation
import GatewayTesting
import Telemetry
import Testing

@testable import Gateway

/// What a Prometheus has scraped, as input of `promtool test rules`.
private struct Scrapes {
    private var series: [String: [String]] = [:]
    private var count = 0

    mutating func take(_ fleet: Fleet) {
        var page = MetricFamilies()
        MetricsPage.writeFailures(fleet.failures.counts, platform: { _ in "apple" }, &page)
        for family in page.all {
            for sample in family.samples {
                guard case .unsigned(let value) = sample.value else { continue }
                let labels = (sample.labels + [("instance", "g1")])
                    .map { "\($0.name)=\"\($0.value)\"" }
                add(value, to: "\(family.name){\(labels.joined(separator: ","))}")
            }
        }
        add(
            fleet.enrolledCount,
            to: #"sallyport_requests_total{route="attest/verify",decision="answered",reason="ok","#
                + #"instance="g1"}"#)
        count += 1
    }

    private mutating func add(_ value: UInt64, to name: String) {
        Self.append(value, after: count, to: &series[name, default: []])
    }

    /// Also notes the scrapes before it that have no sample.
    private static func append(_ value: UInt64, after count: Int, to values: inout [String]) {
        values += repeatElement("_", count: count - values.count)
        values.append("\(value)")
    }

    func test(interval: Int, expectations: String) -> String {
        let input = series.sorted { $0.key < $1.key }.map {
            "      - series: '\($0.key)'\n        values: \($0.value.joined(separator: " "))\n"
        }
        return """
              - interval: \(interval)m
                input_series:
            \(input.joined())    promql_expr_test:
            \(expectations)

            """
    }
}

@Suite("Alarms of a fleet of 100,000")
struct FleetAlarmTests {}

extension FleetAlarmTests {
    private static let hasPromtool =
        (try? ChildProcess.run("promtool", ["--version"]))?.status == .exited(0)
    private static let alarms = [
        "SallyportAppleDown", "SallyportBuildBroken", "SallyportKeysDying",
    ]
    /// Any of them, in PromQL.
    private static let alerts = "ALERTS{alertname=~\"\(alarms.joined(separator: "|"))\"}"
    private static let day = 1440

    /// The published rules without those of other alarms, which take as long again in each of some
    /// thousand minutes.
    private func rules() throws -> String {
        let parts = try Repository.text(of: "deploy/prometheus/sallyport.rules.yml")
            .components(separatedBy: "      - alert: ")
        let own = parts.dropFirst().filter { part in
            Self.alarms.contains { part.hasPrefix($0 + "\n") }
        }
        try #require(own.count == Self.alarms.count)
        return ([parts[0]] + own).joined(separator: "      - alert: ")
    }

    private func promtool(_ tests: [String], interval: Int) throws -> String? {
        let directory = try ScratchDirectory()
        try directory.write(rules(), to: "rules.yml")
        let path = try directory.write(
            "rule_files: [rules.yml]\nevaluation_interval: \(interval)m\ntests:\n"
                + tests.joined(), to: "fleet.test.yml")
        let outcome = try ChildProcess.run(
            "promtool", ["test", "rules", path], within: .seconds(600))
        return outcome.status == .exited(0)
            ? nil : outcome.standardOutput + outcome.standardError
    }

    private func expectation(_ expression: String, at minute: Int, _ samples: [String]) -> String {
        let list = samples.map { "\n          - labels: '\($0)'\n            value: 1" }.joined()
        return """
                  - expr: '\(expression)'
                    eval_time: \(minute)m
                    exp_samples:\(samples.isEmpty ? " []" : list)

            """
    }

    private static func firing(_ fault: FleetFault) -> String {
        let (name, labels) =
            switch fault {
            case .appleDown: ("SallyportAppleDown", "")
            case .buildBroken:
                (
                    "SallyportBuildBroken",
                    "app=\"\(Fleet.appID)\",platform=\"apple\","
                        + "version=\"\(Fleet.versions.last ?? "")\","
                )
            case .keysDying:
                ("SallyportKeysDying", "os=\"\(Fleet.systems[Fleet.dyingSystem])\",")
            }
        return "ALERTS{\(labels)alertname=\"\(name)\",alertstate=\"firing\",severity=\"warning\"}"
    }

    @Test(
        "each fault is named within five minutes, and as no other", .enabled(if: hasPromtool),
        arguments: FleetFault.allCases)
    func named(fault: FleetFault) throws {
        let tests = [9, 21].map { hour in
            // After a day, so that something is usual.
            var fleet = Fleet(seed: UInt64(hour), minute: hour * 60)
            let faultAt = Self.day + 60
            fleet.strike(fault, at: hour * 60 + faultAt)
            var scrapes = Scrapes()
            for _ in 0...(faultAt + 30) {
                scrapes.take(fleet)
                fleet.step()
            }
            // As of a scrape, so a fault of minute n shows in that of minute n + 1.
            return scrapes.test(
                interval: 1,
                expectations: expectation("last_over_time(\(Self.alerts)[1h])", at: faultAt, [])
                    + expectation(Self.alerts, at: faultAt + 5, [Self.firing(fault)])
                    + expectation(Self.alerts, at: faultAt + 30, [Self.firing(fault)]))
        }
        let findings = try promtool(tests, interval: 1)
        #expect(findings == nil, "\(findings?.suffix(3000) ?? "")")
    }

    @Test("none rings in a quiet week with releases of app and system", .enabled(if: hasPromtool))
    func quiet() throws {
        var fleet = Fleet(seed: 7)
        fleet.releaseAt = 2 * Self.day + 600
        fleet.systemAt = 4 * Self.day + 1080
        var scrapes = Scrapes()
        for minute in 0...(7 * Self.day) {
            if minute % 2 == 0 { scrapes.take(fleet) }
            fleet.step()
        }
        // Otherwise nothing was tried.
        #expect(fleet.failures.counts.causes.values.reduce(0, +) > 10_000)
        #expect(fleet.enrolledCount > 10_000)
        let findings = try promtool(
            [
                scrapes.test(
                    interval: 2,
                    expectations: expectation(
                        "last_over_time(\(Self.alerts)[8d])",
                        at: 7 * Self.day, []))
            ], interval: 2)
        #expect(findings == nil, "\(findings?.suffix(3000) ?? "")")
    }
}
