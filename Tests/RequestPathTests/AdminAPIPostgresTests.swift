import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Testing

/// The admin API of gateways that share a PostgreSQL.
@Suite(
    "The admin API on PostgreSQL",
    .enabled(if: BuiltProgram.isBuilt && PostgresServer.isInstalled), .timeLimit(.minutes(30)))
struct AdminAPIPostgresTests {
    private let server: PostgresServer
    private let database: String
    private let sites: [AdminAPISite]

    init() throws {
        let server = try PostgresServer.shared.get()
        let database = try server.makeDatabase()
        let site = try FaultSite()
        let keys = try site.directory.write(
            Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
            to: "challenge-keys")
        site.configuration.registry = "postgres: \"\(server.url(database))\", pool: 2"
        site.configuration.more.append("secrets: { challenge_key_file: \(keys) }")
        sites = try [AdminAPISite(site), AdminAPISite(site)]
        (self.server, self.database) = (server, database)
    }
}

extension AdminAPIPostgresTests {
    @Test("a revocation over one gateway holds at the other, whose API shows the entry")
    func twoGateways() throws {
        let device = try sites[0].site.enrolledDevice(at: sites[0].gateway)
        let id = device.keyID.base64
        for site in sites {
            let call = try device.call("durable").exchange(with: site.gateway)
            #expect(call.status == 200)
        }
        #expect(try sites[0].revoke([id]).status == 200)
        for site in sites {
            let verdict = try site.gateway.poll { client in
                let answer = try device.call("durable").exchange(on: client)
                return answer.status == 200 ? nil : answer.verdict
            }
            #expect(verdict == "403 key_revoked")
        }
        // Many at once, over both: each leaves its entry, in one order.
        let clients = try (0..<6).map { index in try RawClient(port: sites[index % 2].port) }
        for client in clients {
            try client.send(
                "POST", "/keys/erase", fields: [("Authorization", "Bearer \(AdminAPISite.token)")],
                body: Array("{\"key_ids\":[\"\(id)\"]}".utf8))
        }
        let answers = try clients.map { try $0.receive() }
        #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.bodyText))")
        #expect(answers.count { $0.bodyText.contains("\"erased\"") } == 1)
        let entries = try sites[1].audit()
        #expect(entries.map { $0["number"]?.integerValue } == [7, 6, 5, 4, 3, 2, 1])
        #expect(entries.last?["action"]?.stringValue == "keys.revoke")
        #expect(try sites[0].audit() == entries)
        let command = try sites[1].command(["audit", "--json"]).standardOutput
        #expect(
            try command.split(separator: "\n").map { try JSONValue.parse(String($0)) } == entries)
    }

    @Test("a registry that hangs holds up neither the gateway nor other readers")
    func hanging() throws {
        let site = sites[0]
        let device = try site.site.enrolledDevice(at: site.gateway)
        let id = device.keyID.base64
        let holder = try server.session(
            "BEGIN; SELECT FROM sallyport.keys FOR UPDATE; SELECT pg_sleep(3600)",
            database: database)
        defer { holder.kill() }
        try wait(for: 1, "wait_event = 'PgSleep'")
        let clients = try (0..<4).map { _ in try RawClient(port: site.port) }
        for client in clients {
            try client.send(
                "POST", "/keys/revoke", fields: [("Authorization", "Bearer \(AdminAPISite.token)")],
                body: Array("{\"key_ids\":[\"\(id)\"]}".utf8))
        }
        try wait(for: 4, "wait_event_type = 'Lock'")
        // The control thread, which serves the API, answers all the same.
        #expect(try site.gateway.admin("/livez").status == 200)
        #expect(try site.call("GET", "/keys", authorization: nil).status == 401)
        let busy = try site.revoke([id])
        #expect(busy.status == 503 && busy.problemCode == "gateway_busy")
        #expect(busy["Retry-After"] == "1")
        #expect(try sites[1].audit().isEmpty)
        try server.query(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity "
                + "WHERE datname = current_database() AND wait_event = 'PgSleep'",
            database: database)
        let answers = try clients.map { try $0.receive() }
        #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.bodyText))")
        #expect(try site.audit().count == 4)
        // One that is killed meanwhile has done all or nothing.
        #expect(site.gateway.alarms.isEmpty)
    }

    /// Waits until so many sessions in the database are as `condition` says.
    private func wait(for count: Int, _ condition: String) throws {
        let limit = ChildProcess.deadline
        while Date() < limit {
            let found = try server.query(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                    + "AND \(condition)", database: database)
            if found == "\(count)" { return }
        }
        throw FaultSiteError("never \(count) sessions: \(condition)")
    }

    /// A gateway whose registry names a primary and a standby, with a quota.
    private func site(_ primary: PostgresServer, _ standby: PostgresServer) throws -> AdminAPISite {
        let database = try primary.makeDatabase()
        let shared = sites[0].site
        let url = primary.url(database)
            .replacing(":\(primary.port)/", with: ":\(primary.port),127.0.0.1:\(standby.port)/")
        shared.configuration.registry = "postgres: \"\(url)\", pool: 2"
        shared.configuration.more.append("quotas: { few: { by: key, per: month, limit: 3 } }")
        return try AdminAPISite(shared)
    }

    @Test("while a named server is away a change is answered with 202, as it may be lost")
    func namedServerAway() throws {
        let primary = try PostgresServer()
        let standby = try PostgresServer(following: primary)
        let site = try site(primary, standby)
        let id = try site.site.enrolledDevice(at: site.gateway).keyID.base64
        try standby.terminate()
        let answer = try site.revoke([id])
        #expect(answer.status == 202)
        let body = try JSONValue.parse(answer.bodyText)
        #expect(body["confirmed"]?.boolValue == false)
        #expect(body["keys"]?.arrayValue?.first?["outcome"]?.stringValue == "revoked")
        let unasked = body["unasked"]?.arrayValue?.first?.stringValue ?? ""
        #expect(unasked.hasPrefix("127.0.0.1:\(standby.port) "))
        try standby.start()
        var again = try site.revoke([id])
        // On a busy machine it may answer late: that is told as before.
        let limit = ChildProcess.deadline
        while again.status == 202, Date() < limit { again = try site.revoke([id]) }
        #expect(again.status == 200 && again.bodyText.contains("\"confirmed\":true"))
        #expect(again.bodyText.contains("\"unchanged\""))
    }

    @Test("while a named server is away a changed count is confirmed without its audit entry")
    func namedServerAwayFromQuota() throws {
        let primary = try PostgresServer()
        let standby = try PostgresServer(following: primary)
        let site = try site(primary, standby)
        let device = try site.site.enrolledDevice(at: site.gateway)
        let key = "key=" + Base64.encodeURL(device.keyID.digest.array)
        try standby.terminate()
        let answer = try site.call(
            "POST", "/quotas/few/grant?\(key)", body: "{\"amount\":2}")
        #expect(answer.status == 202, "\(answer.bodyText)")
        let body = try JSONValue.parse(answer.bodyText)
        #expect(body["confirmed"]?.boolValue == false)
        #expect(body["outcome"]?.stringValue == "done" && body["used"]?.integerValue == -2)
        let unasked = body["unasked"]?.arrayValue?.first?.stringValue ?? ""
        #expect(unasked.hasPrefix("127.0.0.1:\(standby.port) "))
        let words = ["quota", "grant", "few", "--key", device.keyID.base64, "3"]
        let outcome = try site.command(words)
        #expect(outcome.status == .exited(3))
        #expect(outcome.standardOutput.hasPrefix("few: -5 used of 3, 8 left until "))
        for text in ["127.0.0.1:\(standby.port) did not say", "do not repeat the change"] {
            #expect(outcome.standardError.contains(text), "\(outcome.standardError)")
        }
        // What changes nothing is shown as before.
        #expect(try site.call("GET", "/quotas/few?\(key)").status == 200)
        try standby.start()
        let reset = "/quotas/few/reset?\(key)"
        var again = try site.call("POST", reset)
        // On a busy machine it may answer late: that is told as before.
        let limit = ChildProcess.deadline
        while again.status == 202, Date() < limit { again = try site.call("POST", reset) }
        #expect(again.status == 200 && again.bodyText.contains("\"confirmed\":true"))
        let actions = try site.actions()
        #expect(actions.count { $0 == "quota.grant" } == 2)
    }

    @Test("without PostgreSQL the API says so, and a change that was answered is there after it")
    func away() throws {
        let own = try PostgresServer()
        let database = try own.makeDatabase()
        let shared = sites[0].site
        shared.configuration.registry = "postgres: \"\(own.url(database))\", pool: 2"
        let site = try AdminAPISite(shared)
        let device = try site.site.enrolledDevice(at: site.gateway)
        try own.kill()
        let answer = try site.revoke([device.keyID.base64])
        #expect(answer.status == 503 && answer.problemCode == "store_unavailable")
        #expect(try site.call("GET", "/audit").status == 503)
        try site.gateway.waitForEvent("admin_api_failed")
        try own.start()
        #expect(try site.revoke([device.keyID.base64]).status == 200)
        try own.kill()
        try own.start()
        #expect(try site.actions() == ["keys.revoke"])
        #expect(try site.json("/keys?status=revoked")["keys"]?.arrayValue?.count == 1)
    }
}
