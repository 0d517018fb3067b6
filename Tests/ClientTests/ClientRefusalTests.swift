import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

@Suite("What a client does about refusals", .enabled(if: BuiltProgram.isBuilt), .fewAtOnce)
struct ClientRefusalTests {}

extension ClientRefusalTests {
    private func code(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch ClientError.refused(let refusal) {
            return refusal.code
        } catch {
            return "\(error)"
        }
    }

    @Test("it signs again with the challenge that the refusal brings")
    func signAgain() async throws {
        let site = try ClientSite()
        let client = site.client()
        try await client.enrol()
        // Embedded counters begin another incarnation, which takes none of the old challenges.
        try site.gateway.restart(byKill: true)
        #expect(try await client.send(try site.request()).1.statusCode == 200)
        #expect(site.network.count("/api/x") == 2)
        #expect(site.service.keyCount == 1)
    }

    @Test("it reads a refusal of HEAD from its headers, for it has no body")
    func head() async throws {
        let site = try ClientSite()
        let client = site.client()
        try await client.enrol()
        try site.gateway.restart(byKill: true)
        let request = try site.request(method: "HEAD")
        #expect(try await client.send(request).1.statusCode == 200)
        #expect(site.network.count("/api/x") == 2)
        for (value, code) in [
            (#"Basic realm="x", appattest error="key_unknown""#, nil),
            (#"AppAttest error="something_new""#, "something_new"),
        ] {
            site.network.trouble("/api/x", [.answer(401, ["WWW-Authenticate": value], "")])
            #expect(await self.code { _ = try await client.send(request) } == code)
        }
        #expect(site.service.keyCount == 2)
        // The API's own is an answer like any other.
        site.network.trouble("/api/x", [.answer(401, ["WWW-Authenticate": "Bearer"], "")])
        #expect(try await client.send(request).1.statusCode == 401)
    }

    @Test("it gives up after three attempts")
    func attempts() async throws {
        let site = try ClientSite()
        let client = site.client()
        let again = SimulatedNetwork.Trouble.refusal(401, "challenge_expired", "sign_again")
        site.network.trouble("/api/x", Array(repeating: again, count: 9))
        let request = try site.request()
        #expect(await code { _ = try await client.send(request) } == "challenge_expired")
        #expect(site.network.count("/api/x") == 3)
    }

    @Test("it waits as long as it is told, and no longer than it may")
    func retryLater() async throws {
        let site = try ClientSite()
        let client = site.client()
        try await client.enrol()
        let request = try site.request()
        site.network.trouble(
            "/api/x",
            [
                .refusal(503, "store_unavailable", "retry_later", retryAfter: 4),
                .refusal(503, "gateway_busy", "retry_later"),
            ])
        #expect(try await client.send(request).1.statusCode == 200)
        #expect(site.clock.sleeps == [4, 2])
        site.network.trouble(
            "/api/x", [.refusal(429, "rate_limited", "retry_later", retryAfter: 60)])
        #expect(await code { _ = try await client.send(request) } == "rate_limited")
        #expect(site.clock.sleeps.count == 2)
    }

    @Test("it repeats what the API may have done only where that is harmless")
    func upstreamFailed() async throws {
        let site = try ClientSite()
        let client = site.client()
        let trouble = SimulatedNetwork.Trouble.refusal(502, "upstream_failed", "retry_later")
        let post = try site.request(method: "POST", body: "x")
        site.network.trouble("/api/x", [trouble])
        #expect(await code { _ = try await client.send(post) } == "upstream_failed")
        #expect(site.upstream.requests.isEmpty)
        site.network.trouble("/api/x", [trouble])
        #expect(try await client.send(try site.request()).1.statusCode == 200)
    }

    @Test("it never sends again what got no answer")
    func lost() async throws {
        let site = try ClientSite()
        let client = site.client()
        site.network.trouble("/api/x", [.lost])
        let request = try site.request(method: "POST", body: "x")
        await #expect(throws: URLError.self) { try await client.send(request) }
        #expect(site.upstream.requests.count == 1)
        #expect(try await client.send(request).1.statusCode == 200)
    }

    @Test("it makes one new key where the gateway does not know the old one, and no second soon")
    func attestAgain() async throws {
        let site = try ClientSite()
        let client = site.client()
        let request = try site.request()
        #expect(try await client.send(request).1.statusCode == 200)
        let unknown = SimulatedNetwork.Trouble.refusal(401, "key_unknown", "attest_again")
        site.network.trouble("/api/x", [unknown])
        #expect(try await client.send(request).1.statusCode == 200)
        #expect(site.service.keyCount == 2)
        site.network.trouble("/api/x", [unknown])
        #expect(await code { _ = try await client.send(request) } == "key_unknown")
        #expect(site.service.keyCount == 2)
    }

    @Test("it shows what it cannot change", arguments: ["none", "update_app", "dance"])
    func hopeless(action: String) async throws {
        let site = try ClientSite()
        let client = site.client()
        site.network.trouble("/api/x", [.refusal(403, "some_code", action)])
        let request = try site.request()
        let outcome = await code { _ = try await client.send(request) }
        // What this version does not know is an answer like any other.
        #expect(outcome == (action == "dance" ? nil : "some_code"))
        #expect(site.network.count("/api/x") == 1)
    }

    @Test("a revoked key is refused, and nothing is tried")
    func revoked() async throws {
        let site = try ClientSite()
        let client = site.client()
        let request = try site.request()
        #expect(try await client.send(request).1.statusCode == 200)
        let keyID = try #require(try await client.keyID)
        let outcome = try BuiltProgram.run(
            ["keys", "revoke", "-c", site.gateway.configurationPath, keyID])
        #expect(outcome.status == .exited(0))
        // Gateways hear of it within a second.
        let limit = ChildProcess.deadline
        var refused: String?
        while refused == nil, Date() < limit {
            refused = await code { _ = try await client.send(request) }
        }
        #expect(refused == "key_revoked")
        #expect(site.service.keyCount == 1)
        #expect(site.network.count("/attest/verify") == 1)
    }
}
