import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// For apps whose requests are made by generated code or by another HTTP stack.
extension AppAttestClient {
    /// True if requests to this URL go to the client's gateway: the scheme, host and port are its.
    public nonisolated func serves(_ url: URL) -> Bool {
        Origin(url).map { $0 == Origin(configuration.gateway) } ?? false
    }

    /// Throws for a request to another server. It must see no proof, and its refusals would make
    /// the client give up its key.
    nonisolated func requireServed(_ request: URLRequest) throws {
        guard let url = request.url, serves(url) else {
            throw ClientError.invalidRequest("the URL does not have the gateway's origin")
        }
    }

    /// Sends a request with its proof by another HTTP stack, and does all that
    /// ``send(_:body:proof:)`` does.
    ///
    /// - Parameter exchange: Sends one attempt. It is called again if the gateway advises that.
    public func send<Content: Sendable>(
        _ request: URLRequest, body: RequestBody? = nil, proof: Proof = .assertion,
        by exchange: Exchange<Content>
    ) async throws -> (Content, HTTPURLResponse) {
        let body = try RequestBody.of(request, body)
        let answer = try await deliver(request, body, proof, exchange)
        return (answer.content, answer.response)
    }

    /// Returns the request as one attempt sends it: with its proof, or without one if there is none
    /// now and ``Configuration/whenUnproved`` lets it go.
    ///
    /// For stacks that adapt a request and retry it in two steps. Hand each answer to
    /// ``receive(_:_:)``, and a refusal to ``follow(_:of:attempt:)``. No order of requests is kept,
    /// so use a route with a window, or session tokens.
    public func prove(
        _ request: URLRequest, body: RequestBody? = nil, proof: Proof = .assertion
    ) async throws -> (URLRequest, RequestBody) {
        try requireServed(request)
        let body = try RequestBody.of(request, body)
        do {
            let proved = try await withProof(request, body, proof)
            return (carrying(proved.request).request, proved.body)
        } catch
            where configuration.whenUnproved == .sendUnproved && Self.concernsProof(error)
        {
            return (carrying(request).request, body)
        }
    }

    /// Does what the refusal of a request asks for, which may be to wait or to enrol another key.
    ///
    /// - Parameters:
    ///   - request: The refused attempt, as ``prove(_:body:proof:)`` returned it.
    ///   - attempt: The number of attempts so far.
    /// - Returns: True if the request is to be proved and sent again: with an assertion, if it was
    ///   refused with `assertion_required`.
    public func follow(
        _ refusal: Refusal, of request: URLRequest, attempt: Int
    ) async throws -> Bool {
        try requireServed(request)
        let text = request.value(forHTTPHeaderField: HeaderName.token)
        let token = session.flatMap { $0.text == text ? $0 : nil }
        if refusal.code == "token_invalid" { giveUpToken(token) }
        let keyID = request.value(forHTTPHeaderField: configuration.headers.keyID) ?? token?.keyID
        let hasProof =
            keyID != nil || text != nil
            || request.value(forHTTPHeaderField: HeaderName.deviceToken) != nil
        // Without a proof now, there is none a moment later.
        guard hasProof || !refusal.asksForProof,
            attempt < configuration.retries.attempts(refusal.retry)
        else { return false }
        return try await resolve(refusal, of: request, by: keyID, attempt: attempt)
    }
}

/// The scheme, host and port of a URL.
private struct Origin: Equatable {
    let scheme: String
    let host: String
    let port: Int

    /// Makes nil of a URL that is none of HTTP.
    init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased(),
            ["http", "https"].contains(scheme)
        else { return nil }
        self.scheme = scheme
        self.host = host
        port = url.port ?? (scheme == "https" ? 443 : 80)
    }
}
