import Foundation
import GatewayTesting
import JSON
import Testing

/// Shares that move by themselves, in gateways that are killed meanwhile.
@Suite(
    "Rollouts of gateways", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct RolloutTests {}

extension RolloutTests {
    /// Beginning with everybody, so that every request counts; a step back leaves nobody.
    private static let plan = """
        rollout: { start: 100%, guard: { refused_max: 50%, window: 1m, min_requests: 6, \
        action: step_back } }
        """

    private func site() throws -> FaultSite {
        let site = try FaultSite()
        site.configuration.routes.append(
            .init("api", path: "/api/*", attest: "mode: enforce, \(Self.plan)"))
        site.configuration.more.append("endpoints: { attest_rollout: { start: 100% } }")
        return site
    }

    private func rollout(
        _ gateway: GatewayProcess, _ words: [String], expecting status: Int32 = 0
    ) throws -> String {
        let outcome = try BuiltProgram.run(
            ["rollout", words[0], "-c", gateway.configurationPath] + words.dropFirst())
        #expect(outcome.status == .exited(status), "\(outcome.standardError)")
        return outcome.standardOutput + outcome.standardError
    }

    private func wait(_ status: Int, _ gateway: GatewayProcess, _ target: String = "/api/x") throws
    {
        _ = try gateway.poll { client in
            try client.exchange("GET", target).status == status ? true : nil
        }
    }

    @Test("the guard steps back; a gateway that is killed finds the share again; by hand it moves")
    func sqlite() throws {
        let site = try site()
        defer { withExtendedLifetime(site) {} }
        let gateway = try site.start()
        let never = try rollout(gateway, ["show", "api"])
        #expect(never.hasPrefix("api: 100%, running\n"), "\(never)")
        for _ in 0..<6 { #expect(try gateway.exchange("GET", "/api/x").status == 401) }
        let event = try gateway.waitForEvent("rollout_changed")
        let words = "api: 100% to 0%: guard_stepped_back, 6 of 6 refused, held_by_guard"
        #expect(event["message"]?.stringValue == words)
        try wait(200, gateway)
        try gateway.restart(byKill: true)
        #expect(try gateway.exchange("GET", "/api/x").status == 200)
        #expect(try gateway.metric(#"sallyport_rollout_percent{route="api"}"#) == 0)
        let held = try rollout(gateway, ["show"])
        #expect(held.contains("api: 0%, held_by_guard\n"), "\(held)")
        #expect(held.contains("guard_stepped_back from 100%, 6 of 6 refused"), "\(held)")
        #expect(held.contains("attest_rollout: 100%, running\n"), "\(held)")
        #expect(
            try rollout(gateway, ["set", "api", "100%"]).hasPrefix("api: 100%, held_by_operator"))
        try wait(401, gateway)
        #expect(try rollout(gateway, ["resume", "api"]).hasPrefix("api: 100%, running"))
        #expect(try rollout(gateway, ["hold", "api"]).hasPrefix("api: 100%, held_by_operator"))
        _ = try rollout(gateway, ["set", "attest_rollout", "0"])
        try wait(429, gateway, "/attest/challenge")
        // While no gateway runs it works as well.
        try gateway.terminate()
        _ = try rollout(gateway, ["set", "api", "0%"])
        try gateway.start()
        #expect(try gateway.exchange("GET", "/api/x").status == 200)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("what rollout refuses it refuses with a reason")
    func usage() throws {
        let site = try site()
        defer { withExtendedLifetime(site) {} }
        let gateway = try site.start()
        for (words, status, text) in [
            (["set", "api"], 2, "usage:"), (["set", "api", "101%"], 2, "is not a share from 0%"),
            (["set", "api", "+5"], 2, "is not a share"), (["stop", "api"], 2, "unknown action"),
            (["hold"], 2, "usage:"), (["hold", "nothing"], 1, "no route is named nothing"),
            (["hold", "strict"], 1, "strict: its share is fixed at 100% by the configuration"),
            (["set", "strict", "5%"], 1, "write attest.rollout: { start: 100% } to have commands"),
        ] as [([String], Int32, String)] {
            let words = try rollout(gateway, words, expecting: status)
            #expect(words.contains(text), "\(words)")
        }
        let route = try BuiltProgram.run(
            ["route", "-c", gateway.configurationPath, "GET", "/api/x"])
        #expect(
            route.standardOutput.contains(
                "rollout from 100%, step_back above 50% refused of at least 6 in 1m"),
            "\(route.standardOutput)")
    }

    @Test("a reload keeps the share, and gives a new rollout the one that held before")
    func reload() throws {
        let site = try site()
        let gateway = try site.start()
        _ = try rollout(gateway, ["set", "api", "0%"])
        try wait(200, gateway)
        var configuration = site.configuration
        configuration.routes[configuration.routes.count - 1].attest =
            "mode: enforce, rollout: { start: 100%, step: x2 }"
        try gateway.reload(configuration)
        #expect(try gateway.exchange("GET", "/api/x").status == 200)
        configuration.routes[configuration.routes.count - 1].attest =
            "mode: enforce, rollout: { start: 99%, step: x2 }"
        try gateway.reload(configuration)
        try gateway.waitForReadiness(200)
        _ = try gateway.poll { client in
            try gateway.metric(#"sallyport_rollout_percent{route="api"}"#) == 99 ? true : nil
        }
        configuration.routes[configuration.routes.count - 1].attest = "mode: enforce"
        try gateway.reload(configuration)
        try wait(401, gateway)
        #expect(try gateway.metric(#"sallyport_rollout_percent{route="api"}"#) == 100)
    }

    // MARK: on PostgreSQL

    private func site(_ server: PostgresServer) throws -> FaultSite {
        let site = try site()
        let keys = try site.directory.write(
            Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
            to: "challenge-keys")
        let database = try server.makeDatabase()
        site.configuration.registry = "postgres: \"\(server.url(database))\", pool: 2"
        site.configuration.more.append("secrets: { challenge_key_file: \(keys) }")
        return site
    }

    @Test(
        "two gateways on PostgreSQL count together, follow together, and survive kill -9",
        .enabled(if: PostgresServer.isInstalled))
    func twoGateways() throws {
        let site = try site(try PostgresServer.shared.get())
        let gateways = [try site.start(), try site.start()]
        // Neither alone has enough for the guard.
        for gateway in gateways {
            for _ in 0..<3 { #expect(try gateway.exchange("GET", "/api/x").status == 401) }
        }
        for gateway in gateways {
            let event = try gateway.waitForEvent("rollout_changed")
            let words = "api: 100% to 0%: guard_stepped_back, 6 of 6 refused, held_by_guard"
            #expect(event["message"]?.stringValue == words)
            try wait(200, gateway)
        }
        for gateway in gateways { try gateway.kill() }
        try gateways[1].start()
        #expect(try gateways[1].exchange("GET", "/api/x").status == 200)
        _ = try rollout(gateways[0], ["set", "api", "100%"])
        try gateways[0].start()
        for gateway in gateways { try wait(401, gateway) }
        for gateway in gateways { #expect(gateway.alarms.isEmpty) }
    }

    @Test(
        "without PostgreSQL the last share stays; a start that knows none lets nobody by",
        .enabled(if: PostgresServer.isInstalled))
    func registryAway() throws {
        let server = try PostgresServer()
        let site = try site(server)
        let gateway = try site.start()
        _ = try rollout(gateway, ["set", "api", "0%"])
        try wait(200, gateway)
        try server.kill()
        try gateway.waitForReadiness(503)
        #expect(try gateway.exchange("GET", "/api/x").status == 200)
        try gateway.restart(byKill: true)
        let refused = try gateway.exchange("GET", "/api/x")
        #expect(refused.verdict == "503 store_unavailable")
        #expect(try gateway.exchange("GET", "/open/x").status == 200)
        #expect(try gateway.admin("/readyz").bodyText.contains("rollout"))
        try server.start()
        try wait(200, gateway)
        try gateway.waitForReadiness(200)
    }
}
