import Foundation

/// A listening port of 127.0.0.1 with a thread for each connection.
public final class LoopbackListener: Sendable {
    public let port: UInt16
    private let descriptor: Int32

    /// On a free port where `port` is 0. `serve` owns the socket that it gets.
    public init(port: UInt16 = 0, serve: @escaping @Sendable (RawSocket) -> Void) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw RawSocketError.system("socket") }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(4))
        let listening = descriptor
        let bound = RawSocket.withLoopback(port: port) { bind(listening, $0, $1) }
        guard bound == 0, listen(listening, 128) == 0 else {
            let error = RawSocketError.system("listen on port \(port)")
            close(listening)
            throw error
        }
        self.port = Self.boundPort(of: listening)
        Thread.detachNewThread {
            while true {
                let accepted = accept(listening, nil, nil)
                if accepted < 0, errno == EINTR || errno == ECONNABORTED { continue }
                guard accepted >= 0 else { break }
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                serve(RawSocket(adopting: accepted))
            }
            close(listening)
        }
    }

    /// Takes no more connections. To be called once.
    public func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

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
}
