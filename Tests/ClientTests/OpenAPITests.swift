import Foundation
import FoundationNetworking
import GatewayTesting
import HTTPTypes
import OpenAPIRuntime
import SallyportClient
import SallyportHTTPTypes
import SallyportOpenAPI
import Testing

@Suite(
    "The client in generated code", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)),
    .fewAtOnce)
struct OpenAPITests {
    private let site: ClientSite
    private let sender: StackSender

    init() throws {
        site = try ClientSite(attest: "mode: enforce, accept: [assertion, token]")
        sender = StackSender(network: site.network)
    }
}

extension OpenAPITests {
    private func request(_ method: String = "POST") throws -> HTTPRequest {
        var fields = HTTPFields()
        let name = try #require(HTTPField.Name("X-Mine"))
        for value in ["1", "2"] { fields.append(HTTPField(name: name, value: value)) }
        return HTTPRequest(
            method: try #require(HTTPRequest.Method(method)), scheme: nil, authority: nil,
            path: "/x?of=all&x=%2F", headerFields: fields)
    }

    /// The body of an upload: it can be read once.
    private func upload(_ byteCount: Int) -> HTTPBody {
        let chunks = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
            for _ in 0..<byteCount { continuation.yield([UInt8(ascii: "a")]) }
            continuation.finish()
        }
        return HTTPBody(chunks, length: .unknown)
    }

    private func call(
        _ middleware: AttestMiddleware, _ request: HTTPRequest, _ body: HTTPBody?,
        base: URL? = nil, operationID: String = "x"
    ) async throws -> (Int, Data?) {
        let sender = sender
        let (response, body) = try await middleware.intercept(
            request, body: body,
            baseURL: base ?? site.configuration.gateway.appendingPathComponent("api"),
            operationID: operationID
        ) { request, body, baseURL in
            // Otherwise the transport might send it again by itself.
            #expect(body == nil || body?.iterationBehavior == .single)
            return try await sender.openAPI(request, body, baseURL)
        }
        guard let body else { return (response.status.code, nil) }
        return (response.status.code, try await Data(collecting: body, upTo: 1 << 30))
    }

    @Test("requests are signed with their path, query and body, which may be read once")
    func signed() async throws {
        let middleware = AttestMiddleware(site.client())
        for number in 1...3 {
            #expect(try await call(middleware, request(), upload(number)).0 == 200)
        }
        #expect(try await call(middleware, request("GET"), nil).0 == 200)
        #expect(site.network.count("/assert/challenge") == 0)
        let seen = site.upstream.requests
        #expect(seen.map(\.body.count) == [1, 2, 3, 0])
        #expect(seen.allSatisfy { $0["X-Attest-Result"] == "verified" })
        #expect(seen.allSatisfy { $0.target == "/api/x?of=all&x=%2F" })
    }

    @Test("refusals are followed, with the same body, and waits are kept")
    func refused() async throws {
        let middleware = AttestMiddleware(site.client())
        site.network.trouble(
            "/api/x",
            [
                .refusal(401, "challenge_expired", "sign_again"),
                .refusal(503, "overloaded", "retry_later", retryAfter: 4),
            ])
        #expect(try await call(middleware, request(), upload(5)).0 == 200)
        #expect(site.clock.sleeps == [4])
        #expect(site.upstream.requests.map(\.body.count) == [5])
        site.network.trouble("/api/x", [.refusal(403, "key_revoked", "none")])
        await #expect(throws: SallyportClient.ClientError.self) {
            try await call(middleware, request(), upload(5))
        }
        #expect(site.network.count("/api/x") == 4)
    }

    @Test("an operation may go with a session token")
    func token() async throws {
        let middleware = AttestMiddleware(site.client()) {
            $0 == "feed" ? .sessionToken : .assertion
        }
        for operationID in ["feed", "x", "feed"] {
            let answer = try await call(
                middleware, request(), upload(1), operationID: operationID)
            #expect(answer.0 == 200)
        }
        #expect(
            site.upstream.requests.map { $0["X-Attest-Tier"] } == ["token", "attested", "token"])
        #expect(site.network.count("/assert/token") == 1)
    }

    @Test("requests to other servers are handed on as they are, unread")
    func others() async throws {
        let middleware = AttestMiddleware(site.client())
        let (original, body) = (try request(), upload(1))
        let https = site.configuration.gateway.absoluteString.replacing("http:", with: "https:")
        for other in ["http://localhost:1", https] {
            _ = try await middleware.intercept(
                original, body: body, baseURL: try #require(URL(string: other)), operationID: "x"
            ) { request, handed, _ in
                #expect(request == original && handed === body)
                return (HTTPResponse(status: .init(code: 200)), nil)
            }
        }
        #expect(site.network.paths.isEmpty)
    }

    @Test("a longer body than the limit is not sent")
    func long() async throws {
        let middleware = AttestMiddleware(site.client(), bodyByteCountMax: 4)
        #expect(try await call(middleware, request(), upload(4)).0 == 200)
        await #expect(throws: (any Error).self) {
            try await call(middleware, request(), upload(5))
        }
        #expect(site.network.count("/api/x") == 1)
    }

    @Test(
        "the API's own problem documents arrive whole",
        arguments: [0, 10, Refusal.byteCountMax, Refusal.byteCountMax + 1, 200_000])
    func problems(byteCount: Int) async throws {
        let middleware = AttestMiddleware(site.client())
        let text = String(repeating: "p", count: byteCount)
        site.upstream.answer { _ in
            .response(422, fields: [("Content-Type", "application/problem+json")], body: text)
        }
        let (status, body) = try await call(middleware, request(), nil)
        #expect(status == 422)
        #expect(body == Data(text.utf8))
    }

    @Test("requests in the currency types of HTTP are signed, and signed again")
    func types() async throws {
        let sender = sender
        let url = try #require(
            URL(string: site.configuration.gateway.absoluteString + "/api/x?of=all&x=%2F"))
        site.network.trouble("/api/x", [.refusal(401, "challenge_expired", "sign_again")])
        let (response, data) = try await site.client().send(
            request(), to: url, body: Data("hello".utf8)
        ) { try await sender.types($0, $1, url) }
        #expect(response.status.code == 200)
        #expect(data == Data("hello\n".utf8))
        #expect(site.upstream.requests.last?["X-Attest-Result"] == "verified")
        #expect(site.network.count("/api/x") == 2)
    }
}
