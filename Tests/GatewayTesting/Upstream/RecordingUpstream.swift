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

    public let port: UInt16
    private let record: UpstreamRecord
    private let listener: Int32

    /// Listens on a free port of 127.0.0.1, or on `port` where a test brings an upstream back.
    public init(port: UInt16 = 0, _ script: @escaping Script = { _ in .response() }) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard listener >= 0 else { throw RawSocketError.system("socket") }
        var one: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(4))
        let descriptor = listener
        let bound = RawSocket.withLoopback(port: port) { bind(descriptor, $0, $1) }
        guard bound == 0, listen(listener, 128) == 0 else {
            let error = RawSocketError.system("listen on port \(port)")
            close(listener)
            throw error
        }
        self.port = Self.boundPort(of: listener)
        record = UpstreamRecord(script)
        let record = record
        Thread.detachNewThread {
            while true {
                let accepted = accept(descriptor, nil, nil)
                if accepted < 0, errno == EINTR || errno == ECONNABORTED { continue }
                guard accepted >= 0 else { break }
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                let socket = RawSocket(adopting: accepted)
                let index = record.add(socket)
                Thread.detachNewThread { record.serve(socket, index: index) }
            }
            close(descriptor)
        }
    }

    deinit { stop() }

    private static func boundPort(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &size)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Takes no more connections and ends those that are open.
    public func stop() {
        guard record.stop() else { return }
        shutdown(listener, Int32(SHUT_RDWR))
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

    /// Waits until the gateway has closed a connection.
    public func waitForClose(ofConnection index: Int) throws {
        try record.wait { $0.closedConnections.contains(index) }
    }
}
