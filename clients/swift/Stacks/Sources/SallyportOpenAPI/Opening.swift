import Foundation
import OpenAPIRuntime

/// The first chunks of a body that can be read once, and the rest of it.
final class Opening: @unchecked Sendable {
    // One consumer after the other uses them: `read`, then the stream that it returns.
    private var chunks: [HTTPBody.ByteChunk] = []
    private var rest: HTTPBody.AsyncIterator

    private init(_ body: HTTPBody) { rest = body.makeAsyncIterator() }

    /// Reads a body that may be short.
    ///
    /// - Returns: All of its bytes, or nil if there are more than the limit; and a body with the
    ///   same bytes, which is still to be read.
    static func read(_ body: HTTPBody, upTo byteCountMax: Int) async throws -> (Data?, HTTPBody) {
        let opening = Opening(body)
        var byteCount = 0
        while let chunk = try await opening.rest.next() {
            opening.chunks.append(chunk)
            byteCount += chunk.count
            guard byteCount <= byteCountMax else {
                let whole = AsyncThrowingStream { try await opening.next() }
                return (nil, HTTPBody(whole, length: body.length))
            }
        }
        let data = Data(opening.chunks.joined())
        return (data, HTTPBody(data))
    }

    private func next() async throws -> HTTPBody.ByteChunk? {
        chunks.isEmpty ? try await rest.next() : chunks.removeFirst()
    }
}
