// Stands in for gRPC Swift 2, which cannot be fetched where the tests run. It has only the
// declarations that the interceptor and its tests need, and is no part of any product.

public protocol ClientInterceptor: Sendable {
    func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingClientRequest<Input>, context: ClientContext,
        next: (StreamingClientRequest<Input>, ClientContext) async throws ->
            StreamingClientResponse<Output>
    ) async throws -> StreamingClientResponse<Output>
}

public protocol ClientTransport: Sendable {}

public final class GRPCClient<Transport: ClientTransport>: Sendable {
    /// For tests: the interceptors are carried out one by one.
    public let interceptors: [any ClientInterceptor]

    public init(transport: Transport, interceptors: [any ClientInterceptor]) {
        self.interceptors = interceptors
    }
}

public struct StreamingClientRequest<Message: Sendable>: Sendable {
    public var metadata: Metadata
    public var producer: @Sendable (RPCWriter<Message>) async throws -> Void

    public init(
        of messageType: Message.Type = Message.self, metadata: Metadata = Metadata(),
        producer: @escaping @Sendable (RPCWriter<Message>) async throws -> Void
    ) {
        self.metadata = metadata
        self.producer = producer
    }
}

public struct StreamingClientResponse<Message: Sendable>: Sendable {
    public struct Contents: Sendable {
        public var metadata: Metadata

        /// For tests: that of gRPC has the messages, too.
        public init(testing metadata: Metadata) { self.metadata = metadata }
    }

    public var accepted: Result<Contents, RPCError>

    public init(accepted: Result<Contents, RPCError>) { self.accepted = accepted }
}

public struct RPCError: Error, Sendable {
    public struct Code: Hashable, Sendable {
        private let name: String
        public static let unauthenticated = Code(name: "unauthenticated")
        public static let unavailable = Code(name: "unavailable")
    }

    public var code: Code
    public var message: String
    public var metadata: Metadata

    public init(code: Code, message: String, metadata: Metadata = Metadata()) {
        self.code = code
        self.message = message
        self.metadata = metadata
    }
}

public struct ClientContext: Sendable {
    public var descriptor: MethodDescriptor

    public init(descriptor: MethodDescriptor, remotePeer: String, localPeer: String) {
        self.descriptor = descriptor
    }
}

public struct MethodDescriptor: Sendable, Hashable {
    public enum RPCType: Hashable, Sendable {
        case unary
        case clientStreaming
        case serverStreaming
        case bidirectionalStreaming
    }

    public var fullyQualifiedMethod: String
    public var type: RPCType?

    public init(fullyQualifiedService: String, method: String, type: RPCType?) {
        fullyQualifiedMethod = "\(fullyQualifiedService)/\(method)"
        self.type = type
    }
}

public struct Metadata: Sendable, RandomAccessCollection {
    public enum Value: Sendable, Hashable {
        case string(String)
        case binary([UInt8])
    }

    private var elements: [(key: String, value: Value)] = []

    public init() {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { elements.count }
    public subscript(position: Int) -> (key: String, value: Value) { elements[position] }

    public mutating func addString(_ stringValue: String, forKey key: String) {
        elements.append((key, .string(stringValue)))
    }

    public mutating func replaceOrAddString(_ stringValue: String, forKey key: String) {
        elements.removeAll { $0.key == key }
        addString(stringValue, forKey: key)
    }
}

public protocol RPCWriterProtocol<Element>: Sendable {
    associatedtype Element: Sendable

    func write(_ element: Element) async throws
    func write(contentsOf elements: some Sequence<Element>) async throws
}

public struct RPCWriter<Element: Sendable>: RPCWriterProtocol {
    private let writer: any RPCWriterProtocol<Element>

    public init(wrapping other: some RPCWriterProtocol<Element>) { writer = other }

    public func write(_ element: Element) async throws { try await writer.write(element) }

    public func write(contentsOf elements: some Sequence<Element>) async throws {
        try await writer.write(contentsOf: elements)
    }
}
