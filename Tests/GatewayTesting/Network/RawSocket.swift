import Foundation

/// A peer did not do what a test waits for, or a system call failed.
public struct RawSocketError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }

    static func system(_ call: String) -> RawSocketError {
        RawSocketError("\(call): \(String(cString: strerror(errno)))")
    }
}

/// A blocking TCP connection that sends exactly what it is told and hides nothing.
///
/// Used by one thread at a time; only ``interrupt()`` may come from another.
public final class RawSocket: @unchecked Sendable {
    /// Long enough for a busy machine; no test waits for it to pass.
    static let patienceSeconds = ChildProcess.patienceSeconds

    private let lock = NSLock()
    private var descriptor: Int32
    /// Whether the peer ended the connection with a reset, as far as was read.
    public private(set) var wasReset = false

    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(4))
        var limit = timeval(tv_sec: Self.patienceSeconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    }

    /// Connects to a port of 127.0.0.1. A small `receiveBufferByteCount` makes a client that the
    /// sender soon has to wait for.
    public convenience init(port: UInt16, receiveBufferByteCount: Int32? = nil) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw RawSocketError.system("socket") }
        self.init(adopting: descriptor)
        if var size = receiveBufferByteCount {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(4))
        }
        let status = Self.withLoopback(port: port) { connect(descriptor, $0, $1) }
        guard status == 0 else { throw RawSocketError.system("connect to port \(port)") }
    }

    /// Connects to a Unix socket.
    convenience init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw RawSocketError("\(path): too long for a socket")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw RawSocketError.system("socket") }
        self.init(adopting: descriptor)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw RawSocketError.system("connect to \(path)") }
    }

    deinit { close() }

    static func withLoopback<Result>(
        port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Sends all of `bytes`; throws where the peer has gone.
    public func send(_ bytes: [UInt8]) throws {
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Foundation.send(
                    descriptor, buffer.baseAddress.map { $0 + start }, bytes.count - start,
                    Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw RawSocketError.system("send") }
            start += count
        }
    }

    public func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Reads what there is, at most `limit` bytes; empty once the peer has closed or reset.
    public func receive(atMost limit: Int = 64 * 1024) throws -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: limit)
        while true {
            let count = recv(descriptor, &chunk, limit, 0)
            if count >= 0 { return Array(chunk[..<count]) }
            switch errno {
            case EINTR: continue
            case ECONNRESET:
                wasReset = true
                return []
            case EAGAIN: throw RawSocketError("no byte came for \(Self.patienceSeconds) s")
            default: throw RawSocketError.system("recv")
            }
        }
    }

    /// Sends no more; what the peer sends can still be read.
    public func shutdownSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes with a reset instead of an end.
    public func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &linger,
            socklen_t(MemoryLayout<Foundation.linger>.size))
        close()
    }

    public func close() {
        lock.withLock {
            if descriptor >= 0 { _ = Foundation.close(descriptor) }
            descriptor = -1
        }
    }

    /// Ends both directions, so that a thread that waits on this connection goes on.
    func interrupt() {
        lock.withLock { if descriptor >= 0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }
}
