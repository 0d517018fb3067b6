import Foundation

/// A service manager's end of `NOTIFY_SOCKET`: a datagram socket that a test reads.
public final class NotifyReceiver: Sendable {
    /// What a program is given as `NOTIFY_SOCKET`.
    public let name: String
    private let descriptor: Int32

    /// `name`: a path, or an abstract name after `@`.
    public init(_ name: String) throws {
        self.name = name
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        var bytes = Array(name.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let byteCount = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        var patience = timeval(tv_sec: ChildProcess.patienceSeconds, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience,
            socklen_t(MemoryLayout<timeval>.size))
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, byteCount)
            }
        }
        guard descriptor >= 0, status == 0 else {
            throw RawSocketError("\(name): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    /// The assignments of the next message; waits for it.
    public func next() throws -> [String] {
        guard let message = receive(flags: 0) else { throw RawSocketError("nothing was notified") }
        return message
    }

    /// Those of a message that is there already.
    public func waiting() -> [String]? { receive(flags: Int32(MSG_DONTWAIT)) }

    /// The next message with this assignment; others are passed over.
    @discardableResult
    public func wait(for assignment: String) throws -> [String] {
        while true {
            let message = try next()
            if message.contains(assignment) { return message }
        }
    }

    private func receive(flags: Int32) -> [String]? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, flags)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n")
            .map(String.init)
    }
}
