import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import JSON
import Testing

/// Keys without a shell: the admin API of the real program.
@Suite("The admin API", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct AdminAPITests {
    private let site: AdminAPISite

    init() throws { site = try AdminAPISite() }
}

extension AdminAPITests {
    private func enrolled() throws -> SimulatedDevice {
        try site.site.enrolledDevice(at: site.gateway)
    }

    private static let unknown = String(repeating: "A", count: 43) + "="

    @Test("lists, shows and exports keys, page by page")
    func reading() throws {
        let ids = try (0..<3).map { _ in try enrolled().keyID.base64 }
        var found: [String] = []
        var target = "/keys?limit=2"
        while true {
            let page = try site.json(target)
            found += page["keys"]?.arrayValue?.compactMap { $0["key_id"]?.stringValue } ?? []
            guard let next = page["next"]?.stringValue else { break }
            target = "/keys?limit=2&after=\(next)"
        }
        #expect(Set(found) == Set(ids) && found.count == 3)
        let url = ids[0].replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
        let shown = try site.json("/keys/\(url)")
        #expect(shown["key_id"]?.stringValue == ids[0])
        #expect(shown["status"]?.stringValue == "active")
        #expect(shown["public_key"]?.stringValue != nil)
        #expect(try site.call("HEAD", "/keys/\(url)").status == 200)
        let first = try site.call("GET", "/keys/export?limit=2&status=active")
        #expect(first["Content-Type"] == "application/jsonl")
        let link = try #require(first["Link"])
        #expect(link.hasSuffix(">; rel=\"next\"") && link.contains("status=active"))
        let second = try site.call("GET", String(link.dropFirst().prefix { $0 != ">" }))
        #expect(second["Link"] == nil)
        // What is exported so can be imported.
        let lines = first.bodyText + second.bodyText
        let imported = try site.command(["keys", "import", "--json"], input: lines)
        #expect(imported.status == .exited(0), "\(imported.standardError)")
        #expect(try JSONValue.parse(imported.standardOutput)["unchanged"]?.integerValue == 3)
        #expect(try site.json("/keys?status=revoked")["keys"]?.arrayValue?.isEmpty == true)
        #expect(try site.json("/keys?app=OTHER")["keys"]?.arrayValue?.isEmpty == true)
        #expect(try site.json("/rollouts")["rollouts"]?.arrayValue?.isEmpty == true)
        // Reading has left nothing.
        #expect(try site.audit().isEmpty)
        let name = try site.command(["keys", "pseudonym", "--json", ids[1]])
        let pseudonym = try #require(
            try JSONValue.parse(name.standardOutput)["pseudonym"]?.stringValue)
        let keys = try site.json("/keys?pseudonym=\(pseudonym)")["keys"]?.arrayValue ?? []
        #expect(keys.map { $0["key_id"]?.stringValue } == [ids[1]])
        #expect(try site.actions() == ["keys.pseudonym", "keys.pseudonym"])
    }

    @Test("a key has the highest counter that was accepted")
    func counters() throws {
        let device = try enrolled()
        for _ in 0..<3 {
            let answer = try device.call("strict", at: site.gateway).exchange(with: site.gateway)
            #expect(answer.status == 200)
        }
        let id = device.keyID.base64
        let url = id.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        let listed = try site.json("/keys")["keys"]?.arrayValue?.first
        let exported = try JSONValue.parse(try site.call("GET", "/keys/export").bodyText)
        for key in [try site.json("/keys/\(url)"), listed, exported] {
            #expect(key?["counter"]?.integerValue == Int64(device.counter))
        }
    }

    @Test("a revocation holds at once and again, and says who did it")
    func revoke() throws {
        let device = try enrolled()
        let id = device.keyID.base64
        #expect(
            try device.call("strict", at: site.gateway).exchange(with: site.gateway).status == 200)
        let answer = try site.revoke([id, Self.unknown])
        #expect(answer.status == 200)
        #expect(
            answer.bodyText == """
                {"keys":[{"key_id":"\(id)","outcome":"revoked"},\
                {"key_id":"\(Self.unknown)","outcome":"unknown_key"}],"confirmed":true}

                """)
        let verdict = try site.gateway.poll { client in
            let answer = try device.call("durable").exchange(on: client)
            return answer.status == 200 ? nil : answer.verdict
        }
        #expect(verdict == "403 key_revoked")
        let again = try JSONValue.parse(try site.revoke([id]).bodyText)
        #expect(again["keys"]?.arrayValue?.first?["outcome"]?.stringValue == "unchanged")
        let erased = try JSONValue.parse(try site.revoke([id], action: "erase").bodyText)
        #expect(erased["keys"]?.arrayValue?.first?["outcome"]?.stringValue == "erased")
        let nobody = try site.revoke([Self.unknown])
        #expect(nobody.status == 404 && nobody.problemCode == "key_unknown")
        let entries = try site.audit()
        #expect(
            entries.map { "\($0["action"]?.stringValue ?? "") \($0["outcome"]?.stringValue ?? "")" }
                == [
                    "keys.revoke unknown_key", "keys.erase done", "keys.revoke unchanged",
                    "keys.revoke unknown_key", "keys.revoke done",
                ])
        let first = try #require(entries.last)
        #expect(first["who"]?.stringValue == "ops" && first["way"]?.stringValue == "api")
        #expect(first["from"]?.stringValue == "127.0.0.1")
        #expect(first["subject"]?.stringValue == id)
        #expect(first["request_id"]?.stringValue == answer["X-Request-Id"])
        let event = try site.gateway.waitForEvent("admin_api_change")
        let text = try #require(event["message"]?.stringValue)
        #expect(text.hasPrefix("ops from 127.0.0.1: keys.revoke: key "))
        #expect(!text.contains(id))
        let command = try site.command(["audit", "--json", "--limit", "1", "--before", "2"])
        #expect(try JSONValue.parse(command.standardOutput) == first)
        let words = try site.command(["audit"]).standardOutput
        #expect(words.split(separator: "\n").count == 5)
        #expect(words.contains(" ops (api, 127.0.0.1): keys.revoke \(id): done; request "))
        // Pages by cursor.
        let page = try site.json("/audit?limit=2")
        #expect(page["next"]?.integerValue == 4)
        #expect(try site.audit("?before=4").count == 3 && site.audit("?after=4").count == 1)
    }

    @Test("without a good token there is a 401 and nothing else")
    func tokens() throws {
        let id = try enrolled().keyID.base64
        let token = AdminAPISite.token
        let wrong: [String?] = [
            nil, "", "Bearer", "Bearer ", "Bearer \(token)x", "Bearer \(token.dropLast())",
            "Bearer ops:\(token)", "Basic \(token)", token, "Bearer  \(token)",
            "Bearer \(token.uppercased())",
        ]
        for (index, value) in wrong.enumerated() {
            let answer = try site.call(
                "POST", "/keys/revoke", body: "{\"key_ids\":[\"\(id)\"]}", authorization: value)
            // After ten at once an address is told to wait; a second may have passed meanwhile.
            guard index >= 10, answer.status == 429 else {
                #expect(answer.status == 401, "\(value ?? "none")")
                #expect(answer["WWW-Authenticate"] == "Bearer")
                #expect(answer.problemCode == "unauthorized")
                continue
            }
        }
        let floods = try (0..<40).map { _ in
            try site.call("GET", "/nothing", authorization: "Bearer x")
        }
        let limited = try #require(floods.first { $0.status == 429 })
        #expect(limited.problemCode == "rate_limited" && limited["Retry-After"] != nil)
        // Nobody can lock operators out.
        #expect(try site.call("GET", "/keys").status == 200)
        #expect(try site.call("GET", "/keys", authorization: "bEARER \(token)").status == 200)
        let client = try RawClient(port: site.port)
        let twice = [("Authorization", "Bearer \(token)"), ("authorization", "Bearer \(token)")]
        #expect([401, 429].contains(try client.exchange("GET", "/keys", fields: twice).status))
        // Not even the body of whoever has no token is waited for.
        try client.send(
            "POST /keys/revoke HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
        #expect([401, 429].contains(try client.receive().status))
        #expect(try site.audit().isEmpty)
        #expect(try site.json("/keys?status=active")["keys"]?.arrayValue?.count == 1)
        try site.gateway.waitForEvent("admin_api_denied")
        // The API is nowhere else.
        let others = [site.gateway.port, site.gateway.adminPort]
        for port in others {
            #expect(try site.call("GET", "/keys", on: port).status == 404)
            #expect(try site.call("POST", "/keys/revoke", body: "{}", on: port).status == 404)
        }
        for path in ["/", "/metrics", "/livez", "/readyz"] {
            #expect(try site.call("GET", path).status == 404, "\(path)")
        }
    }

    @Test("garbage gets a reason, and changes nothing")
    func garbage() throws {
        let id = try enrolled().keyID.base64
        let bodies = [
            "", "garbage", "[]", "{}", "{\"key_ids\":[]}", "{\"key_ids\":\"\(id)\"}",
            "{\"key_ids\":[\"\(id)\",\"x\"]}", "{\"key_ids\":[1]}", "{\"key_ids\":[[\"\(id)\"]]}",
            "{\"key_ids\":[\"\(id)\"],\"except\":[\"\(id)\"]}", "{\"key_ids\":[\"\(id)\"]",
            "{\"key_ids\":[\"\(id)\"]}{}", "{\"key_ids\":[\"\(id)\"],\"key_ids\":[]}",
            "{\"key_ids\":[" + String(repeating: "\"\(id)\",", count: 1000) + "\"\(id)\"]}",
            String(repeating: "[", count: 60_000),
        ]
        for action in ["revoke", "erase"] {
            for body in bodies {
                let answer = try site.call("POST", "/keys/\(action)", body: body)
                #expect(answer.status == 400, "\(body.prefix(80))")
                #expect(answer.problemCode == "bad_request", "\(answer.bodyText)")
            }
            let huge = String(repeating: " ", count: 65 * 1024)
            #expect(try site.call("POST", "/keys/\(action)", body: huge).status == 413)
            let query = try site.call(
                "POST", "/keys/\(action)?dry=1", body: "{\"key_ids\":[\"\(id)\"]}")
            #expect(query.status == 400)
            for method in ["GET", "DELETE", "PUT"] {
                let answer = try site.call(method, "/keys/\(action)")
                #expect(answer.status == 405 && answer["Allow"] == "POST", "\(method)")
                #expect(answer.bodyText.contains("\"detail\":"))
            }
        }
        for target in [
            "/keys?stats=x", "/keys?limit=0", "/keys?limit=1001", "/keys?limit=x", "/keys?app=%zz",
            "/keys?app=%ff", "/keys?after=x", "/keys?environment=x", "/keys?status=x",
            "/keys?pseudonym=x", "/keys?limit=1&limit=2", "/audit?since=yesterday",
            "/audit?before=-1", "/rollouts?x", "/keys/export?pseudonym=0123456789abcdef",
        ] {
            let answer = try site.call("GET", target)
            #expect(answer.status == 400 && answer.problemCode == "bad_request", "\(target)")
        }
        for target in ["/keys", "/audit", "/rollouts", "/keys/export"] {
            let answer = try site.call("POST", target, body: "{}")
            #expect(answer.status == 405 && answer["Allow"] == "GET, HEAD", "\(target)")
        }
        for target in ["/keys/", "/keys/revoke/", "/key", "/audit/1"] {
            #expect(try site.call("GET", target).status == 404, "\(target)")
        }
        for id in ["x", "AAAA", "a/b", String(repeating: "A", count: 42)] {
            let answer = try site.call("GET", "/keys/" + id)
            #expect(answer.status == 400 && answer.problemCode == "bad_request", "\(id)")
            #expect(answer.bodyText.contains("the key id is not base64 of 32 bytes"))
            #expect(try site.call("POST", "/keys/" + id).status == 405)
        }
        #expect(try site.call("GET", "/keys/" + String(repeating: "A", count: 43)).status == 404)
        #expect(try site.audit().isEmpty)
        #expect(try site.json("/keys?status=active")["keys"]?.arrayValue?.count == 1)
        #expect(site.gateway.alarms.isEmpty)
    }

    @Test("a reload changes tokens and the address; a bad file of tokens changes nothing")
    func reload() throws {
        let file = try site.site.directory.write("", to: "tokens")
        func write(_ text: String) throws -> String? {
            _ = try site.site.directory.write(text, to: "tokens")
            return try site.gateway.reload(site.site.configuration)["event"]?.stringValue
        }
        let second = String(repeating: "b", count: 32)
        for text in [
            "", "# nothing", "short", "ops:" + String(repeating: "a", count: 31),
            "two words:" + second, "ops:\(second)\nother:\(second)", "ops:\(second)\u{e9}",
            (0..<65).map { "t\($0):\(second)\($0)" }.joined(separator: "\n"),
        ] {
            #expect(try write(text) == "reload_failed", "\(text)")
            let check = try site.command(["check"])
            #expect(check.status == .exited(78) && check.standardError.contains("tokens"))
            #expect(!check.standardError.contains(second))
            #expect(try site.call("GET", "/keys").status == 200)
        }
        #expect(try write("ops:\(AdminAPISite.token)\nops:\(second)\n") == "reloaded")
        #expect(try site.call("GET", "/keys", authorization: "Bearer \(second)").status == 200)
        // One without a name is known by what it hashes to.
        #expect(try write(second + "\r\n") == "reloaded")
        let unknown = Self.unknown
        let revoked = try site.call(
            "POST", "/keys/revoke", body: "{\"key_ids\":[\"\(unknown)\"]}",
            authorization: "Bearer \(second)")
        #expect(revoked.status == 404)
        #expect([401, 429].contains(try site.call("GET", "/keys").status))
        let audit = try site.command(["audit", "--json"]).standardOutput
        let who = try JSONValue.parse(audit)["who"]?.stringValue ?? ""
        #expect(who.hasPrefix("token-") && who.utf8.count == 14)
        // Open to all users: warned about.
        chmod(file, 0o644)
        let check = try site.command(["check"])
        #expect(check.standardError.contains("chmod o-rwx \(file)"))
        let moved = FreePort.find()
        site.site.configuration.api = "bind: \"127.0.0.1:\(moved)\", token_file: \(file)"
        #expect(try site.gateway.reload(site.site.configuration)["event"] == .string("reloaded"))
        let answer = try site.call("GET", "/keys", authorization: "Bearer \(second)", on: moved)
        #expect(answer.status == 200)
    }

    @Test("kill -9 after the answer loses neither the revocation nor its entry")
    func kill() throws {
        for _ in 0..<3 {
            let device = try enrolled()
            let answer = try site.revoke([device.keyID.base64])
            #expect(answer.status == 200)
            try site.gateway.restart(byKill: true)
            let call = try device.call("durable").exchange(with: site.gateway)
            #expect(call.verdict == "403 key_revoked")
            let newest = try #require(try site.audit("?limit=1").first)
            #expect(newest["request_id"]?.stringValue == answer["X-Request-Id"])
        }
        #expect(try site.audit().map { $0["number"]?.integerValue } == [3, 2, 1])
    }

    @Test(
        "a Redis that gateways share hears of it; without it the registry has the change",
        .enabled(if: RedisServer.isInstalled))
    func redis() throws {
        let redis = try RedisServer()
        let site = try AdminAPISite(FaultSite(redis: redis))
        let devices = try (0..<2).map { _ in try site.site.enrolledDevice(at: site.gateway) }
        #expect(try site.revoke([devices[0].keyID.base64]).status == 200)
        // At once: the mark is there before the answer.
        let call = try devices[0].call("window", at: site.gateway)
        #expect(try call.exchange(with: site.gateway).verdict == "403 key_revoked")
        try redis.kill()
        let id = devices[1].keyID.base64
        let answer = try site.revoke([id])
        #expect(answer.status == 503 && answer.problemCode == "counters_unavailable")
        #expect(try site.json("/keys?status=revoked")["keys"]?.arrayValue?.count == 2)
        try site.gateway.waitForEvent("admin_api_failed")
        try redis.start()
        #expect(try site.revoke([id]).status == 200)
        #expect(
            try site.audit().compactMap { $0["outcome"]?.stringValue } == [
                "unchanged", "done", "done",
            ])
    }

    @Test("the revocation of an older key names the newer one of its installation")
    func newerKey() throws {
        let devices = try (0..<2).map { _ in try site.site.device() }
        var ticket: String?
        for device in devices {
            let challenge = try site.gateway.challenge("/attest/challenge")
            var body = try site.site.attestation(device, challenge: challenge)
            if let ticket { body = body.dropLast() + Array(#","installation":"\#(ticket)"}"#.utf8) }
            let answer = try site.gateway.exchange("POST", "/attest/verify", body: body)
            ticket = try JSONValue.parse(answer.bodyText)["installation"]?.stringValue
        }
        let ids = devices.map(\.keyID.base64)
        let answer = try JSONValue.parse(try site.revoke([ids[0]]).bodyText)
        let older = answer["keys"]?.arrayValue?.first
        #expect(older?["outcome"]?.stringValue == "revoked")
        #expect(older?["newer_key"]?.stringValue == ids[1])
        let installation = Hex.encode(Array(devices[0].keyID.digest.array.prefix(16)))
        #expect(older?["installation"]?.stringValue == installation)
        // Together with the newer one, nothing is left to name.
        let both = try site.revoke(ids)
        #expect(both.status == 200 && !both.bodyText.contains("newer_key"))
    }

    @Test("a unix socket will do, and connections are bounded as those of clients")
    func socket() throws {
        let directory = try ScratchDirectory()
        let tokens = try directory.write("ops:\(AdminAPISite.token)\n", to: "tokens")
        let fault = try FaultSite()
        fault.configuration.api =
            "bind: \"unix:\(directory.path)/api\", token_file: \(tokens)"
        let gateway = try fault.start()
        let answer = try ChildProcess.run(
            "curl",
            [
                "-fsS", "--unix-socket", "\(directory.path)/api", "-H",
                "Authorization: Bearer \(AdminAPISite.token)", "http://api/keys",
            ])
        #expect(answer.standardOutput == "{\"keys\":[]}\n", "\(answer.standardError)")
        fault.configuration.api = "bind: \"127.0.0.1:\(site.port)\", token_file: \(tokens)"
        try site.gateway.terminate()
        fault.configuration.more.append("limits: { connections_per_address: 2 }")
        #expect(try gateway.reload(fault.configuration)["event"]?.stringValue == "reloaded")
        let held = try (0..<2).map { _ in try RawClient(port: site.port) }
        let token = [("Authorization", "Bearer \(AdminAPISite.token)")]
        for client in held {
            #expect(try client.exchange("GET", "/keys", fields: token).status == 200)
        }
        let third = try RawClient(port: site.port)
        #expect(try third.receive().status == 429)
    }

    @Test("speaks TLS, as listeners do")
    func tls() throws {
        let directory = try ScratchDirectory()
        let authority = try TestCertificate.authority(in: directory)
        let leaf = try TestCertificate(
            in: directory, "api", names: ["a.example"], issuer: authority)
        let tls = ", tls: { certificate: \(leaf.certificatePath), key: \(leaf.keyPath) }"
        let site = try AdminAPISite(more: tls)
        let client = try TLSClient(port: site.port, trusting: authority)
        try client.send(
            "GET /keys HTTP/1.1\r\nHost: a.example\r\n"
                + "Authorization: Bearer \(AdminAPISite.token)\r\n\r\n")
        let answer = try client.receive(until: "{\"keys\":[]}")
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        let second = try ChildProcess.run(
            "curl",
            [
                "-fsS", "--http2", "--cacert", authority.certificatePath, "--resolve",
                "a.example:\(site.port):127.0.0.1", "-w", "%{http_version}", "-H",
                "Authorization: Bearer \(AdminAPISite.token)",
                "https://a.example:\(site.port)/audit",
            ])
        #expect(second.standardOutput == "{\"entries\":[]}\n2", "\(second.standardError)")
        let metrics = try site.gateway.admin("/metrics").bodyText
        #expect(
            metrics.contains(
                "sallyport_tls_certificate_not_after_timestamp_seconds{listener=\""
                    + "127.0.0.1:\(site.port)\""))
        let doctor = try site.command(["doctor", "--json"]).standardOutput
        #expect(doctor.contains("\"check\":\"TLS at 127.0.0.1:\(site.port)\",\"verdict\":\"ok\""))
    }
}
