import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// Gateways whose registry is a real PostgreSQL.
@Suite(
    "Gateways on PostgreSQL", .enabled(if: BuiltProgram.isBuilt && PostgresServer.isInstalled),
    .timeLimit(.minutes(30)))
struct PostgresTests {}

extension PostgresTests {
    /// A site whose gateways share a database.
    private static func site(
        _ server: PostgresServer, redis: RedisServer? = nil, more: String = ""
    ) throws -> FaultSite {
        let site = try redis.map { try FaultSite(redis: $0) } ?? FaultSite()
        let database = try server.makeDatabase()
        let keys = try site.directory.write(
            Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
            to: "challenge-keys")
        site.configuration.registry = "postgres: \"\(server.url(database))\", pool: 2\(more)"
        site.configuration.more.append("secrets: { challenge_key_file: \(keys) }")
        return site
    }

    private func keys(
        _ path: String, _ words: [String], input: String = "", expecting status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        let outcome = try BuiltProgram.run(
            ["keys", words[0], "-c", path] + words.dropFirst(), standardInput: Array(input.utf8))
        #expect(
            outcome.status == .exited(status), "\(outcome.standardError)",
            sourceLocation: sourceLocation)
        return outcome
    }

    @Test("keys enrol, are used on every kind of route, and survive kill -9 of the gateway")
    func everyRoute() throws {
        let site = try Self.site(try PostgresServer.shared.get())
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        for route in ["strict", "window", "durable", "body"] {
            let call = try device.call(route, at: gateway)
            #expect(try call.exchange(with: gateway).status == 200, "\(route)")
        }
        let durable = try device.call("durable")
        #expect(try durable.exchange(with: gateway).status == 200)
        try gateway.restart(byKill: true)
        #expect(try durable.exchange(with: gateway).verdict == "401 assertion_replayed")
        #expect(try device.call("strict", at: gateway).exchange(with: gateway).status == 200)
        #expect(try gateway.admin("/readyz").status == 200)
        #expect(try gateway.metric(#"sallyport_store_up{store="registry"}"#) == 1)
        #expect(gateway.alarms.isEmpty)
    }

    @Test(
        "two gateways: one enrols, the other knows the key; a revocation reaches both",
        .enabled(if: RedisServer.isInstalled))
    func twoGateways() throws {
        let redis = try RedisServer()
        let site = try Self.site(try PostgresServer.shared.get(), redis: redis)
        let gateways = [try site.start(), try site.start()]
        let device = try site.enrolledDevice(at: gateways[0])
        for route in ["window", "durable"] {
            for gateway in gateways {
                let call = try device.call(route, at: gateway)
                #expect(try call.exchange(with: gateway).status == 200)
            }
        }
        // One counter is accepted by one of them.
        let call = try device.call("durable")
        let verdicts = try gateways.map { try call.exchange(with: $0).verdict }
        #expect(verdicts.sorted() == ["200", "401 assertion_replayed"])
        _ = try keys(gateways[0].configurationPath, ["revoke", device.keyID.base64])
        for gateway in gateways {
            let call = try device.call("window", at: gateway)
            #expect(try call.exchange(with: gateway).verdict == "403 key_revoked")
        }
        // Without Redis' mark the registry's own news counts.
        let other = try site.enrolledDevice(at: gateways[1])
        for gateway in gateways {
            #expect(try other.call("durable").exchange(with: gateway).status == 200)
        }
        _ = try keys(gateways[0].configurationPath, ["erase", other.keyID.base64])
        for gateway in gateways {
            let verdict = try gateway.poll { client in
                let answer = try other.call("durable").exchange(on: client)
                return answer.status == 200 ? nil : answer.verdict
            }
            #expect(verdict == "401 key_unknown" || verdict == "403 key_revoked", "\(verdict)")
        }
    }

    @Test("keys changes what it can while a named server is away, and ends with exit code 3")
    func namedServerAway() throws {
        let primary = try PostgresServer()
        let standby = try PostgresServer(following: primary)
        let site = try Self.site(primary)
        let one = ":\(primary.port)/"
        site.configuration.registry = try #require(site.configuration.registry)
            .replacing(one, with: ":\(primary.port),127.0.0.1:\(standby.port)/")
        let gateway = try site.start()
        let path = gateway.configurationPath
        let devices = try (0..<3).map { _ in try site.enrolledDevice(at: gateway) }
        // The standby hears of the database itself a moment later.
        let limit = ChildProcess.deadline
        var met = try BuiltProgram.run(["keys", "revoke", "-c", path, devices[0].keyID.base64])
        while met.status == .exited(3), Date() < limit {
            met = try BuiltProgram.run(["keys", "revoke", "-c", path, devices[0].keyID.base64])
        }
        #expect(met.status == .exited(0), "\(met.standardError)")
        #expect(!met.standardError.contains("may be"))
        try standby.terminate()
        for (action, device) in [("revoke", devices[1]), ("erase", devices[2])] {
            let outcome = try keys(path, [action, device.keyID.base64], expecting: 3)
            #expect(outcome.standardOutput.contains("\(action)d"))
            #expect(outcome.standardError.contains("127.0.0.1:\(standby.port)"))
            #expect(outcome.standardError.contains("may be lost"))
        }
        // A look changes nothing, and so is only warned of.
        let listed = try keys(path, ["show", devices[1].keyID.base64])
        #expect(listed.standardOutput.contains("revoked"))
        #expect(listed.standardError.contains("may be old"))
        // What is wrong by itself stays the failure that it is.
        let unknown = try site.device().keyID
        _ = try keys(path, ["revoke", unknown.base64], expecting: 1)
        try standby.start()
        let again = try keys(path, ["revoke", devices[1].keyID.base64])
        #expect(again.standardOutput.contains("was not active"))
        #expect(!again.standardError.contains("may be"))
    }

    @Test("while PostgreSQL is down cached keys go on, others get 503, and it all comes back")
    func outage() throws {
        let server = try PostgresServer()
        let site = try Self.site(server)
        let gateway = try site.start()
        let cached = try site.enrolledDevice(at: gateway)
        let cold = try site.enrolledDevice(at: gateway)
        #expect(try cached.call("strict", at: gateway).exchange(with: gateway).status == 200)
        try server.kill()
        try gateway.waitForReadiness(503)
        // A look-up that was on its way when the server died is refused; the record stays.
        let goesOn = try gateway.poll { client in
            let call = try cached.call("strict", at: gateway)
            return try call.exchange(on: client).status == 200 ? true : nil
        }
        #expect(goesOn)
        let verdict = try cold.call("strict", at: gateway).exchange(with: gateway).verdict
        #expect(verdict == "503 store_unavailable")
        #expect(
            try cached.call("durable").exchange(with: gateway).verdict == "503 store_unavailable")
        let late = try site.device()
        #expect(try site.enrol(late, at: gateway).verdict == "503 store_unavailable")
        try server.start()
        try gateway.waitForReadiness(200)
        #expect(try cold.call("strict", at: gateway).exchange(with: gateway).status == 200)
        #expect(try site.enrol(late, at: gateway).status == 200)
        try gateway.waitForEvent("store_down")
        try gateway.waitForEvent("store_up")
    }

    @Test("what cannot be read of the changes is told by event, metric, page and readiness")
    func unheardRevocations() throws {
        let server = try PostgresServer.shared.get()
        let site = try Self.site(server, more: ", stale_max: 4s")
        let settings = try #require(site.configuration.registry)
        let database = try #require(settings.firstMatch(of: /\/(\w+)\?/)?.output.1)
        func query(_ sql: String) throws { try server.query(sql, database: String(database)) }
        let role = "gateway_\(database)"
        try query("CREATE ROLE \(role) LOGIN; ALTER DATABASE \(database) OWNER TO \(role)")
        site.configuration.registry = settings.replacing("//postgres@", with: "//\(role)@")
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        #expect(try device.call("strict", at: gateway).exchange(with: gateway).status == 200)
        let age = "sallyport_revocations_age_seconds"
        #expect(try gateway.poll { _ in try gateway.metric(age).map { $0 < 1 ? $0 : nil } } != nil)
        try query("REVOKE SELECT ON sallyport.changes FROM \(role)")
        let words = "permission denied for table changes"
        let event = try gateway.waitForEvent("revocations_unheard")
        #expect(event["message"]?.stringValue?.contains(words) == true)
        #expect(event["message"]?.stringValue?.contains("still passes") == true)
        #expect(try #require(try gateway.metric(age)) > 2)
        let page = try gateway.admin("/status.json").bodyText
        #expect(page.contains(#""revocations_unheard""#) && page.contains(words))
        let ready = try gateway.admin("/readyz")
        #expect(ready.status == 200)
        #expect(ready.bodyText.hasPrefix("ready\nrevocations unheard for "))
        // A revocation that no gateway hears of holds once nothing is cached.
        try query("UPDATE sallyport.keys SET status = 1")
        try gateway.current.waitForLine(
            on: .standardError, containing: "each request asks the registry for its key")
        let call = try device.call("strict", at: gateway)
        #expect(try call.exchange(with: gateway).verdict == "403 key_revoked")
        try query("GRANT SELECT ON sallyport.changes TO \(role)")
        try gateway.waitForEvent("revocations_heard")
        #expect(try #require(try gateway.metric(age)) < 2)
        #expect(try gateway.admin("/readyz").bodyText == "ready\n")
    }

    @Test("kill -9 of PostgreSQL during enrolments loses none that was answered 200")
    func killedWhileEnrolling() throws {
        let server = try PostgresServer()
        let site = try Self.site(server)
        let gateway = try site.start()
        let devices = try (0..<60).map { _ in try site.device() }
        let bodies = try devices.map { try site.attestation($0, gateway) }
        let port = gateway.port
        let statuses = try inParallel(5) { thread in
            guard thread > 0 else {
                try server.kill()
                try server.start()
                return [] as [(Int, Int)]
            }
            let client = try RawClient(port: port)
            return try stride(from: thread - 1, to: bodies.count, by: 4).map { index in
                (index, try client.exchange("POST", "/attest/verify", body: bodies[index]).status)
            }
        }.joined()
        #expect(statuses.allSatisfy { [200, 503].contains($0.1) })
        try gateway.waitForReadiness(200)
        for (index, status) in statuses where status == 200 {
            let call = try devices[index].call("strict", at: gateway)
            #expect(try call.exchange(with: gateway).status == 200)
        }
        // The same attestation again is answered as if for the first time.
        for (index, status) in statuses where status == 503 {
            // Readiness is asked for once a second, and may not have noticed how short it was away.
            let limit = ChildProcess.deadline
            var again = 503
            while again == 503, Date() < limit {
                let body = bodies[index]
                again = try gateway.exchange("POST", "/attest/verify", body: body).status
                if again == 503 { _ = poll(nil, 0, 20) }
            }
            #expect(again == 200)
        }
    }

    @Test("starts without PostgreSQL, serves what needs none, and enrols when it is there")
    func startsFirst() throws {
        let server = try PostgresServer()
        let site = try Self.site(server)
        try server.kill()
        let gateway = try site.start()
        #expect(try gateway.exchange("GET", "/open/x").status == 200)
        try gateway.waitForReadiness(503)
        try server.start()
        try gateway.waitForReadiness(200)
        _ = try site.enrolledDevice(at: gateway)
    }

    @Test("what no later attempt would mend ends a start with one clear line")
    func refusedStarts() throws {
        let server = try PostgresServer.shared.get()
        let site = try Self.site(server)
        let gateway = try site.start()
        try gateway.terminate()
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let database = try #require(text.split(separator: "/").first { $0.hasPrefix("test") })
            .prefix { $0 != "?" }
        try server.query("UPDATE sallyport.registry SET version = 99", database: String(database))
        let later = try BuiltProgram.run(["run", "-c", gateway.configurationPath])
        #expect(later.status == .exited(1))
        #expect(later.standardError.contains("sallyport: registry: written by a later version"))
        let path = try site.directory.write(
            text.replacingOccurrences(of: "postgres@", with: "nobody:hunter2@"), to: "nobody.yaml")
        let nobody = try BuiltProgram.run(["run", "-c", path])
        #expect(nobody.status == .exited(1))
        #expect(nobody.standardError.contains("role \"nobody\" does not exist"))
        #expect(!nobody.standardError.contains("hunter2"))
    }

    @Test("export and import move keys between SQLite and PostgreSQL, both ways, and they work on")
    func move() throws {
        let sqlite = try FaultSite()
        let first = try sqlite.start()
        let devices = try (0..<4).map { _ in try sqlite.enrolledDevice(at: first) }
        let iPhone = try SimulatedDevice(appID: GatewayConfiguration.appID, system: .iOS27)
        #expect(try sqlite.enrol(iPhone, at: first).status == 200)
        for _ in 0..<3 { _ = try devices[0].call("durable").exchange(with: first) }
        _ = try keys(first.configurationPath, ["revoke", devices[1].keyID.base64])
        _ = try keys(first.configurationPath, ["erase", devices[2].keyID.base64])
        // Simulated devices have no receipt that is worth keeping: one gets any.
        let receipt =
            #","risk_metric":7,"receipt":"AQIDBA==","receipt_state":{"type":"RECEIPT","#
            + #""next_renewal":"2026-12-01T00:00:00Z","last_outcome":"not_found","failures":1}"#
        let next = #","installation""#
        let lines = try keys(first.configurationPath, ["export"]).standardOutput
            .split(separator: "\n").map { (line: Substring) -> String in
                let text = String(line)
                guard text.contains(devices[0].keyID.base64) else { return text }
                return text.replacing(next, with: receipt + next)
            }
        let exported = lines.map { $0 + "\n" }.joined()
        #expect(exported.split(separator: "\n").count == 5)

        let site = try Self.site(try PostgresServer.shared.get())
        site.configuration.extraRootPaths = sqlite.configuration.extraRootPaths
        let gateway = try site.start()
        _ = try keys(gateway.configurationPath, ["import"], input: exported)
        #expect(try keys(gateway.configurationPath, ["export"]).standardOutput == exported)
        #expect(try devices[0].call("durable").exchange(with: gateway).status == 200)
        #expect(
            try devices[1].call("strict", at: gateway).exchange(with: gateway).verdict
                == "403 key_revoked")
        #expect(try iPhone.call("strict", at: gateway).exchange(with: gateway).status == 200)
        let tombstone = try sqlite.attestation(devices[2], gateway)
        #expect(
            try gateway.exchange("POST", "/attest/verify", body: tombstone).verdict
                == "403 attestation_invalid")

        let back = try FaultSite().start()
        let latest = try keys(gateway.configurationPath, ["export"]).standardOutput
        _ = try keys(back.configurationPath, ["import"], input: latest)
        #expect(try keys(back.configurationPath, ["export"]).standardOutput == latest)
    }

    @Test("the other actions of keys, the doctor and check work on PostgreSQL")
    func commands() throws {
        let server = try PostgresServer([])
        let site = try Self.site(server)
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let path = gateway.configurationPath
        let shown = try keys(path, ["show", device.keyID.base64]).standardOutput
        #expect(shown.contains(#""status":"active""#))
        let listed = try keys(path, ["list", "--status", "active"]).standardOutput
        #expect(listed.contains(device.keyID.base64))
        #expect(try keys(path, ["list", "--status", "revoked"]).standardOutput.isEmpty)
        let backup = try keys(
            path, ["backup", site.directory.path(of: "copy.db")], expecting: 1)
        #expect(backup.standardError.contains("pg_dump"))
        let doctor = try BuiltProgram.run(["doctor", "-c", path]).standardOutput
        for line in [
            "ok    registry connection: 127.0.0.1:", "warn  registry TLS: none",
            "ok    registry durability: primary, synchronous_commit on, standbys: 0",
            "ok    registry schema: sallyport, version ",
            "ok    registry privileges: ", "ok    registry notifications: arrive",
            "ok    registry keys: 1",
        ] { #expect(doctor.contains(line), "\(line)\n\(doctor)") }
        let printed = try BuiltProgram.run(["check", "-c", path, "--print"]).standardOutput
        #expect(printed.contains("stale_max: 10m"))
        try server.kill()
        let down = try BuiltProgram.run(["doctor", "-c", path])
        #expect(down.status == .exited(1))
        #expect(down.standardOutput.contains("FAIL  registry connection: registry: "))
        #expect(
            try keys(path, ["show", device.keyID.base64], expecting: 1).standardError
                .contains("registry: "))
    }

    @Test("a copy of an SQLite registry that is in use starts another gateway")
    func backup() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let other = try FaultSite()
        other.configuration.extraRootPaths = site.configuration.extraRootPaths
        let copy = other.directory.path(of: "registry.db")
        let outcome = try keys(gateway.configurationPath, ["backup", copy])
        #expect(outcome.standardOutput == "\(copy): 1 key\n")
        _ = try keys(gateway.configurationPath, ["backup", copy], expecting: 1)
        let second = try other.start()
        #expect(try device.call("strict", at: second).exchange(with: second).status == 200)
        #expect(try device.call("strict", at: gateway).exchange(with: gateway).status == 200)
    }
}
