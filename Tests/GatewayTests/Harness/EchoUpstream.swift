import EventLoop
import Foundation
import GatewayTesting
import Testing

import class EventLoop.Thread

/// An upstream that agrees to every upgrade, then sends back what it gets until the other side
/// ends, and `bye` after that; or says `bye` first, and hears the rest.
final class EchoUpstream {
    let port: UInt16
    private let listener: Int32
    private let heads = Locked<[String]>([])
    private let rest = Locked<[UInt8]>([])
    private let hasHeardAll = Gate()
    private let acceptor: Thread

    init(answer: String = EchoUpstream.agreement, endsFirst: Bool = false) throws {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listener = try Socket.listen(on: address)
        port = try #require(Socket.localAddress(listener)?.port)
        self.listener = listener
        let (heads, rest, hasHeardAll) = (heads, rest, hasHeardAll)
        _ = fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) & ~O_NONBLOCK)
        acceptor = try Thread.spawn(name: "echo") {
            while case .accepted(let descriptor, _) = Socket.accept(listener) {
                _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
                _ = try? Thread.spawn(name: "echo") {
                    guard Self.agree(descriptor, answer, heads) else { return }
                    guard endsFirst else { return Self.echo(descriptor) }
                    Self.sendAll(descriptor, Array("bye".utf8))
                    shutdown(descriptor, Int32(SHUT_WR))
                    let bytes = Self.receiveAll(descriptor)
                    Socket.close(descriptor)
                    rest.withLock { $0 = bytes }
                    hasHeardAll.open()
                }
            }
        }
    }

    static let agreement =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n"
        + "Sec-WebSocket-Accept: x\r\n\r\n"

    private static func agree(
        _ descriptor: Int32, _ answer: String, _ heads: Locked<[String]>
    ) -> Bool {
        var received: [UInt8] = []
        var byte: UInt8 = 0
        while !received.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard recv(descriptor, &byte, 1, 0) == 1 else {
                Socket.close(descriptor)
                return false
            }
            received.append(byte)
        }
        let head = String(decoding: received, as: UTF8.self)
        heads.withLock { $0.append(head) }
        sendAll(descriptor, Array(answer.utf8))
        return true
    }

    private static func receiveAll(_ descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &block, block.count, 0)
            guard count > 0 else { return bytes }
            bytes += block[..<count]
        }
    }

    private static func echo(_ descriptor: Int32) {
        var block = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(descriptor, &block, block.count, 0)
            guard count > 0 else { break }
            sendAll(descriptor, Array(block[..<count]))
        }
        sendAll(descriptor, Array("bye".utf8))
        Socket.close(descriptor)
    }

    private static func sendAll(_ descriptor: Int32, _ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(
                    descriptor, $0.baseAddress.map { $0 + start }, bytes.count - start,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            start += count
        }
    }

    /// What came after `bye`, once the other side has ended too.
    func waitForRest() -> [UInt8] {
        hasHeardAll.wait()
        return rest.withLock { $0 }
    }

    /// The heads of the requests so far.
    var requestHeads: [String] { heads.withLock { $0 } }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        acceptor.join()
        Socket.close(listener)
    }
}
