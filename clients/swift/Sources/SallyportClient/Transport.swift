import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Carries requests: `URLSession` in an app, a double in tests.
public protocol Transport: Sendable {
    /// Sends one request once. Follows no redirect, because an assertion is for one target only.
    func send(_ request: URLRequest, _ body: RequestBody) async throws -> (Data, HTTPURLResponse)
}

/// A transport that sends through a session, in which answers can be read as they come.
public protocol StreamingTransport: Transport {
    /// The session whose settings and delegate hold for every request.
    var session: URLSession { get }
}

/// A `URLSession` as a transport.
public struct SessionTransport: StreamingTransport {
    public let session: URLSession

    /// Sends through a session without cookies and caches.
    public init() {
        // An ephemeral session has both, in memory.
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        session = URLSession(configuration: configuration, delegate: Stay(), delegateQueue: nil)
    }

    /// Sends through the given session.
    public init(session: URLSession) { self.session = session }

    public func send(
        _ request: URLRequest, _ body: RequestBody
    ) async throws -> (Data, HTTPURLResponse) {
        var request = request
        let answer: (Data, URLResponse)
        switch body {
        case .none:
            request.httpBody = nil
            answer = try await session.data(for: request, delegate: Stay())
        case .data(let data):
            request.httpBody = data
            answer = try await session.data(for: request, delegate: Stay())
        case .file(let url):
            request.httpBody = nil
            answer = try await session.upload(for: request, fromFile: url, delegate: Stay())
        }
        guard let response = answer.1 as? HTTPURLResponse else {
            throw URLError(.badServerResponse)
        }
        return (answer.0, response)
    }
}

/// A delegate that follows no redirect.
final class Stay: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
