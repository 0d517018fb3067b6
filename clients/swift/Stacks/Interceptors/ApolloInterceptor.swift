import Apollo
import Foundation
import SallyportClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Proves the operations of Apollo iOS (2.0 or later) that go to the gateway. Make it the last one
/// that `InterceptorProvider.httpInterceptors(for:)` returns.
///
/// An interceptor of Apollo can read only the head of an answer before it returns, and it has the
/// code of a refusal with 401. Other refusals, which ask to wait, fail the operation.
public struct ApolloInterceptor: HTTPInterceptor {
    private let client: AppAttestClient
    private let proof: AppAttestClient.Proof

    public init(_ client: AppAttestClient, proof: AppAttestClient.Proof = .assertion) {
        self.client = client
        self.proof = proof
    }

    public func intercept(
        request: URLRequest, next: NextHTTPInterceptorFunction
    ) async throws -> HTTPResponse {
        guard let url = request.url, client.serves(url) else { return try await next(request) }
        let (holder, _) = try await client.send(request, proof: proof) { proved, body in
            var proved = proved
            if case .data(let data) = body { proved.httpBody = data }
            let answer = try await next(proved)
            let head = answer.response
            return AppAttestClient.Answer(
                Holder(answer), head, refusal: Refusal(Data(), head))
        }
        guard let answer = holder.take() else { throw URLError(.badServerResponse) }
        return await answer.mapChunks { response, chunk in
            if let refusal = Refusal(chunk, response) { throw ClientError.refused(refusal) }
            return chunk
        }
    }
}

/// Holds an answer, which cannot be copied, until it is handed on once.
private final class Holder: @unchecked Sendable {
    // The attempt that made it has ended before the answer is taken.
    private var answer: HTTPResponse?

    init(_ answer: consuming HTTPResponse) { self.answer = consume answer }

    func take() -> HTTPResponse? { answer.take() }
}
