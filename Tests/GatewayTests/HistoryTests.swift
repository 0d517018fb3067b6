import Attestation
import EventLoop
import Foundation
import GatewayTesting
import Judgement
import Settings
import Telemetry
import Testing

@testable import Gateway

@Suite("The history of the status page")
struct HistoryTests {}

extension HistoryTests {
    private static func instant(_ minutes: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: UInt64(minutes) * 60_000_000_000)
    }

    @Test("counts fall into the slots of their time, and are forgotten when that is over")
    func slots() {
        var history = StatusHistory(startedAt: Self.instant(0))
        let zeros = [UInt64](repeating: 0, count: RequestBucket.allCases.count - 1)
        let name = StatusHistory.Version(app: "a", platform: .apple, version: "1")
        func hour() -> [UInt32] {
            history.versions.slots(name, .hour, at: history.minute).map { $0.first ?? 0 }
        }
        history.versions.take(name, [5] + zeros, at: history.minute)
        history.advance(to: Self.instant(1))
        history.versions.take(name, [5] + zeros, at: history.minute)
        history.versions.take(name, [12] + zeros, at: history.minute)
        #expect(hour() == [5, 7])
        // A counter that fell counts from where it is.
        history.versions.take(name, [2] + zeros, at: history.minute)
        history.versions.take(name, [3] + zeros, at: history.minute)
        #expect(hour() == [5, 8])
        history.advance(to: Self.instant(60))
        #expect(hour().count == 60 && hour().first == 8)
        history.advance(to: Self.instant(61))
        #expect(hour().allSatisfy { $0 == 0 })
        #expect(history.versions.sums(name, .day, at: history.minute).first == 13)
        #expect(history.versions.slots(name, .day, at: history.minute).count == 5)
        history.advance(to: Self.instant(24 * 60 + 15))
        #expect(history.versions.sums(name, .day, at: history.minute).first == 0)
        #expect(history.versions.slots(name, .day, at: history.minute).count == 96)
        #expect(history.age(of: .hour, at: Self.instant(24 * 60 + 15)) == 59 * 60_000)
    }

    @Test("a clock that leaps leaves no old slot behind")
    func leap() {
        var history = StatusHistory(startedAt: Self.instant(0))
        for minute in 0..<200 {
            history.advance(to: Self.instant(minute))
            history.stores.take(
                "registry",
                [UInt64](repeating: UInt64(minute + 1), count: history.stores.columnCount),
                at: history.minute)
        }
        #expect(history.stores.sums("registry", .hour, at: history.minute).first == 60)
        history.advance(to: Self.instant(3_000_000))
        #expect(history.stores.sums("registry", .day, at: history.minute).first == 0)
        // Nor does one that steps back.
        history.advance(to: Self.instant(1))
        #expect(history.minute == 3_000_000)
    }

    @Test("memory is bounded however many names there are; silent ones give way")
    func bound() {
        var history = StatusHistory(startedAt: Self.instant(0))
        for number in 1...1000 {
            func counters(_ count: Int) -> [UInt64] { [UInt64](repeating: 1, count: count) }
            history.routes.take("r\(number)", counters(history.routes.columnCount), at: 0)
            history.upstreams.take("u\(number)", counters(history.upstreams.columnCount), at: 0)
            history.platforms.take(
                PlatformName("p\(number)"), counters(history.platforms.columnCount), at: 0)
            history.stores.take("s\(number)", counters(history.stores.columnCount), at: 0)
            history.gateway.take("g\(number)", counters(history.gateway.columnCount), at: 0)
            history.versions.take(
                .init(app: "a", platform: .apple, version: "\(number)"),
                counters(history.versions.columnCount),
                at: 0)
        }
        #expect(history.byteCount <= StatusHistory.byteCountMax)
        #expect(history.routes.names.count == StatusHistory.routeCountMax)
        #expect(history.versions.names.count == StatusHistory.versionCountMax)
        #expect(history.leftOutCount > 0)
        #expect(
            history.routes.byteCountMax + history.versions.byteCountMax
                + history.upstreams.byteCountMax + history.stores.byteCountMax
                + history.gateway.byteCountMax + history.failureCauses.byteCountMax
                + history.failureVersions.byteCountMax + history.foreignUses.byteCountMax
                + history.quotas.byteCountMax
                <= StatusHistory.byteCountMax)
        history.advance(to: Self.instant(24 * 60 + 15))
        let late = [UInt64](repeating: 3, count: history.routes.columnCount)
        history.routes.take("r1000", late, at: history.minute)
        #expect(history.routes.names.contains("r1000"))
        // What it had counted before it had a place is not counted now.
        #expect(history.routes.sums("r1000", .hour, at: history.minute).first == 2)
        #expect(history.byteCount <= StatusHistory.byteCountMax)
    }

    @Test("a name that finds no room is counted in every table that can be full")
    func leftOut() throws {
        var history = StatusHistory(startedAt: Self.instant(0))
        func fill<Name>(
            _ table: inout HistoryTable<Name>, _ name: (Int) throws -> Name
        ) rethrows {
            let one = [UInt64](repeating: 1, count: table.columnCount)
            for number in 0..<table.countMax + 1 { table.take(try name(number), one, at: 0) }
        }
        func report(_ number: Int) throws -> FailureReport {
            let system = "\(1 + number / 100).\(number % 100)"
            let text = "phase=attest;code=offline;os=\(system);version=\(number)"
            return try FailureReport(header: Array(text.utf8).span)
        }
        fill(&history.routes) { "\($0)" }
        fill(&history.versions) { .init(app: "a", platform: .apple, version: "\($0)") }
        fill(&history.upstreams) { "\($0)" }
        try fill(&history.failureCauses) { FailureCause(try report($0)) }
        try fill(&history.failureVersions) { FailureVersion(try report($0), apps: []) }
        fill(&history.foreignUses) { .init(route: "r", proof: "p", subject: "\($0)") }
        fill(&history.quotas) { "\($0)" }
        #expect(history.leftOutCount == 7)
    }

    @Test("a flood of invented failures leaves no ring behind that a fleet's failure would need")
    func failureFlood() throws {
        let gateway = try GatewayUnderTest()
        gateway.stop()
        let hub = gateway.hub
        let start = MonotonicInstant.now()
        func report(_ text: String, _ count: Int, minute: Int) throws {
            let report = try FailureReport(header: Array(text.utf8).span)
            for _ in 0..<count {
                hub.clientFailures.count(report, apps: [], at: start + .seconds(60 * minute))
            }
        }
        func flood(_ number: Int, _ count: Int, minute: Int) throws {
            try report(
                "phase=attest;code=offline;os=\(1 + number / 100).\(number % 100)"
                    + ";version=\(number)", count, minute: minute)
        }
        for number in 0..<ClientFailures.nameCountMax { try flood(number, 1, minute: 0) }
        // Each of these takes the place of another, and more than all rings hold have had one.
        let minutes = StatusHistory.failureVersionCountMax
        for minute in 1...minutes {
            try flood(ClientFailures.nameCountMax + minute, 20, minute: minute)
            StatusSampler.sample(hub, at: start + .seconds(60 * minute))
        }
        for minute in minutes + 1...minutes + 4 {
            try report(
                "phase=assert;code=invalidKey;os=27.1;version=5", 40, minute: minute)
            StatusSampler.sample(hub, at: start + .seconds(60 * minute))
        }
        let history = hub.history.withLock { $0 }
        let counts = hub.clientFailures.counts
        #expect(Set(history.failureCauses.names) == Set(counts.causes.keys))
        #expect(Set(history.failureVersions.names) == Set(counts.versions.keys))
        #expect(history.failureVersions.names.contains { $0.version == "5" })
        let site = try Site(
            settings: gateway.settings, challengeKeys: [GatewayUnderTest.challengeKey],
            generation: 1, rollouts: gateway.rollouts)
        let problems = StatusInspection(hub: hub, site: site, now: 0, history: history).problems
        #expect(problems.contains { $0.name == .keysDying && $0.text.contains("system 27.1.") })
    }

    @Test("the meters are carried over, and nothing is counted twice")
    func sampling() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        for _ in 0..<3 { #expect(try client.exchange("GET", "/attested/x").status == 401) }
        #expect(try client.exchange("GET", "/observed/x").status == 200)
        gateway.stop()
        let hub = gateway.hub
        for _ in 0..<2 { StatusSampler.sample(hub, at: MonotonicInstant.now()) }
        let history = hub.history.withLock { $0 }
        typealias Column = StatusHistory.RouteColumn
        let attested = history.routes.sums("attested", .hour, at: history.minute)
        #expect(attested[Column.ended.rawValue] == 3 && attested[Column.refused.rawValue] == 3)
        let bucket = Column.allCases.count + Int(RequestBucket.unknownOrigin.rawValue)
        #expect(attested[bucket] == 3)
        let observed = history.routes.sums("observed", .hour, at: history.minute)
        #expect(observed[Column.wouldBeRefused.rawValue] == 1)
        #expect(observed[Column.refused.rawValue] == 0)
    }

    @Test("an API that fails is not refused by the gateway, and a proof that is invalid counts")
    func refusals() throws {
        // Nobody listens there.
        let gateway = try GatewayUnderTest { settings in
            settings.upstreams[0] = UpstreamSettings(
                name: "api", servers: [.tcp(host: "127.0.0.1", port: 1)])
        }
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/x").status == 502)
        #expect(
            try client.exchange("POST", "/attest/verify", body: Array("{}".utf8)).status >= 400)
        gateway.stop()
        StatusSampler.sample(gateway.hub, at: MonotonicInstant.now())
        let history = gateway.hub.history.withLock { $0 }
        typealias Column = StatusHistory.RouteColumn
        let open = history.routes.sums("open", .hour, at: history.minute)
        #expect(open[Column.refused.rawValue] == 0 && open[Column.serverErrors.rawValue] == 1)
        let verify = history.routes.sums("attest/verify", .hour, at: history.minute)
        #expect(verify[Column.refused.rawValue] == 1)
        let name = try #require(ServerFigures.all(gateway.hub).first?.remembered)
        #expect(history.servers.askedAt(name) != nil)
    }
}

@Suite("Quantiles")
struct QuantileTests {
    private let bounds = HistogramBounds(nanoseconds: [100, 200, 400])
}

extension QuantileTests {
    private func quantile(_ counts: [UInt64], _ share: Double) -> Double? {
        HistogramSnapshot(bounds, bucketCounts: counts)?.quantile(share)
    }

    @Test("lie evenly in their bucket, and never beyond the last bound")
    func values() {
        #expect(quantile([0, 0, 0, 0], 0.5) == nil)
        #expect(quantile([10, 0, 0, 0], 0.5) == 50)
        #expect(quantile([10, 10, 0, 0], 0.75) == 150)
        #expect(quantile([0, 0, 4, 0], 1) == 400)
        #expect(quantile([1, 0, 0, 99], 0.99) == 400)
        #expect(quantile([0, 8, 0, 0], 0) == 100)
        #expect(HistogramSnapshot(bounds, bucketCounts: [1, 2]) == nil)
    }
}
