import Attestation
import Background
import EventLoop
import Foundation
import GatewayTesting
import Judgement
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("The verdict of the status page")
struct StatusVerdictTests {}

extension StatusVerdictTests {
    private func problems(
        _ gateway: GatewayUnderTest, now: Int64 = 0
    ) throws -> [StatusProblem] {
        let site = try Site(
            settings: gateway.settings, challengeKeys: [GatewayUnderTest.challengeKey],
            generation: 1, rollouts: gateway.rollouts)
        let history = gateway.hub.history.withLock { $0 }
        return StatusVerdict(
            StatusInspection(hub: gateway.hub, site: site, now: now, history: history).problems
        ).problems
    }

    @Test("everything is in order if nothing is wrong")
    func order() {
        #expect(StatusVerdict([]).sentence == "Everything is in order.")
        #expect(StatusVerdict([]).level == .ok)
    }

    @Test("says what is wrong and what to do, the worst first")
    func worst() throws {
        let gateway = try GatewayUnderTest()
        #expect(try problems(gateway).map(\.name.rawValue) == ["extra_roots"])
        gateway.hub.reloads.failed(
            ConfigurationFailure("line 3: no such key\nline 4: nor this"))
        gateway.hub.health.registry(isReady: false)
        let found = try problems(gateway)
        #expect(
            found.map(\.name.rawValue) == ["store_down", "reload_failed", "extra_roots"])
        #expect(found[1].text.contains("line 3: no such key; line 4: nor this."))
        #expect(found[1].remedy.hasPrefix("Correct the file"))
        gateway.hub.reloads.failed(ConfigurationFailure("of a registry", needsRestart: true))
        #expect(try problems(gateway)[1].remedy.hasPrefix("Restart the gateway"))
        let sentence = StatusVerdict(found).sentence
        #expect(sentence.hasPrefix("The registry does not answer"))
        #expect(sentence.hasSuffix("2 more things need attention."))
        gateway.hub.reloads.taken()
        gateway.hub.health.registry(isReady: true)
        gateway.hub.health.drain()
        #expect(try problems(gateway).map(\.name.rawValue) == ["draining", "extra_roots"])
    }

    @Test("names the route whose proofs do not hold, and no route of few requests")
    func proofs() throws {
        let gateway = try GatewayUnderTest()
        typealias Column = StatusHistory.RouteColumn
        func take(_ route: String, _ column: Column, _ count: UInt64, of ended: UInt64) {
            gateway.hub.history.withLock { history in
                var counters = [UInt64](repeating: 0, count: history.routes.columnCount)
                counters[column.rawValue] = count
                counters[Column.ended.rawValue] = ended
                history.routes.take(route, counters, at: history.minute)
            }
        }
        take("attested", .invalidProofs, 20, of: 40)
        #expect(try problems(gateway).count == 1)
        take("attested", .invalidProofs, 20, of: 120)
        take("attest/verify", .invalidProofs, 50, of: 60)
        take("durable", .challengesExpired, 6, of: 100)
        let found = try problems(gateway)
        #expect(
            found.map(\.name)
                == [.invalidProofs, .challengesExpired, .invalidProofs, .extraRoots])
        for text in [
            "20 of 120 requests of the route attested", "6 of 100 requests of the route durable",
            "50 of 60 requests of the route attest/verify",
        ] { #expect(found.contains { $0.text.contains(text) }, "\(text)") }
    }

    @Test("a version is refused by its invalid proofs: one that is too old is meant to be")
    func versions() throws {
        let gateway = try GatewayUnderTest()
        func take(_ version: String, _ bucket: RequestBucket) {
            gateway.hub.history.withLock { history in
                var counters = [UInt64](repeating: 0, count: history.versions.columnCount)
                counters[Int(bucket.rawValue)] = 60
                history.versions.take(
                    StatusHistory.Version(app: "A.b", platform: .apple, version: version),
                    counters,
                    at: history.minute)
            }
        }
        take("1", .outdatedClient)
        take("2", .verified)
        take(NamedVersions.unknown, .invalid)
        #expect(try problems(gateway).map(\.name) == [.extraRoots])
        take("3", .invalid)
        #expect(
            try problems(gateway).first?.text.hasPrefix("60 of 60 requests of version 3 of A.b")
                == true)
    }

    @Test("what was chosen is noted, and nothing is out of order for it")
    func notes() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.trust.extraRoots = []
            settings.routes[0].tellsCause = true
            settings.capture = CaptureSettings(directory: "/tmp/capture")
        }
        let verdict = StatusVerdict(try problems(gateway))
        #expect(verdict.problems.map(\.name) == [.problemDetail, .capture])
        #expect(verdict.others.count == 2 && verdict.level == .ok)
        #expect(verdict.sentence == "Everything is in order.")
        gateway.hub.reloads.failed(ConfigurationFailure("why"))
        let worse = StatusVerdict(try problems(gateway))
        #expect(worse.headline?.name == .reloadFailed && worse.others.count == 2)
        #expect(!worse.sentence.contains("attention"))
    }

    @Test("a log of the registry that is held is told with who holds it, while so")
    func heldLog() throws {
        let log = RegistryLog(byteCountMax: 100 << 20)
        let gateway = try GatewayUnderTest(registry: ScriptedRegistry(log: log))
        let start = MonotonicInstant(nanoseconds: 0)
        let words = "process 7 (sqlite3) is in a transaction that reads the registry"
        log.note(byteCount: 70 << 20, obstacle: words, at: start)
        let grown = try problems(gateway)[0]
        #expect(grown.name == .registryLog && grown.level == .warning)
        #expect(grown.text == "The registry's log (-wal) has 70 MiB: \(words).")
        log.note(byteCount: 100 << 20, obstacle: words, at: start)
        let full = try problems(gateway)[0]
        #expect(full.name == .registryLog && full.level == .error)
        #expect(full.text.contains("so counters of replay: durable are refused: process 7"))
        log.note(byteCount: 0, obstacle: nil, at: start)
        #expect(try problems(gateway).allSatisfy { $0.name != .registryLog })
    }

    @Test("floors that are not kept and exports that fail are told with their reason, while so")
    func states() throws {
        let gateway = try GatewayUnderTest()
        let hub = gateway.hub
        hub.logs.event(level: "error", "floors_unkept", "the disk is full")
        hub.exports.failed(.metrics, "the collector answered 500")
        let found = try problems(gateway)
        #expect(found.map(\.name) == [.floorsUnkept, .exportFailing, .extraRoots])
        #expect(found[0].text.hasSuffix("their files: the disk is full."))
        #expect(found[1].text.contains("No metrics reach"))
        #expect(found[1].text.hasSuffix("the collector answered 500."))
        hub.logs.event(level: "info", "floors_kept", "it is well")
        hub.exports.succeeded(.metrics)
        #expect(try problems(gateway).map(\.name) == [.extraRoots])
    }

    @Test("a store that is down says why, and is not blamed for the other's reason")
    func reasons() throws {
        let gateway = try GatewayUnderTest()
        gateway.hub.health.registry(isReady: false)
        gateway.hub.health.outages.note("counters", "refused", in: gateway.hub.logs)
        #expect(try problems(gateway).first?.text.hasSuffix("cannot be judged.") == true)
        gateway.hub.health.outages.note("registry", "no such file", in: gateway.hub.logs)
        #expect(
            try problems(gateway).first?.text.hasSuffix("cannot be judged: no such file.") == true)
    }

    @Test("a server that only requests ask is as old as the last one, and says so")
    func unasked() throws {
        let gateway = try GatewayUnderTest()
        let server = try #require(gateway.hub.currentGroups.first?.servers.first)
        server.isDown = true
        let name = try #require(ServerFigures.all(gateway.hub).first?.remembered)
        #expect(try problems(gateway).first?.text.contains("(not asked yet)") == true)
        gateway.hub.history.withLock { $0.servers.take([(server: name, count: 1)], at: 1000) }
        #expect(try problems(gateway, now: 1059).first?.text.contains("not asked") == false)
        gateway.hub.history.withLock { $0.servers.take([(server: name, count: 1)], at: 1060) }
        let found = try #require(try problems(gateway, now: 1060).first)
        #expect(found.text.contains("(not asked since 1970-01-01T00:16:40"))
        #expect(found.remedy.contains("Without a health check only a request tells"))
        gateway.hub.history.withLock { $0.servers.take([(server: name, count: 2)], at: 1060) }
        #expect(try problems(gateway, now: 1060).first?.text.contains("not asked") == false)
    }

    @Test("names what fails though its servers count as up, and nothing of few requests")
    func failing() throws {
        let gateway = try GatewayUnderTest()
        func take(_ count: UInt64, failures: UInt64) {
            gateway.hub.history.withLock { history in
                var upstream = [UInt64](repeating: 0, count: history.upstreams.columnCount)
                upstream[StatusHistory.UpstreamColumn.requests.rawValue] = count
                upstream[StatusHistory.UpstreamColumn.failures.rawValue] = failures
                history.upstreams.take("api", upstream, at: history.minute)
                var route = [UInt64](repeating: 0, count: history.routes.columnCount)
                route[StatusHistory.RouteColumn.ended.rawValue] = count
                route[StatusHistory.RouteColumn.serverErrors.rawValue] = failures
                history.routes.take("attested", route, at: history.minute)
            }
        }
        take(10, failures: 10)
        #expect(try problems(gateway).count == 1)
        take(100, failures: 50)
        let found = try problems(gateway)
        #expect(
            found.map(\.name.rawValue) == ["upstream_failures", "server_errors", "extra_roots"])
        #expect(found[0].text.contains("50 of 100 requests to the upstream api failed"))
        #expect(found[1].text.contains("50 of 100 requests of the route attested"))
        // Nobody listens: what was not sent failed all the same.
        take(120, failures: 400)
        #expect(try problems(gateway)[0].text.contains("400 of 400 requests to the upstream api"))
    }

    @Test("tells a server that is out from an upstream that is")
    func upstreams() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.upstreams[0] = UpstreamSettings(
                name: "api",
                servers: [.tcp(host: "127.0.0.1", port: 1), .tcp(host: "127.0.0.1", port: 2)])
        }
        let servers = try #require(gateway.hub.currentGroups.first?.servers)
        servers[0].isDown = true
        var found = try problems(gateway)
        #expect(found.map(\.name.rawValue) == ["server_down", "extra_roots"])
        #expect(found[0].text.contains("1 of 2 servers of the upstream api is out"))
        servers[1].isDown = true
        found = try problems(gateway)
        #expect(found.map(\.name.rawValue) == ["upstream_down", "extra_roots"])
        #expect(found[0].level == .error && found[0].text.contains("127.0.0.1:2 is down"))
    }

    @Test("names a rollout that its guard holds, and why")
    func rollout() throws {
        let plan = RolloutPlan(start: 10)
        let gateway = try GatewayUnderTest { $0.routes[0].rollout = plan }
        let planned = try #require(gateway.settings.plannedRollouts.first)
        var state = RolloutState(beginning: plan, at: 0)
        state.percent = 10
        _ = gateway.rollouts.share(of: planned).follow(state)
        #expect(try problems(gateway).count == 1)
        state.status = .heldByGuard
        state.evidence = RolloutCounts(judged: 803, refused: 120)
        _ = gateway.rollouts.share(of: planned).follow(state)
        let found = try problems(gateway)
        #expect(found.map(\.name.rawValue) == ["rollout_held", "extra_roots"])
        #expect(found[0].text.contains("at 10%: 120 of 803 requests were refused"))
    }

    @Test(
        "remembers for an hour what was counted",
        arguments: [
            (StatusHistory.GatewayColumn.internalFailures, "internal_failures"),
            (.storeUnavailable, "store_unavailable"), (.busy, "gateway_busy"),
            (.conflicts, "key_conflicts"), (.linesLost, "log_lines_lost"),
            (.retriesDenied, "retries_denied"), (.registryFailures, "registry_failed"),
            (.receiptsInvalid, "receipt_invalid"), (.appleKeyRefusals, "apple_key_refused"),
        ])
    func counted(column: StatusHistory.GatewayColumn, name: String) throws {
        let gateway = try GatewayUnderTest()
        gateway.hub.history.withLock { history in
            var counters = [UInt64](repeating: 0, count: history.gateway.columnCount)
            counters[column.rawValue] = 1
            history.gateway.take(StatusHistory.whole, counters, at: history.minute)
        }
        #expect(try problems(gateway).contains { $0.name.rawValue == name })
        gateway.hub.history.withLock { history in
            history.advance(to: MonotonicInstant.now() + .seconds(3600))
        }
        #expect(try problems(gateway).map(\.name.rawValue) == ["extra_roots"])
    }
}
