import Foundation

/// An upstream that keeps every byte it receives and answers as a test says.
///
/// One thread for each connection; ended when released.
public final class RecordingUpstream: Sendable {
    /// A request as it came, and on which connection (from 0, in the order of acceptance).
    public struct Request: Sendable {
        public let connection: Int
        public let message: HTTPMessage

        public var method: String { message.method }
        public var target: String { message.target }
        public var body: [UInt8] { message.body }
        public subscript(_ name: String) -> String? { message[name] }
    }

    public typealias Script = @Sendable (Request) -> UpstreamAnswer

    public var port: UInt16 { listener.port }
    private let record: UpstreamRecord
    private let listener: LoopbackListener

    /// Listens on a free port of 127.0.0.1, or on `port` where a test brings an upstream back.
    public init(port: UInt16 = 0, _ script: @escaping Script = { _ in .response() }) throws {
        let record = UpstreamRecord(script)
        self.record = record
        listener = try LoopbackListener(port: port) { socket in
            let index = record.add(socket)
            Thread.detachNewThread { record.serve(socket, index: index) }
        }
    }

    deinit { stop() }

    /// Takes no more connections and ends those that are open.
    public func stop() {
        if record.stop() { listener.stop() }
    }

    /// Answers by another script from now on.
    public func answer(_ script: @escaping Script) { record.use(script) }

    /// Every whole request so far.
    public var requests: [Request] { record.requests }
    public var connectionCount: Int { record.connectionCount }

    /// Waits until `count` requests have come whole.
    @discardableResult
    public func waitForRequests(_ count: Int) throws -> [Request] {
        try record.wait { $0.requests.count >= count }
        return requests
    }

    /// Every byte that came on a connection.
    public func bytes(onConnection index: Int) -> [UInt8] { record.bytes(onConnection: index) }

    /// Waits until what came on a connection is as `isTrue` says.
    public func waitForBytes(
        onConnection index: Int, until isTrue: ([UInt8]) -> Bool
    ) throws {
        try record.wait { $0.bytes.count > index && isTrue($0.bytes[index]) }
    }

    /// Waits until the gateway has closed a connection.
    public func waitForClose(ofConnection index: Int) throws {
        try record.wait { $0.closedConnections.contains(index) }
    }
}
