import Alamofire
import Foundation
import SallyportClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Proves the requests of an Alamofire session (5.10 or later) that go to the gateway, and follows
/// its refusals. It is the session's interceptor and one of its event monitors.
///
/// Requests need `validate()`, because Alamofire retries none that did not fail. Uploads have their
/// body outside of the request that an interceptor gets: send them by the client.
public final class AlamofireInterceptor: RequestInterceptor, EventMonitor {
    private let client: AppAttestClient
    private let proof: AppAttestClient.Proof
    /// The requests whose routes take no session token.
    private let signed = RequestIDs()

    public init(_ client: AppAttestClient, proof: AppAttestClient.Proof = .assertion) {
        self.client = client
        self.proof = proof
    }

    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        guard let url = urlRequest.url, client.serves(url) else {
            return completion(.success(urlRequest))
        }
        let proof = signed.contains(state.requestID) ? .assertion : proof
        Task {
            do {
                var (proved, body) = try await client.prove(urlRequest, proof: proof)
                if case .data(let data) = body { proved.httpBody = data }
                completion(.success(proved))
            } catch {
                completion(.failure(error))
            }
        }
    }

    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard let sent = request.request, let url = sent.url, client.serves(url),
            let response = request.response
        else { return completion(.doNotRetry) }
        let data = (request as? DataRequest)?.data ?? Data()
        let (id, attempt) = (request.id, request.retryCount + 1)
        Task {
            guard let refusal = await client.receive(data, response) else {
                return completion(.doNotRetry)
            }
            if refusal.code == "assertion_required" { signed.insert(id) }
            do {
                let isRetried = try await client.follow(refusal, of: sent, attempt: attempt)
                completion(isRetried ? .retry : .doNotRetryWithError(ClientError.refused(refusal)))
            } catch {
                completion(.doNotRetryWithError(error))
            }
        }
    }

    /// Keeps the challenge that an answer of the API brought. Those of refusals are kept by
    /// `retry`.
    public func request(
        _ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?
    ) {
        guard let response = request.response, let url = response.url, client.serves(url),
            !Refusal.mayBe(response)
        else { return }
        Task { await client.receive(Data(), response) }
    }

    public func requestDidFinish(_ request: Request) { signed.remove(request.id) }
}

/// A set of requests by their IDs.
private final class RequestIDs: @unchecked Sendable {
    private let lock = NSLock()
    private var all: Set<UUID> = []

    func contains(_ id: UUID) -> Bool { lock.withLock { all.contains(id) } }

    func insert(_ id: UUID) { lock.withLock { _ = all.insert(id) } }

    func remove(_ id: UUID) { lock.withLock { _ = all.remove(id) } }
}
