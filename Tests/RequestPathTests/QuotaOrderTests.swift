import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Testing

/// What operators see and change of quotas: the admin API and the command, with the real program.
@Suite("Quotas for operators", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct QuotaOrderTests {}

extension QuotaOrderTests {
    private static func site(_ redis: RedisServer? = nil) throws -> AdminAPISite {
        let site = try redis.map { try FaultSite(redis: $0) } ?? FaultSite()
        site.configuration.more.append(
            """
            quotas:
              few: { by: installation, per: month, limit: 3 }
              wide: { by: address, per: week, limit: 9B, of: response_bytes }
              keyed: { by: key, per: week, limit: 100 }
            """)
        for (name, quota) in [("strict", "[few, keyed]"), ("open", "wide")] {
            let index = site.configuration.routes.firstIndex { $0.name == name }
            if let index { site.configuration.routes[index].more.append("quota: \(quota)") }
        }
        return try AdminAPISite(site)
    }

    private struct Sender {
        let device: SimulatedDevice
        let site: AdminAPISite

        init(_ site: AdminAPISite) throws {
            self.site = site
            device = try site.site.enrolledDevice(at: site.gateway)
        }

        var id: String { device.keyID.base64 }
        /// The parameter of a query.
        var key: String { "key=" + Base64.encodeURL(device.keyID.digest.array) }
        var installation: String { Hex.encode(Array(device.keyID.digest.array.prefix(16))) }

        func send() throws -> Int {
            try device.call("strict", at: site.gateway).exchange(with: site.gateway).status
        }
    }

    private static func used(_ site: AdminAPISite, _ target: String) throws -> [Int64?] {
        let count = try site.json("/quotas/" + target)
        return [count["used"]?.integerValue, count["remaining"]?.integerValue]
    }

    @Test(
        "a count is shown, raised and reset, in the process and in Redis", arguments: [false, true])
    func counts(inRedis: Bool) throws {
        let redis = try inRedis ? RedisServer() : nil
        let site = try Self.site(redis)
        let sender = try Sender(site)
        let names = try site.json("/quotas")["quotas"]?.arrayValue ?? []
        #expect(names.map { $0["quota"]?.stringValue } == ["few", "wide", "keyed"])
        #expect(names.map { $0["of"]?.stringValue } == ["requests", "response_bytes", "requests"])
        #expect(names[0]["limit"]?.integerValue == 3 && names[0]["per"] == .string("month"))
        #expect(try (0..<4).map { _ in try sender.send() } == [200, 200, 200, 429])
        for target in [
            "few?\(sender.key)", "few?installation=\(sender.installation)", "few?\(sender.key)",
        ] { #expect(try Self.used(site, target) == [3, 0], "\(target)") }
        #expect(try Self.used(site, "keyed?\(sender.key)") == [3, 97])
        #expect(try Self.used(site, "few?unknown=true") == [0, 3])
        let shown = try site.json("/quotas/few?\(sender.key)")
        let start = try #require(shown["period"]?["start"]?.stringValue)
        let end = try #require(shown["period"]?["end"]?.stringValue)
        #expect(start.hasSuffix("-01T00:00:00Z") && end.hasSuffix("-01T00:00:00Z") && start < end)
        // Reading has left nothing, and changed nothing.
        #expect(try site.audit().isEmpty)
        let granted = try site.call(
            "POST", "/quotas/few/grant?\(sender.key)", body: #"{"amount": 2}"#)
        #expect(granted.status == 200)
        let grant = try JSONValue.parse(granted.bodyText)
        #expect(grant["outcome"]?.stringValue == "done")
        #expect(grant["used_before"]?.integerValue == 3 && grant["used"]?.integerValue == 1)
        #expect(try (0..<3).map { _ in try sender.send() } == [200, 200, 429])
        let reset = "/quotas/few/reset?installation=\(sender.installation)"
        let first = try JSONValue.parse(try site.call("POST", reset).bodyText)
        #expect(first["used"]?.integerValue == 0 && first["remaining"]?.integerValue == 3)
        let second = try JSONValue.parse(try site.call("POST", reset).bodyText)
        #expect(second["outcome"]?.stringValue == "unchanged")
        #expect(try sender.send() == 200)
        // Another sender has a count of its own.
        #expect(try Self.used(site, "few?\(try Sender(site).key)") == [0, 3])
        let entries = try site.audit()
        let written = entries.map { entry in
            ["action", "outcome", "detail"].map { entry[$0]?.stringValue ?? "" }
                .joined(separator: " ")
        }
        let name = "installation \(sender.installation)"
        #expect(
            written == [
                "quota.reset unchanged \(name): 0 given back",
                "quota.reset done \(name): 3 given back",
                "quota.grant done \(name): 2 given back",
            ])
        #expect(entries.allSatisfy { $0["subject"]?.stringValue == "few" })
        #expect(entries.last?["request_id"]?.stringValue == granted["X-Request-Id"])
        let event = try site.gateway.waitForEvent("admin_api_change")
        let text = try #require(event["message"]?.stringValue)
        let count = try #require(grant["count"]?.stringValue)
        #expect(text.hasPrefix("ops from 127.0.0.1: quota.grant: few, 2 to count \(count): done"))
        #expect(!text.contains(sender.installation))
        #expect(site.gateway.alarms.isEmpty)
    }

    @Test("addresses share the count of their network, whose bytes are charged")
    func addresses() throws {
        let site = try Self.site()
        let client = try site.gateway.connect()
        let answer = try client.exchange("GET", "/open/x")
        let byteCount = Int64(answer.body.count)
        try waitWhile(try Self.used(site, "wide?address=127.0.0.1")[0] == 0)
        #expect(try Self.used(site, "wide?address=127.0.0.1") == [byteCount, 9 - byteCount])
        #expect(try Self.used(site, "wide?address=::ffff:127.0.0.1")[0] == byteCount)
        #expect(try Self.used(site, "wide?address=127.0.0.2") == [0, 9])
        let reset = try site.call("POST", "/quotas/wide/reset?address=127.0.0.1")
        #expect(reset.status == 200)
        let detail = try #require(try site.audit().first?["detail"]?.stringValue)
        #expect(detail.hasPrefix("network of count ") && !detail.contains("127.0.0.1"))
    }

    @Test("users have counts by the name that a proxy gives, and apps by their ids")
    func usersAndApps() throws {
        let fault = try FaultSite()
        fault.configuration.listenerMore = ["trusted_proxies: [127.0.0.0/8]"]
        fault.configuration.more += [
            "signals: { user: { header: X-User-Id, from: proxy } }",
            """
            quotas:
              personal: { by: user, per: week, limit: 5 }
              build: { by: app, per: month, limit: 5 }
            """,
        ]
        for (name, quota) in [("strict", "build"), ("open", "personal")] {
            let index = fault.configuration.routes.firstIndex { $0.name == name }
            if let index { fault.configuration.routes[index].more.append("quota: \(quota)") }
        }
        let site = try AdminAPISite(fault)
        let client = try site.gateway.connect()
        for user in ["alice b", "alice b", nil] {
            let fields = user.map { [("X-User-Id", $0)] } ?? []
            #expect(try client.exchange("GET", "/open/x", fields: fields).status == 200)
        }
        #expect(try Self.used(site, "personal?user=alice%20b") == [2, 3])
        #expect(try Self.used(site, "personal?user=bob") == [0, 5])
        #expect(try Self.used(site, "personal?unknown=true") == [1, 4])
        #expect(try Sender(site).send() == 200)
        #expect(try Self.used(site, "build?app=\(GatewayConfiguration.appID)") == [1, 4])
        let granted = try site.call(
            "POST", "/quotas/personal/grant?user=alice%20b", body: #"{"amount":2}"#)
        #expect(granted.status == 200)
        #expect(try Self.used(site, "personal?user=alice%20b") == [0, 5])
        let detail = try #require(try site.audit().first?["detail"]?.stringValue)
        #expect(detail.hasPrefix("user of count ") && !detail.contains("alice"))
    }

    @Test("what names no count gets a reason, and changes nothing")
    func faults() throws {
        let site = try Self.site()
        let sender = try Sender(site)
        #expect(try sender.send() == 200)
        let stranger = "key=" + String(repeating: "A", count: 43)
        for (method, target, body, status, code) in [
            ("GET", "few", "", 400, "bad_request"), ("GET", "few?user=a", "", 400, "bad_request"),
            ("GET", "few?address=127.0.0.1", "", 400, "bad_request"),
            ("GET", "wide?\(sender.key)", "", 400, "bad_request"),
            ("GET", "few?\(sender.key)&unknown=true", "", 400, "bad_request"),
            ("GET", "few?\(stranger)", "", 404, "key_unknown"),
            ("GET", "none?unknown=true", "", 404, "quota_unknown"),
            ("POST", "none/reset?unknown=true", "", 404, "quota_unknown"),
            ("POST", "few/reset", "", 400, "bad_request"),
            ("POST", "few/reset?\(sender.key)", "{}", 400, "bad_request"),
            ("POST", "few/reset?\(stranger)", "", 404, "key_unknown"),
            ("GET", "keyed?\(stranger)", "", 404, "key_unknown"),
            ("POST", "keyed/reset?\(stranger)", "", 404, "key_unknown"),
            ("POST", "keyed/grant?\(stranger)", "{\"amount\":1}", 404, "key_unknown"),
            ("POST", "few/grant?\(sender.key)", "", 400, "bad_request"),
            ("POST", "few/grant?\(sender.key)", "{\"amount\":0}", 400, "bad_request"),
            ("POST", "few/grant?user=a", "{\"amount\":1}", 400, "bad_request"),
        ] {
            let answer = try site.call(method, "/quotas/" + target, body: body)
            #expect(answer.status == status && answer.problemCode == code, "\(method) \(target)")
        }
        for (method, target, allowed) in [
            ("GET", "/few/reset?unknown=true", "POST"), ("PUT", "/few/grant", "POST"),
            ("POST", "", "GET, HEAD"), ("DELETE", "/few", "GET, HEAD"),
        ] {
            let answer = try site.call(method, "/quotas" + target)
            #expect(answer.status == 405 && answer["Allow"] == allowed, "\(method) \(target)")
        }
        #expect(try site.call("GET", "/quotas/few?unknown=true", authorization: nil).status == 401)
        #expect(try site.call("GET", "/quotas?all").status == 400)
        #expect(try site.audit().isEmpty)
        #expect(try Self.used(site, "few?\(sender.key)") == [1, 2])
    }

    @Test("without Redis nothing is changed, and the audit log has no entry")
    func withoutRedis() throws {
        let redis = try RedisServer()
        let site = try Self.site(redis)
        let sender = try Sender(site)
        #expect(try sender.send() == 200)
        try redis.kill()
        let grant = "/quotas/few/grant?\(sender.key)"
        for (method, target, body) in [
            ("GET", "/quotas/few?\(sender.key)", ""), ("POST", grant, "{\"amount\":5}"),
            ("POST", "/quotas/few/reset?\(sender.key)", ""),
        ] {
            let answer = try site.call(method, target, body: body)
            #expect(answer.status == 503 && answer.problemCode == "counters_unavailable")
        }
        try site.gateway.waitForEvent("admin_api_failed")
        #expect(try site.audit().isEmpty)
        try redis.start()
        try waitWhile(try site.call("GET", "/quotas/few?\(sender.key)").status == 503)
        // Redis kept nothing, but the gateway knows what it has counted.
        #expect(try Self.used(site, "few?\(sender.key)") == [1, 2])
    }

    @Test("a change that Redis does not confirm leaves a second entry that says so")
    func unconfirmed() throws {
        let redis = try RedisServer()
        let site = try Self.site(redis)
        let sender = try Sender(site)
        #expect(try sender.send() == 200)
        // A count that stays as it is is not written.
        _ = try redis.command("ACL", "SETUSER", "default", "-set")
        let outcome = try site.command(["quota", "grant", "few", "--key", sender.id, "5"])
        #expect(outcome.status == .exited(3))
        #expect(outcome.standardError.contains("503 counters_unconfirmed: "))
        let outcomes = try site.audit().map { $0["outcome"]?.stringValue }
        #expect(outcomes == ["unconfirmed", "done"])
        _ = try redis.command("ACL", "SETUSER", "default", "+set")
        // The gateway brings it along with the next charge.
        try waitWhile(try site.call("GET", "/quotas/few?\(sender.key)").status == 503)
        #expect(try Self.used(site, "few?\(sender.key)") == [-4, 7])
    }

    // MARK: the command

    @Test("sallyport quota says when a change may have been made without an answer")
    func unanswered() throws {
        let site = try Self.site()
        let listener = try LoopbackListener { socket in
            _ = try? socket.receive()
            socket.close()
        }
        let text = try String(contentsOfFile: site.gateway.configurationPath, encoding: .utf8)
        func status(_ port: UInt16, _ words: String...) throws -> ChildProcess.ExitStatus {
            let file = try site.site.directory.write(
                text.replacing("127.0.0.1:\(site.port)", with: "127.0.0.1:\(port)"), to: "other")
            let action = ["quota", words[0], "-c", file] + words.dropFirst() + ["--unknown"]
            return try ChildProcess.run(BuiltProgram.sallyport, action).status
        }
        #expect(try status(listener.port, "reset", "few") == .exited(3))
        #expect(try status(listener.port, "grant", "few", "5") == .exited(3))
        // Reading changes nothing, and what was not sent neither.
        #expect(try status(listener.port, "show", "few") == .exited(1))
        listener.stop()
        #expect(try status(FreePort.find(), "reset", "few") == .exited(1))
    }

    @Test("sallyport quota lists, shows, raises and resets")
    func command() throws {
        let site = try Self.site()
        let sender = try Sender(site)
        #expect(try sender.send() == 200)
        func quota(_ words: String...) throws -> ChildProcess.Outcome {
            try site.command(["quota"] + words)
        }
        func said(_ words: String...) throws -> String {
            let outcome = try site.command(["quota"] + words)
            #expect(outcome.status == .exited(0), "\(words) \(outcome.standardError)")
            #expect(outcome.standardError.isEmpty)
            return outcome.standardOutput
        }
        let list = """
            few: 3 requests per month, by installation
            wide: 9 bytes of answers per week, by address
            keyed: 100 requests per week, by key

            """
        #expect(try said("list") == list && said("show") == list)
        #expect(try said("list", "--json").split(separator: "\n").count == 3)
        #expect(
            try said("show", "few", "--key", sender.id).hasPrefix(
                "few: 1 used of 3, 2 left until 2"))
        #expect(
            try said("grant", "few", "--installation", sender.installation, "10")
                .hasSuffix("Z (1 before)\n"))
        let object = try JSONValue.parse(try said("show", "few", "--key", sender.id, "--json"))
        #expect(object["used"]?.integerValue == -9 && object["remaining"]?.integerValue == 12)
        #expect(
            try said("reset", "keyed", "--key=\(sender.id)").hasPrefix("keyed: 0 used of 100, "))
        #expect(try said("reset", "wide", "--address", "::1").hasSuffix(" as before\n"))
        #expect(try said("show", "few", "--unknown").hasPrefix("few: 0 used of 3, "))
        let who = try site.audit().map { $0["who"]?.stringValue }
        #expect(who == ["ops", "ops", "ops"])
        // A file of its own, and a wrong one.
        let own = try site.site.directory.write(AdminAPISite.token + "\n", to: "own")
        #expect(try said("show", "few", "--unknown", "--token-file", own).hasPrefix("few: "))
        let wrong = try site.site.directory.write("ops:x\n", to: "wrong")
        let refused = try quota("show", "few", "--unknown", "--token-file", wrong)
        #expect(refused.status == .exited(1) && refused.standardError.contains("401 unauthorized"))
        for (words, code, text) in [
            (["show", "none", "--unknown"], 1, "404 quota_unknown: no quota has this name"),
            (["show", "few", "--user", "a"], 1, "few counts by installation"),
            (["show", "few", "--token-file", "/none", "--unknown"], 1, "/none"),
            (["show", "few"], 2, "name one sender"),
            (["show", "few", "--unknown", "--app", "A.b"], 2, "name one sender"),
            (["grant", "few", "--unknown"], 2, "usage: "),
            (["grant", "few", "--unknown", "0"], 2, "0 is not an amount"),
            (["grant", "few", "--unknown", "+5"], 2, "+5 is not an amount"),
            (["reset"], 2, "usage: "), (["list", "few"], 2, "usage: "),
            (["take"], 2, "unknown action take"),
        ] as [([String], Int32, String)] {
            let outcome = try site.command(["quota"] + words)
            #expect(outcome.status == .exited(code), "\(words)")
            #expect(outcome.standardError.contains(text), "\(words) \(outcome.standardError)")
        }
        try site.gateway.terminate()
        let stopped = try quota("list")
        #expect(stopped.status == .exited(1) && stopped.standardError.contains("127.0.0.1:"))
    }

    @Test("sallyport quota says what its configuration lacks")
    func unconfigured() throws {
        let directory = try ScratchDirectory()
        let configuration = GatewayConfiguration.enforcing(upstreamPort: 9)
        let path = try directory.write(
            configuration.text(port: 1, adminPort: 2, directory: directory.path), to: "a.yaml")
        let outcome = try BuiltProgram.run(["quota", "list", "-c", path])
        #expect(outcome.status == .exited(78))
        #expect(outcome.standardError.contains("admin.api is missing"))
        let help = try BuiltProgram.run(["quota", "--help"]).standardOutput
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test("sallyport quota verifies an API that has TLS")
    func secured() throws {
        let directory = try ScratchDirectory()
        let authority = try TestCertificate.authority(in: directory)
        let leaf = try TestCertificate(
            in: directory, "api", names: ["a.example"], issuer: authority)
        let tls = "certificate: \(leaf.certificatePath), key: \(leaf.keyPath)"
        let site = try AdminAPISite(more: ", tls: { \(tls) }")
        let trusted = try site.command(["quota", "list", "--ca", authority.certificatePath])
        #expect(trusted.status == .exited(0), "\(trusted.standardError)")
        #expect(trusted.standardOutput == "the gateway has no quotas\n")
        for words in [["quota", "list"], ["quota", "list", "--ca", "/none"]] {
            let refused = try site.command(words)
            #expect(refused.status == .exited(1) && refused.standardOutput.isEmpty)
        }
        let untrusted = try site.command(["quota", "list"])
        #expect(untrusted.standardError.contains("certificate verify failed"))
        // It has no certificate to show.
        let clients = "client_certificates: { mode: require, ca: \(authority.certificatePath) }"
        let both = "tls: { \(tls), \(clients) }"
        let text = try String(contentsOfFile: site.gateway.configurationPath, encoding: .utf8)
            .replacing("tls: { \(tls) }", with: both)
        let path = try directory.write(text, to: "b.yaml")
        let other = try BuiltProgram.run(["quota", "list", "-c", path])
        #expect(other.status == .exited(78))
        #expect(other.standardError.contains("asks clients for certificates"), "\(other)")
    }

    @Test("route has the quotas of a route, and explain the command that shows a count")
    func explanations() throws {
        let site = try Self.site()
        let sender = try Sender(site)
        for _ in 0..<3 { #expect(try sender.send() == 200) }
        let refused = try sender.device.call("strict", at: site.gateway)
            .exchange(with: site.gateway)
        #expect(refused.status == 429)
        let route = ["route", "-c", site.gateway.configurationPath, "GET", "/strict/x"]
        let text = try BuiltProgram.run(route).standardOutput
        #expect(text.contains("  quota few: 3 requests per month, by installation\n"), "\(text)")
        let json = try JSONValue.parse(try BuiltProgram.run(route + ["--json"]).standardOutput)
        #expect(
            json["quotas"]?.arrayValue?.map { $0["quota"]?.stringValue } == ["few", "keyed"])
        let id = try #require(refused["X-Request-Id"])
        let explain = ["explain", "request", "-c", site.gateway.configurationPath, id]
        let account = try BuiltProgram.run(explain).standardOutput
        #expect(account.contains("try       sallyport quota show few SENDER\n"), "\(account)")
        let object = try JSONValue.parse(try BuiltProgram.run(explain + ["--json"]).standardOutput)
        #expect(object["command"]?.stringValue == "sallyport quota show few SENDER")
    }
}
