import Background
import EventLoop
import Foundation
import GatewayTesting
import Judgement
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("The last refusals")
struct RefusalTests {
    @Test("no flood pushes out other kinds, nor other clients of its kind")
    func flood() throws {
        let gateway = try GatewayUnderTest()
        let client = try RawClient(port: gateway.trustedPort)
        func send(_ path: String, from address: String) throws {
            #expect(
                try client.exchange("GET", path, fields: [("X-Forwarded-For", address)]).status
                    == 401)
        }
        try send("/durable/first", from: "192.0.2.1")
        for number in 0..<3 { try send("/attested/\(number)", from: "192.0.2.2") }
        for number in 0..<(3 * RecentRefusals.countMax) {
            // Many addresses of one person.
            try send("/attested/flood", from: "2001:db8::\(String(number, radix: 16))")
        }
        gateway.stop()
        let records = gateway.hub.refusals[0].records
        #expect(records.count == RecentRefusals.countMax)
        let paths = records.map { String(decoding: $0.path, as: UTF8.self) }
        #expect(paths.first == "/durable/first")
        for number in 0..<3 { #expect(paths.contains("/attested/\(number)")) }
        #expect(records.last?.client?.ipText == "2001:db8::257")
        // Several workers' lists become one by the same rule.
        let merged = RecentRefusals.merged([records, records, records])
        #expect(merged.count == RecentRefusals.countMax)
        #expect(merged.filter { $0.route == "durable" }.count == 3)
    }

    @Test("kinds share the room evenly when all of them are many")
    func kinds() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        for route in ["attested", "durable", "window", "unchallenged"] {
            for _ in 0..<RecentRefusals.countMax {
                #expect(try client.exchange("GET", "/\(route)/x").status == 401)
            }
        }
        gateway.stop()
        let routes = Dictionary(grouping: gateway.hub.refusals[0].records) { $0.route ?? "" }
        #expect(routes.count == 4)
        for records in routes.values { #expect(records.count == RecentRefusals.countMax / 4) }
    }

    @Test("what a stranger sends is cut, and a head that cannot be read has no parts")
    func bounds() throws {
        let gateway = try GatewayUnderTest()
        let path = "/attested/" + String(repeating: "a", count: 4000)
        let client = try gateway.client()
        #expect(
            try client.exchange(
                "GET", path + "?secret=1",
                fields: [("User-Agent", String(repeating: "b", count: 4000))]
            ).status == 401)
        try client.send(Array("GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n".utf8))
        #expect(try client.receive().status == 400)
        gateway.stop()
        let records = gateway.hub.refusals[0].records
        let limits = RefusalRecord.byteCountsMax
        #expect(records.first?.path.count == limits[2])
        #expect(records.first?.userAgent.count == limits[3])
        #expect(records.first?.requestID.count == 32)
        #expect(records.last?.reason == .badRequest)
        #expect(records.last?.path.isEmpty == true && records.last?.requestID.count == 32)
    }
}

@Suite("The verdict of the status page")
struct StatusVerdictTests {
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
        #expect(try problems(gateway).map(\.name.description) == ["extra_roots"])
        gateway.hub.reloads.failed("line 3: no such key\nline 4: nor this")
        _ = gateway.hub.health.registry(isReady: false)
        let found = try problems(gateway)
        #expect(
            found.map(\.name.description) == ["store_down", "reload_failed", "extra_roots"])
        #expect(found[1].text.contains("line 3: no such key; line 4: nor this."))
        let sentence = StatusVerdict(found).sentence
        #expect(sentence.hasPrefix("The registry does not answer"))
        #expect(sentence.hasSuffix("2 more things need attention."))
        gateway.hub.reloads.taken()
        _ = gateway.hub.health.registry(isReady: true)
        gateway.hub.health.drain()
        #expect(try problems(gateway).map(\.name.description) == ["draining", "extra_roots"])
    }

    @Test("names the route whose proofs do not hold, and no route of few requests")
    func proofs() throws {
        let gateway = try GatewayUnderTest()
        func take(invalid: UInt64, verified: UInt64) {
            gateway.hub.history.withLock { history in
                var counters = [UInt64](repeating: 0, count: history.routes.columnCount)
                let first = StatusHistory.RouteColumn.allCases.count
                counters[first + Int(RequestBucket.invalid.rawValue)] = invalid
                counters[first + Int(RequestBucket.verified.rawValue)] = verified
                history.routes.take("attested", counters, at: history.minute)
            }
        }
        take(invalid: 20, verified: 20)
        #expect(try problems(gateway).count == 1)
        take(invalid: 20, verified: 100)
        let found = try problems(gateway)
        #expect(found.map(\.name.description) == ["invalid_proofs", "extra_roots"])
        #expect(found.contains { $0.text.contains("20 of 120 requests of the route attested") })
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
            found.map(\.name.description) == ["upstream_failures", "server_errors", "extra_roots"])
        #expect(found[0].text.contains("50 of 100 requests to the upstream api failed"))
        #expect(found[1].text.contains("50 of 100 requests of the route attested"))
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
        #expect(found.map(\.name.description) == ["server_down", "extra_roots"])
        #expect(found[0].text.contains("1 of 2 servers of the upstream api are out"))
        servers[1].isDown = true
        found = try problems(gateway)
        #expect(found.map(\.name.description) == ["upstream_down", "extra_roots"])
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
        #expect(found.map(\.name.description) == ["rollout_held", "extra_roots"])
        #expect(found[0].text.contains("at 10%: 120 of 803 requests were refused"))
    }

    @Test(
        "remembers for an hour what was counted",
        arguments: [
            (StatusHistory.GatewayColumn.internalFailures, "internal_failures"),
            (.storeUnavailable, "store_unavailable"), (.busy, "gateway_busy"),
            (.conflicts, "key_conflicts"), (.linesLost, "log_lines_lost"),
        ])
    func counted(column: StatusHistory.GatewayColumn, name: String) throws {
        let gateway = try GatewayUnderTest()
        gateway.hub.history.withLock { history in
            var counters = [UInt64](repeating: 0, count: history.gateway.columnCount)
            counters[column.rawValue] = 1
            history.gateway.take(StatusHistory.whole, counters, at: history.minute)
        }
        #expect(try problems(gateway).contains { $0.name.description == name })
        gateway.hub.history.withLock { history in
            history.advance(to: MonotonicInstant.now() + .seconds(3600))
        }
        #expect(try problems(gateway).map(\.name.description) == ["extra_roots"])
    }
}
