import Apollo
import Foundation
import FoundationNetworking
import GRPCCore
import HTTPTypes
import OpenAPIRuntime
import SallyportClient
import SallyportHTTPTypes

/// Sends for real what the other HTTP stacks hand to their transports.
struct StackSender: Sendable {
    let network: SimulatedNetwork

    /// As a transport of OpenAPI's runtime: the answer's body can be read once.
    func openAPI(
        _ request: HTTPTypes.HTTPRequest, _ body: HTTPBody?, _ baseURL: URL
    ) async throws -> (HTTPTypes.HTTPResponse, HTTPBody?) {
        var bytes: Data?
        if let body { bytes = try await Data(collecting: body, upTo: 1 << 30) }
        guard let url = URL(string: baseURL.absoluteString + (request.path ?? "")) else {
            throw URLError(.badURL)
        }
        let (response, data) = try await types(request, bytes, url)
        let chunks = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
            for start in stride(from: 0, to: data.count, by: 1000) {
                continuation.yield(Array(data[start..<min(start + 1000, data.count)])[...])
            }
            continuation.finish()
        }
        return (response, HTTPBody(chunks, length: .unknown))
    }

    /// As a transport with the currency types of HTTP.
    func types(
        _ request: HTTPTypes.HTTPRequest, _ body: Data?, _ url: URL
    ) async throws -> (HTTPTypes.HTTPResponse, Data) {
        let (data, response) = try await network.send(
            URLRequest(request, to: url), body.map { .data($0) } ?? .none)
        var fields = HTTPFields()
        for case (let name as String, let value as String) in response.allHeaderFields {
            if let name = HTTPField.Name(name) {
                fields.append(HTTPField(name: name, value: value))
            }
        }
        return (
            HTTPTypes.HTTPResponse(
                status: .init(code: response.statusCode), headerFields: fields), data
        )
    }

    /// As the end of Apollo's chain of interceptors.
    func apollo(_ request: URLRequest) async throws -> Apollo.HTTPResponse {
        let (data, response) = try await network.send(
            request, request.httpBody.map { .data($0) } ?? .none)
        let chunks = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(data)
            continuation.finish()
        }
        return Apollo.HTTPResponse(testing: response, chunks)
    }

    /// As a transport of gRPC, with the bytes that HTTP/2 would carry.
    func grpc(
        _ request: StreamingClientRequest<String>, _ context: ClientContext, _ gateway: URL
    ) async throws -> StreamingClientResponse<String> {
        let frames = Frames()
        try await request.producer(RPCWriter(wrapping: frames))
        var sent = URLRequest(
            url: gateway.appendingPathComponent(context.descriptor.fullyQualifiedMethod))
        sent.httpMethod = "POST"
        for case (let name, .string(let text)) in request.metadata {
            sent.setValue(text, forHTTPHeaderField: name)
        }
        let (_, response) = try await network.send(sent, .data(frames.data))
        var metadata = Metadata()
        for case (let name as String, let value as String) in response.allHeaderFields {
            metadata.addString(value, forKey: name.lowercased())
        }
        guard response.statusCode == 200 else {
            let code = response.statusCode == 401 ? RPCError.Code.unauthenticated : .unavailable
            return StreamingClientResponse(
                accepted: .failure(RPCError(code: code, message: "", metadata: metadata)))
        }
        return StreamingClientResponse(accepted: .success(.init(testing: metadata)))
    }

    private final class Frames: RPCWriterProtocol, @unchecked Sendable {
        private let lock = NSLock()
        private var bytes = Data()

        var data: Data { lock.withLock { bytes } }

        func write(_ element: String) {
            lock.withLock {
                bytes += [0, 0, 0, 0, UInt8(element.utf8.count)] + Data(element.utf8)
            }
        }

        func write(contentsOf elements: some Sequence<String>) {
            for element in elements { write(element) }
        }
    }
}
