import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

@Suite(
    "A client's session tokens", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)),
    .fewAtOnce)
struct ClientTokenTests {
    private let site: ClientSite

    init() throws {
        site = try ClientSite(attest: "mode: enforce, accept: [assertion, token]")
    }
}

extension ClientTokenTests {
    /// How many of eight requests that are sent at once were served.
    private func sendTogether(_ client: AppAttestClient) async throws -> Int {
        let request = try site.request()
        return await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let answer = try? await client.send(request, proof: .sessionToken)
                    return answer?.1.statusCode == 200
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
    }

    @Test("are fetched once for requests that need one at the same time")
    func shared() async throws {
        #expect(try await sendTogether(site.client()) == 8)
        #expect(site.network.count("/assert/token") == 1)
    }

    @Test("are replaced once where several requests are refused for one")
    func replaced() async throws {
        let client = site.client(
            transport: MeetingNetwork(
                network: site.network, path: "/api/x", meeting: Meeting(of: 8)))
        _ = try await client.sessionToken()
        // Two tokens of the same second may have the same text, and differ by when they came.
        site.clock.advance(1)
        let refusal = SimulatedNetwork.Trouble.refusal(401, "token_invalid", "sign_again")
        site.network.trouble("/api/x", Array(repeating: refusal, count: 8))
        #expect(try await sendTogether(client) == 8)
        #expect(site.network.count("/assert/token") == 2)
    }

    @Test("are handed to others, such as extensions, which only send them")
    func handedOver() async throws {
        let client = site.client()
        let token = try await client.sessionToken()
        #expect(try await client.sessionToken() == token)
        #expect(token.until > site.clock.clock.now())
        // As through a keychain that both share.
        let copy = try JSONDecoder().decode(
            SessionToken.self, from: try JSONEncoder().encode(token))
        var request = try site.request()
        request.setValue(copy.text, forHTTPHeaderField: SessionToken.headerName)
        let answer = try await SessionTransport().send(request, .none)
        #expect(answer.1.statusCode == 200)
        #expect(site.upstream.requests.last?["X-Attest-Tier"] == "token")
        site.clock.advance(300)
        #expect(try await client.sessionToken() != token)
    }

    @Test("are forgotten if another sender says that they were refused")
    func refusedElsewhere() async throws {
        let client = site.client()
        let token = try await client.sessionToken()
        #expect(try await client.sessionToken(insteadOf: "another") == token)
        _ = try await client.sessionToken(insteadOf: token.text)
        #expect(site.network.count("/assert/token") == 2)
    }

    /// A network on which a client is reset while its first token is on its way.
    private final class ResettingNetwork: Transport, @unchecked Sendable {
        private let network: SimulatedNetwork
        private let lock = NSLock()
        private var client: AppAttestClient?

        init(_ network: SimulatedNetwork) { self.network = network }

        func reset(_ client: AppAttestClient) { lock.withLock { self.client = client } }

        func send(
            _ request: URLRequest, _ body: RequestBody
        ) async throws -> (Data, HTTPURLResponse) {
            let answer = try await network.send(request, body)
            guard request.url?.path == "/assert/token" else { return answer }
            let client = lock.withLock {
                defer { self.client = nil }
                return self.client
            }
            try await client?.reset()
            return answer
        }
    }

    @Test("are not kept if their key was given up while they were on their way")
    func late() async throws {
        let network = ResettingNetwork(site.network)
        let client = site.client(transport: network)
        network.reset(client)
        for _ in 0..<3 { _ = try await client.sessionToken() }
        #expect(site.network.count("/assert/token") == 2)
        #expect(site.service.keyCount == 2)
    }

    @Test("are for the value of the header that they are bound to")
    func bound() async throws {
        let site = try ClientSite(
            attest: "mode: enforce, accept: [assertion, token]",
            more: ["session_tokens: { bind_to: Authorization }"])
        site.configuration.sessionTokenHeader = "Authorization"
        let client = site.client()
        async let ann = client.sessionToken(boundTo: "Bearer ann")
        async let bob = client.sessionToken(boundTo: "Bearer bob")
        for (user, token) in [("ann", try await ann), ("bob", try await bob)] {
            for (name, status) in [(user, 200), ("eve", 401)] {
                var request = try site.request()
                request.setValue("Bearer \(name)", forHTTPHeaderField: "Authorization")
                request.setValue(token.text, forHTTPHeaderField: SessionToken.headerName)
                let answer = try await SessionTransport().send(request, .none)
                #expect(answer.1.statusCode == status)
            }
        }
    }

    @Test("are not to be had on a device without App Attest")
    func unsupported() async throws {
        let site = try ClientSite(isSupported: false)
        site.deviceTokens.isSupported = true
        await #expect(throws: ClientError.self) { try await site.client().sessionToken() }
        #expect(site.network.paths.isEmpty)
    }
}
