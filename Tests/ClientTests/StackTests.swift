import Alamofire
import Apollo
import Foundation
import FoundationNetworking
import GRPCCore
import GatewayTesting
import SallyportClient
import StackInterceptors
import Testing

@Suite(
    "The client in other HTTP stacks", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)), .fewAtOnce)
struct StackTests {
    private let site: ClientSite
    private let sender: StackSender

    init() throws {
        site = try ClientSite(attest: "mode: enforce, accept: [assertion, token]")
        sender = StackSender(network: site.network)
    }
}

extension StackTests {
    private func session(
        _ client: AppAttestClient, proof: AppAttestClient.Proof = .assertion
    ) -> Session {
        let interceptor = AlamofireInterceptor(client, proof: proof)
        return Session(
            interceptor: interceptor, redirectHandler: Redirector.doNotFollow,
            eventMonitors: [interceptor])
    }

    @Test("requests of Alamofire are signed, and answers bring the next challenges")
    func alamofire() async throws {
        let session = session(site.client())
        var sentCount = 0
        // The first answer's challenge is kept beside the second request, maybe too late for it.
        repeat {
            sentCount += 1
            let request = try site.request(method: "POST", body: "\(sentCount)")
            let data = try await session.request(request).validate().serializingData().value
            #expect(data == Data("hello\n".utf8))
        } while sentCount < 50 && site.network.count("/assert/challenge") >= sentCount - 1
        #expect(site.network.count("/assert/challenge") < sentCount - 1)
        let seen = site.upstream.requests
        #expect(seen.map(\.body) == (1...sentCount).map { Array("\($0)".utf8) })
        #expect(seen.allSatisfy { $0["X-Attest-Result"] == "verified" })
    }

    @Test("a request of Alamofire that the gateway refuses is signed again")
    func alamofireRefused() async throws {
        let client = site.client()
        try await client.enrol()
        let key = try await client.keyID
        try site.gateway.restart(byKill: true)
        let session = session(client)
        let request = try site.request(method: "POST", body: "x")
        #expect(
            try await session.request(request).validate().serializingData().value
                == Data("hello\n".utf8))
        #expect(try await client.keyID == key)
    }

    @Test("a refusal that stays is the reason why a request of Alamofire fails")
    func alamofireFailed() async throws {
        let document = #"{"code":"challenge_expired","action":"sign_again"}"#
        site.upstream.answer { _ in
            .response(
                403, fields: [("Content-Type", "application/problem+json")], body: document)
        }
        let session = session(site.client())
        do {
            _ = try await session.request(site.request()).validate().serializingData().value
            Issue.record("each attempt was refused")
        } catch AFError.requestRetryFailed(ClientError.refused(let refusal)) {
            #expect(refusal.code == "challenge_expired")
        }
        #expect(site.upstream.requests.count == 3)
    }

    @Test("a request of Alamofire whose route takes no session token is signed, and no other is")
    func alamofireToken() async throws {
        site.upstream.answer { request in
            guard request["X-Attest-Tier"] == "token", request.target == "/api/x" else {
                return .response(200, body: "hello\n")
            }
            return .response(
                401, fields: [("WWW-Authenticate", #"AppAttest error="assertion_required""#)])
        }
        let session = session(site.client(), proof: .sessionToken)
        for path in ["/api/x", "/api/y"] {
            let request = try site.request(path, method: "POST", body: "x")
            #expect(
                try await session.request(request).validate().serializingData().value
                    == Data("hello\n".utf8))
        }
        let tiers = site.upstream.requests.map { $0["X-Attest-Tier"] }
        #expect(tiers == ["token", "attested", "token"])
    }

    @Test("operations of Apollo are signed, and signed again")
    func apollo() async throws {
        let interceptor = ApolloInterceptor(site.client())
        let sender = sender
        site.network.trouble(
            "/api/x",
            [
                .answer(401, ["WWW-Authenticate": #"AppAttest error="challenge_expired""#], ""),
                .refusal(503, "overloaded", "retry_later"),
            ].reversed())
        let request = try site.request(method: "POST", body: "{}")
        // Its document came after the interceptor had returned.
        let waiting = try await interceptor.intercept(request: request) {
            try await sender.apollo($0)
        }
        do {
            _ = try await waiting.read()
            Issue.record("the gateway refused")
        } catch ClientError.refused(let refusal) {
            #expect(refusal.code == "overloaded")
        }
        let answer = try await interceptor.intercept(request: request) {
            try await sender.apollo($0)
        }
        #expect(try await answer.read() == Data("hello\n".utf8))
        #expect(site.network.count("/api/x") == 3)
        #expect(site.upstream.requests.map(\.body) == [Array("{}".utf8)])
    }

    private func call(
        _ interceptor: GRPCInterceptor, _ type: MethodDescriptor.RPCType?
    ) async throws -> RPCError.Code? {
        let (sender, gateway) = (sender, site.configuration.gateway)
        let request = StreamingClientRequest<String> { try await $0.write("hello") }
        let context = ClientContext(
            descriptor: MethodDescriptor(
                fullyQualifiedService: "api", method: "x", type: type), remotePeer: "",
            localPeer: "")
        let response = try await interceptor.intercept(request: request, context: context) {
            (request, context) -> StreamingClientResponse<String> in
            try await sender.grpc(request, context, gateway)
        }
        if case .failure(let error) = response.accepted { return error.code }
        return nil
    }

    @Test(
        "calls of gRPC with one message are signed, others go with a token",
        arguments: [
            (MethodDescriptor.RPCType.unary, "attested"), (.serverStreaming, "attested"),
            (.clientStreaming, "token"), (.bidirectionalStreaming, "token"), (nil, "token"),
        ])
    func grpc(type: MethodDescriptor.RPCType?, tier: String) async throws {
        let client = site.client()
        let interceptor = GRPCInterceptor(client, gateway: site.configuration.gateway) {
            Array(($0 as? String ?? "").utf8)
        }
        for _ in 1...2 { #expect(try await call(interceptor, type) == nil) }
        let seen = site.upstream.requests
        #expect(seen.map { $0["X-Attest-Tier"] } == [tier, tier])
        #expect(seen.allSatisfy { $0.body == [0, 0, 0, 0, 5] + Array("hello".utf8) })
        #expect(site.network.count("/assert/challenge") == 0)
    }

    @Test("a refused call of gRPC is signed again, if its message is there")
    func grpcRefused() async throws {
        let client = site.client()
        let interceptor = GRPCInterceptor(client, gateway: site.configuration.gateway) {
            Array(($0 as? String ?? "").utf8)
        }
        let refusal = SimulatedNetwork.Trouble.answer(
            401, ["WWW-Authenticate": #"AppAttest error="challenge_expired""#], "")
        site.network.trouble("/api/x", [refusal])
        #expect(try await call(interceptor, .unary) == nil)
        #expect(site.network.count("/api/x") == 2)
        site.network.trouble("/api/x", Array(repeating: refusal, count: 9))
        #expect(try await call(interceptor, .unary) == .unauthenticated)
        #expect(site.network.count("/api/x") == 5)
        #expect(try await call(interceptor, .clientStreaming) == .unauthenticated)
        #expect(site.network.count("/api/x") == 6)
    }

    @Test("a call of gRPC whose route takes no session token is signed, if its message is there")
    func grpcToken() async throws {
        let interceptor = GRPCInterceptor(
            site.client(), gateway: site.configuration.gateway, proof: .sessionToken
        ) { Array(($0 as? String ?? "").utf8) }
        let refusal = SimulatedNetwork.Trouble.answer(
            401, ["WWW-Authenticate": #"AppAttest error="assertion_required""#], "")
        site.network.trouble("/api/x", [refusal])
        #expect(try await call(interceptor, .unary) == nil)
        #expect(site.upstream.requests.map { $0["X-Attest-Tier"] } == ["attested"])
        site.network.trouble("/api/x", [refusal])
        #expect(try await call(interceptor, .clientStreaming) == .unauthenticated)
        #expect(site.upstream.requests.count == 1)
    }

    private func refusal(
        _ status: Int, _ fields: [String: String], _ document: String = ""
    ) throws -> Refusal {
        let response = try #require(
            HTTPURLResponse(
                url: site.configuration.gateway, statusCode: status, httpVersion: nil,
                headerFields: fields))
        return try #require(Refusal(Data(document.utf8), response))
    }

    @Test("a refusal of an attempt is followed as one of the client's own requests is")
    func steps() async throws {
        let client = site.client()
        let (signed, _) = try await client.prove(site.request())
        let unknown = try refusal(401, ["WWW-Authenticate": #"AppAttest error="key_unknown""#])
        #expect(try await client.follow(unknown, of: signed, attempt: 1))
        _ = try await client.prove(site.request())
        #expect(site.service.keyCount == 2)
        // Not within an hour of another new key.
        let (again, _) = try await client.prove(site.request())
        #expect(try await !client.follow(unknown, of: again, attempt: 1))
        let (paid, _) = try await client.prove(site.request(), proof: .sessionToken)
        let invalid = try refusal(401, ["WWW-Authenticate": #"AppAttest error="token_invalid""#])
        #expect(try await client.follow(invalid, of: paid, attempt: 1))
        _ = try await client.prove(site.request(), proof: .sessionToken)
        #expect(site.network.count("/assert/token") == 2)
        for (seconds, isFollowed) in [(3, true), (100, false)] {
            let busy = try refusal(
                503,
                ["Content-Type": "application/problem+json", "Retry-After": "\(seconds)"],
                #"{"code":"overloaded","action":"retry_later"}"#)
            #expect(try await client.follow(busy, of: again, attempt: 1) == isFollowed)
            #expect(try await !client.follow(busy, of: again, attempt: 3))
        }
        #expect(site.clock.sleeps == [3])
    }

    @Test("a request without a proof is sent once, and fails if the gateway wants one")
    func unproved() async throws {
        let site = try ClientSite(isSupported: false)
        let client = site.client()
        let (request, _) = try await client.prove(site.request())
        let (data, response) = try await SessionTransport().send(request, .none)
        let refusal = try #require(await client.receive(data, response))
        #expect(refusal.code == "assertion_required")
        #expect(try await !client.follow(refusal, of: request, attempt: 1))
        site.configuration.whenUnproved = .fail
        await #expect(throws: ClientError.self) {
            try await site.client().prove(site.request())
        }
    }
}
