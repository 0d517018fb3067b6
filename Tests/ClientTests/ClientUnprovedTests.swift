import DeviceCheck
import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

/// A keychain before the first unlock.
private struct LockedStore: EnrolmentStore {
    func load() throws -> EnrolmentState? { throw ClientError.keychain(-25308) }
    func save(_ state: EnrolmentState) throws { throw ClientError.keychain(-25308) }
}

@Suite(
    "A client that cannot prove a request", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)), .fewAtOnce)
struct ClientUnprovedTests {}

extension ClientUnprovedTests {
    /// Why there is no proof.
    enum Reason: CaseIterable, Sendable {
        case notDue, appleIsDown, keyCannotSign, keychainIsLocked, noAppAttest,
            gatewayHasNoChallenge
    }

    private func site(_ reason: Reason, mode: String) throws -> ClientSite {
        let site = try ClientSite(
            attest: "mode: \(mode)", isSupported: reason != .noAppAttest,
            more: reason == .notDue ? ["endpoints: { attest_rollout: 0% }"] : [])
        switch reason {
        case .appleIsDown: site.service.fail(.attestation, .serverUnavailable)
        case .keyCannotSign: site.service.fail(.assertion, .unknownSystemFailure)
        case .gatewayHasNoChallenge:
            site.network.trouble(
                "/assert/challenge",
                Array(repeating: .refusal(503, "store_unavailable", "retry_later"), count: 9))
        case .notDue, .keychainIsLocked, .noAppAttest: break
        }
        return site
    }

    private func client(_ site: ClientSite, _ reason: Reason) -> AppAttestClient {
        reason == .keychainIsLocked ? site.client(store: LockedStore()) : site.client()
    }

    /// The answer to an enrolment brings a challenge, which this spends.
    private func spendChallenge(_ client: AppAttestClient, _ site: ClientSite) async throws {
        try await client.enrol()
        _ = try await client.sign(site.request())
    }

    @Test("sends it without, where the gateway only observes", arguments: Reason.allCases)
    func observe(reason: Reason) async throws {
        let site = try site(reason, mode: "observe")
        let client = client(site, reason)
        if reason == .gatewayHasNoChallenge { try await spendChallenge(client, site) }
        let request = try site.request(method: "POST", body: "{}")
        #expect(try await client.send(request).1.statusCode == 200)
        #expect(site.upstream.requests.map(\.body) == [Array("{}".utf8)])
        #expect(site.upstream.requests.last?["X-Attest-Result"] != "verified")
        #expect(site.network.count("/api/x") == 1)
    }

    @Test("tells why there is no proof, where the gateway insists", arguments: Reason.allCases)
    func enforce(reason: Reason) async throws {
        let site = try site(reason, mode: "enforce")
        let client = client(site, reason)
        if reason == .gatewayHasNoChallenge { try await spendChallenge(client, site) }
        do {
            _ = try await client.send(try site.request())
            Issue.record("it was served")
        } catch ClientError.refused(let refusal) {
            #expect(
                reason == .notDue && refusal.code == "rate_limited"
                    || reason == .gatewayHasNoChallenge && refusal.code == "store_unavailable")
        } catch ClientError.unsupported {
            #expect(reason == .noAppAttest)
        } catch ClientError.keychain {
            #expect(reason == .keychainIsLocked)
        } catch let error as DCError {
            #expect(
                error.code == (reason == .appleIsDown ? .serverUnavailable : .unknownSystemFailure))
        }
        #expect(site.network.count("/api/x") == 1)
        #expect(site.upstream.requests.isEmpty)
    }

    @Test("sends nothing if it is to fail", arguments: Reason.allCases)
    func fail(reason: Reason) async throws {
        let site = try site(reason, mode: "observe")
        site.configuration.whenUnproved = .fail
        let client = client(site, reason)
        if reason == .gatewayHasNoChallenge { try await spendChallenge(client, site) }
        await #expect(throws: (any Error).self) { try await client.send(try site.request()) }
        #expect(site.network.count("/api/x") == 0)
    }

    @Test("goes on without while its enrolment waits, and proves itself after that")
    func waiting() async throws {
        let site = try site(.appleIsDown, mode: "observe")
        let request = try site.request()
        for _ in 1...3 { #expect(try await site.client().send(request).1.statusCode == 200) }
        #expect(site.service.attestedHashes.count == 1)
        site.clock.advance(2)
        #expect(try await site.client().send(request).1.statusCode == 200)
        let results = site.upstream.requests.map { $0["X-Attest-Result"] == "verified" }
        #expect(results == [false, false, false, true])
    }

    @Test("goes on without a session token, too")
    func token() async throws {
        let site = try site(.appleIsDown, mode: "observe, accept: [assertion, token]")
        let answer = try await site.client().send(try site.request(), proof: .sessionToken)
        #expect(answer.1.statusCode == 200)
        // The token itself is worth an assertion, or nothing.
        #expect(site.network.count("/assert/token") == 0)
    }

    @Test("sends a developer token if the device turns out not to attest")
    func developerToken() async throws {
        let site = try ClientSite(attest: "mode: observe, accept: [assertion, token]")
        site.configuration.developerToken = "developer"
        site.service.fail(.key, .featureUnsupported)
        let sent = Sent()
        site.network.trouble { request in
            if request.url?.path == "/api/x" {
                sent.add(request.value(forHTTPHeaderField: SessionToken.headerName))
            }
            return nil
        }
        for _ in 0..<2 { _ = try await site.client().send(try site.request()) }
        _ = try await site.client().send(try site.request(), proof: .sessionToken)
        #expect(sent.all == ["developer", "developer", "developer"])
        await #expect(throws: ClientError.self) { try await site.client().enrol() }
        site.clock.advance(6 * 3600)
        try await site.client().enrol()
        #expect(site.service.keyCount == 1)
    }

    /// The proofs of the requests that were sent.
    private final class Sent: @unchecked Sendable {
        private let lock = NSLock()
        private var texts: [String?] = []

        var all: [String?] { lock.withLock { texts } }

        func add(_ text: String?) { lock.withLock { texts.append(text) } }
    }

    @Test("sends nothing that the network would not carry either")
    func offline() async throws {
        let site = try ClientSite(attest: "mode: observe")
        site.network.trouble("/attest/challenge", [.lost])
        await #expect(throws: URLError.self) { try await site.client().send(try site.request()) }
        #expect(site.network.count("/api/x") == 0)
    }

    @Test("tries again later as with a proof")
    func busy() async throws {
        let site = try ClientSite(attest: "mode: observe", isSupported: false)
        site.network.trouble(
            "/api/x", [.refusal(503, "gateway_busy", "retry_later", retryAfter: 4)])
        #expect(try await site.client().send(try site.request()).1.statusCode == 200)
        #expect(site.clock.sleeps == [4])
    }
}
