// Stands in for Apollo iOS 2, which cannot be fetched where the tests run. It has only the
// declarations that the interceptor and its tests need, and is no part of any product.

import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

public protocol HTTPInterceptor: Sendable {
    typealias NextHTTPInterceptorFunction = @Sendable (URLRequest) async throws -> HTTPResponse

    func intercept(
        request: URLRequest, next: NextHTTPInterceptorFunction
    ) async throws -> HTTPResponse
}

public struct ResponseCodeInterceptor: HTTPInterceptor {
    struct Failure: Error {}

    public init() {}

    public func intercept(
        request: URLRequest, next: NextHTTPInterceptorFunction
    ) async throws -> HTTPResponse {
        try await next(request).mapChunks { response, chunk in
            guard (200..<300).contains(response.statusCode) else { throw Failure() }
            return chunk
        }
    }
}

public struct HTTPResponse: Sendable, ~Copyable {
    public let response: HTTPURLResponse
    private let chunks: AsyncThrowingStream<Data, any Error>

    /// For tests: Apollo's own is internal.
    public init(
        testing response: HTTPURLResponse, _ chunks: AsyncThrowingStream<Data, any Error>
    ) {
        self.response = response
        self.chunks = chunks
    }

    public consuming func mapChunks(
        _ transform: @escaping @Sendable (HTTPURLResponse, Data) async throws -> Data
    ) async -> HTTPResponse {
        let (response, chunks) = (response, chunks)
        let mapped = AsyncThrowingStream<Data, any Error> { continuation in
            Task {
                do {
                    for try await chunk in chunks {
                        continuation.yield(try await transform(response, chunk))
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
        }
        return HTTPResponse(testing: response, mapped)
    }

    /// For tests: reads the answer as Apollo's parser does.
    public consuming func read() async throws -> Data {
        var data = Data()
        for try await chunk in chunks { data += chunk }
        return data
    }
}
