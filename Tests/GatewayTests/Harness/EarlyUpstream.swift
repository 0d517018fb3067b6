import EventLoop
import Foundation
import Testing

import class EventLoop.Thread

/// An upstream that answers 413 as soon as a head begins, reads no body and keeps its end open.
final class EarlyUpstream {
    let port: UInt16
    private let listener: Int32
    private let accepted = Locked<[Int32]>([])
    private let thread: Thread

    init() throws {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listener = try Socket.listen(on: address)
        port = try #require(Socket.localAddress(listener)?.port)
        self.listener = listener
        let accepted = accepted
        _ = fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) & ~O_NONBLOCK)
        thread = try Thread.spawn(name: "early") {
            while case .accepted(let descriptor, _) = Socket.accept(listener) {
                accepted.withLock { $0.append(descriptor) }
                var byte: UInt8 = 0
                var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&event, 1, 30_000)
                _ = recv(descriptor, &byte, 1, 0)
                let answer = "HTTP/1.1 413 Large\r\nContent-Length: 2\r\n\r\nno"
                _ = Socket.write(descriptor, Array(answer.utf8).span)
            }
        }
    }

    var connectionCount: Int { accepted.withLock { $0.count } }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        thread.join()
        for descriptor in accepted.withLock({ $0 }) { Socket.close(descriptor) }
        Socket.close(listener)
    }
}
