import Foundation
import HTTPTypes
import OpenAPIRuntime
import SallyportClient
import SallyportHTTPTypes

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Proves the requests of a generated client that go to the gateway, follows its refusals, and
/// leaves other requests alone.
///
/// Make it the last middleware, because what changes a request afterwards breaks its signature, and
/// give the transport a session that follows no redirection, such as that of `SessionTransport`.
public struct AttestMiddleware: ClientMiddleware {
    /// The most bytes of a request's body unless you say otherwise. A body is collected in memory
    /// for its digest; send a larger one as a file by the client.
    public static let bodyByteCountMaxDefault = 16 * 1024 * 1024

    private typealias Content = (HTTPResponse, HTTPBody?)

    private let client: AppAttestClient
    private let bodyByteCountMax: Int
    private let proof: @Sendable (String) -> AppAttestClient.Proof

    /// - Parameter proof: The proof for an operation, by its ID.
    public init(
        _ client: AppAttestClient, bodyByteCountMax: Int = Self.bodyByteCountMaxDefault,
        proof: @escaping @Sendable (_ operationID: String) -> AppAttestClient.Proof = { _ in
            .assertion
        }
    ) {
        self.client = client
        self.bodyByteCountMax = bodyByteCountMax
        self.proof = proof
    }

    public func intercept(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String,
        next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let url = try Self.url(of: request, baseURL)
        guard client.serves(url) else { return try await next(request, body, baseURL) }
        let bytes = try await Self.collect(body, upTo: bodyByteCountMax)
        return try await client.send(
            URLRequest(request, to: url), body: bytes.map(RequestBody.data),
            proof: proof(operationID)
        ) { proved, body in
            let content: Content = try await next(
                request.carrying(proofOf: proved), Self.sent(body), baseURL)
            return try await Self.answer(content, from: url)
        }.0
    }

    /// The URL that a transport makes of the server's and the operation's.
    private static func url(of request: HTTPRequest, _ baseURL: URL) throws -> URL {
        guard var parts = URLComponents(string: baseURL.absoluteString),
            let target = URLComponents(string: request.path ?? "")
        else { throw ClientError.invalidRequest("no URL of HTTP") }
        parts.percentEncodedPath += target.percentEncodedPath
        parts.percentEncodedQuery = target.percentEncodedQuery
        guard let url = parts.url else { throw ClientError.invalidRequest("no URL of HTTP") }
        return url
    }

    private static func collect(_ body: HTTPBody?, upTo byteCountMax: Int) async throws -> Data? {
        guard let body else { return nil }
        return try await Data(collecting: body, upTo: byteCountMax)
    }

    /// A body that a transport cannot send again by itself: the gateway would refuse that.
    private static func sent(_ body: RequestBody) -> HTTPBody? {
        guard case .data(let data) = body else { return nil }
        return HTTPBody(data, length: .known(Int64(data.count)), iterationBehavior: .single)
    }

    private static func answer(
        _ content: Content, from url: URL
    ) async throws -> AppAttestClient.Answer<Content> {
        guard let head = HTTPURLResponse(content.0, from: url) else {
            throw URLError(.badServerResponse)
        }
        guard let body = content.1, Refusal.mayBe(head) else {
            return AppAttestClient.Answer(content, head, refusal: Refusal(Data(), head))
        }
        let (document, whole) = try await Opening.read(body, upTo: Refusal.byteCountMax)
        return AppAttestClient.Answer(
            (content.0, whole), head, refusal: document.flatMap { Refusal($0, head) })
    }
}
