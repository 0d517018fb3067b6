import EventLoop
import Foundation
import Testing

/// A port of 127.0.0.1 at which connections neither succeed nor fail: its backlog is full, and the
/// kernel lets further ones wait.
final class FullListener {
    let port: UInt16
    private var descriptors: [Int32]

    init() throws {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listener = try Socket.listen(on: address, backlog: 0)
        descriptors = [listener]
        let bound = try #require(Socket.localAddress(listener))
        port = try #require(bound.port)
        for _ in 0..<16 {
            guard case .inProgress(let descriptor) = Socket.connect(to: bound) else { continue }
            descriptors.append(descriptor)
            var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            if poll(&event, 1, 100) == 0 { return }
        }
        Issue.record("the backlog takes every connection")
    }

    deinit {
        for descriptor in descriptors { Socket.close(descriptor) }
    }
}
