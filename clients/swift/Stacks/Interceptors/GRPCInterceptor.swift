import Foundation
import GRPCCore
import SallyportClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Proves the calls of a gRPC client (gRPC Swift 2.3 or later, which needs iOS 18).
///
/// A call with one request message is signed; its digest covers the message with gRPC's prefix, so
/// request compression must be off, as it is by default. An interceptor does not see these bytes,
/// so `serialize` has to write what the call's serializer writes. A call that streams requests gets
/// a session token, because a digest needs all of its messages.
public struct GRPCInterceptor: ClientInterceptor {
    private let client: AppAttestClient
    private let gateway: URL
    private let proof: AppAttestClient.Proof
    private let serialize: @Sendable (any Sendable) throws -> [UInt8]

    /// - Parameters:
    ///   - gateway: The scheme, host and port that the calls go to.
    ///   - proof: The proof of calls with one request message.
    ///   - serialize: Writes a message. Map fields need a fixed order, here and in the call.
    public init(
        _ client: AppAttestClient, gateway: URL, proof: AppAttestClient.Proof = .assertion,
        serialize: @escaping @Sendable (any Sendable) throws -> [UInt8]
    ) {
        self.client = client
        self.gateway = gateway
        self.proof = proof
        self.serialize = serialize
    }

    public func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingClientRequest<Input>, context: ClientContext,
        next: (StreamingClientRequest<Input>, ClientContext) async throws ->
            StreamingClientResponse<Output>
    ) async throws -> StreamingClientResponse<Output> {
        let type = context.descriptor.type
        let isOneMessage = type == .unary || type == .serverStreaming
        var request = request
        var body = RequestBody.none
        if isOneMessage {
            let messages = try await Messages.written(by: request.producer)
            body = .data(try messages.reduce(into: Data()) { $0 += try framed($1) })
            request.producer = { try await $0.write(contentsOf: messages) }
        }
        let call = call(context.descriptor, request.metadata)
        var proof = isOneMessage ? proof : .sessionToken
        var attempt = 1
        while true {
            let (proved, _) = try await client.prove(call, body: body, proof: proof)
            let response = try await next(carrying(proved, unlike: call, in: request), context)
            guard let head = head(of: response, to: call),
                let refusal = await client.receive(Data(), head),
                // The messages of a stream are gone.
                try await client.follow(
                    refusal, of: proved, attempt: isOneMessage ? attempt : Int.max)
            else { return response }
            if refusal.code == "assertion_required" { proof = .assertion }
            attempt += 1
        }
    }

    /// A message as it is sent: a flag for compression and the length before it.
    private func framed(_ message: any Sendable) throws -> Data {
        let bytes = try serialize(message)
        guard let count = UInt32(exactly: bytes.count) else {
            throw ClientError.invalidRequest("the message is too long for gRPC")
        }
        return [0] + withUnsafeBytes(of: count.bigEndian) { Data($0) } + bytes
    }

    /// The HTTP request that the call becomes, without its body.
    private func call(_ method: MethodDescriptor, _ metadata: Metadata) -> URLRequest {
        var call = URLRequest(url: gateway.appendingPathComponent(method.fullyQualifiedMethod))
        call.httpMethod = "POST"
        for case (let name, .string(let text)) in metadata {
            call.addValue(text, forHTTPHeaderField: name)
        }
        return call
    }

    private func carrying<Input: Sendable>(
        _ proved: URLRequest, unlike call: URLRequest, in request: StreamingClientRequest<Input>
    ) -> StreamingClientRequest<Input> {
        var request = request
        for (name, text) in proved.allHTTPHeaderFields ?? [:]
        where call.value(forHTTPHeaderField: name) != text {
            request.metadata.replaceOrAddString(text, forKey: name.lowercased())
        }
        return request
    }

    /// The head of the HTTP response. gRPC keeps that of a refusal in the error's metadata.
    private func head<Output: Sendable>(
        of response: StreamingClientResponse<Output>, to call: URLRequest
    ) -> HTTPURLResponse? {
        let (status, metadata) =
            switch response.accepted {
            case .success(let contents): (200, contents.metadata)
            case .failure(let error): (error.code == .unauthenticated ? 401 : 503, error.metadata)
            }
        var fields: [String: String] = [:]
        for case (let name, .string(let text)) in metadata { fields[name] = text }
        return call.url.flatMap {
            HTTPURLResponse(url: $0, statusCode: status, httpVersion: nil, headerFields: fields)
        }
    }
}

/// Collects the messages of a call.
private final class Messages<Element: Sendable>: RPCWriterProtocol, @unchecked Sendable {
    private let lock = NSLock()
    private var all: [Element] = []

    static func written(
        by produce: @Sendable (RPCWriter<Element>) async throws -> Void
    ) async throws -> [Element] {
        let messages = Messages()
        try await produce(RPCWriter(wrapping: messages))
        return messages.lock.withLock { messages.all }
    }

    func write(_ element: Element) { lock.withLock { all.append(element) } }

    func write(contentsOf elements: some Sequence<Element>) {
        lock.withLock { all += elements }
    }
}
