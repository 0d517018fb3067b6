import CFork
import EventLoop
import Glibc

/// A server in a process of its own, which ends when this one has.
struct LocalServer {
    let port: UInt16

    /// Serves one connection after the other: `serve` gets each, and the connection ends with it.
    init(_ serve: (Int32) -> Void) throws {
        guard let address = SocketAddress.numeric(host: "127.0.0.1", port: 0) else {
            throw IOError("numeric", errno: EINVAL)
        }
        let listener = try Socket.listen(on: address)
        port = Socket.localAddress(listener)?.port ?? 0
        // Nobody writes: the end that is read tells when the last of those that could is gone.
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw IOError("pipe", errno: errno) }
        if sallyport_fork() == 0 {
            close(ends[1])
            Self.run(listener, until: ends[0], serve)
            _exit(0)
        }
        close(ends[0])
        close(listener)
    }

    private static func run(_ listener: Int32, until end: Int32, _ serve: (Int32) -> Void) {
        while true {
            var waiting = [
                pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
                pollfd(fd: end, events: 0, revents: 0),
            ]
            guard poll(&waiting, 2, -1) > 0 else { continue }
            if waiting[1].revents != 0 { return }
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { continue }
            serve(connection)
            close(connection)
        }
    }

    /// The next bytes; none at the end.
    static func read(_ connection: Int32) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(connection, &buffer, buffer.count)
        return Array(buffer.prefix(max(0, count)))
    }

    static func write(_ connection: Int32, _ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            start += count
        }
    }
}
