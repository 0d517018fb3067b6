import Foundation
import HTTPTypes
import SallyportClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension URLRequest {
    /// Makes the request without its body, as the client signs it.
    ///
    /// - Parameter url: The whole URL, with the path and query that are sent.
    public init(_ request: HTTPRequest, to url: URL) {
        self.init(url: url)
        httpMethod = request.method.rawValue
        for field in request.headerFields {
            addValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
    }
}

extension HTTPRequest {
    /// Returns the request with the header fields that the client has set in its copy.
    ///
    /// - Throws: ``ClientError/invalidRequest(_:)`` if a name in ``Configuration/headers`` is no
    ///   name of a header field.
    public func carrying(proofOf proved: URLRequest) throws -> HTTPRequest {
        guard let url = proved.url else { throw ClientError.invalidRequest("no URL of HTTP") }
        let unproved = URLRequest(self, to: url)
        var request = self
        for (text, value) in proved.allHTTPHeaderFields ?? [:]
        where unproved.value(forHTTPHeaderField: text) != value {
            guard let name = HTTPField.Name(text) else {
                throw ClientError.invalidRequest("\(text) is no name of a header field")
            }
            request.headerFields[name] = value
        }
        return request
    }
}

extension HTTPURLResponse {
    /// Makes the head of an answer, as the client reads it. Fields of one name become one.
    public convenience init?(_ response: HTTPResponse, from url: URL) {
        let fields = response.headerFields.map { ($0.name.rawName.lowercased(), $0.value) }
        self.init(
            url: url, statusCode: response.status.code, httpVersion: nil,
            headerFields: Dictionary(fields) { $0 + ", " + $1 })
    }
}

extension AppAttestClient {
    /// Sends a request with its proof by a stack that has the currency types, and does all that
    /// ``send(_:body:proof:)`` does.
    ///
    /// - Parameter url: The whole URL, with the path and query that are sent.
    public func send(
        _ request: HTTPRequest, to url: URL, body: Data? = nil, proof: Proof = .assertion,
        by exchange: @Sendable (HTTPRequest, Data?) async throws -> (HTTPResponse, Data)
    ) async throws -> (HTTPResponse, Data) {
        try await send(
            URLRequest(request, to: url), body: body.map(RequestBody.data), proof: proof
        ) { proved, body in
            var bytes: Data?
            if case .data(let data) = body { bytes = data }
            let content = try await exchange(request.carrying(proofOf: proved), bytes)
            guard let head = HTTPURLResponse(content.0, from: url) else {
                throw URLError(.badServerResponse)
            }
            return Answer(content, head, refusal: Refusal(content.1, head))
        }.0
    }
}
