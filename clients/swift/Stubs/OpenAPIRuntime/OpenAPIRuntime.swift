// Stands in for swift-openapi-runtime, which cannot be fetched where the tests run. It has only the
// declarations that SallyportOpenAPI and its tests need, and is no part of any product.

import Foundation
import HTTPTypes

public protocol ClientMiddleware: Sendable {
    func intercept(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String,
        next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?)
}

public final class HTTPBody: @unchecked Sendable, AsyncSequence {
    public typealias ByteChunk = ArraySlice<UInt8>
    public typealias Element = ByteChunk

    public enum IterationBehavior: Sendable {
        case single
        case multiple
    }

    public enum Length: Sendable, Equatable {
        case unknown
        case known(Int64)
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let produce: () async throws -> ByteChunk?
        public mutating func next() async throws -> ByteChunk? { try await produce() }
    }

    struct TooManyBytes: Error {}
    struct TooManyIterations: Error {}

    public let iterationBehavior: IterationBehavior
    public let length: Length
    private let makeIterator: @Sendable () -> Iterator
    private let lock = NSLock()
    private var isRead = false

    private init(
        _ length: Length, _ behavior: IterationBehavior,
        _ iterator: @escaping @Sendable () -> Iterator
    ) {
        self.length = length
        iterationBehavior = behavior
        makeIterator = iterator
    }

    public convenience init(
        _ bytes: some Sequence<UInt8> & Sendable, length: Length,
        iterationBehavior: IterationBehavior
    ) {
        let chunk = ArraySlice(bytes)
        self.init(length, iterationBehavior) {
            var left: ByteChunk? = chunk
            return Iterator {
                defer { left = nil }
                return left
            }
        }
    }

    public convenience init(_ data: Data) {
        self.init(data, length: .known(Int64(data.count)), iterationBehavior: .multiple)
    }

    public convenience init(
        _ stream: AsyncThrowingStream<ByteChunk, any Error>, length: Length
    ) {
        self.init(length, .single) {
            var iterator = stream.makeAsyncIterator()
            return Iterator { try await iterator.next() }
        }
    }

    public func makeAsyncIterator() -> Iterator {
        lock.withLock {
            precondition(iterationBehavior == .multiple || !isRead, "the body was read already")
            isRead = true
        }
        return makeIterator()
    }

    fileprivate func collect(_ byteCountMax: Int) async throws -> Data {
        guard lock.withLock({ iterationBehavior == .multiple || !isRead }) else {
            throw TooManyIterations()
        }
        var data = Data()
        for try await chunk in self {
            guard data.count + chunk.count <= byteCountMax else { throw TooManyBytes() }
            data.append(contentsOf: chunk)
        }
        return data
    }
}

/// The real package has types of these names, so what must name the module must do so here too.
public struct ClientError: Error {
    public var operationID: String
    public var underlyingError: any Error

    public init(
        operationID: String, operationInput: any Sendable, causeDescription: String,
        underlyingError: any Error
    ) {
        self.operationID = operationID
        self.underlyingError = underlyingError
    }
}

public struct Configuration: Sendable {}

extension Data {
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        self = try await body.collect(maxBytes)
    }
}
