import Foundation

/// A server on 127.0.0.1 that speaks Redis' protocol and answers each command as a test says:
/// rightly, wrongly, in halves, or not at all.
public final class ScriptedRedisServer: Sendable {
    public enum Answer: Sendable {
        case bytes(String)
        /// The bytes, and then the end of the connection.
        case last(String)
        case nothing
    }

    public let port: UInt16
    private let listener: Int32

    /// `answer` gets the words of a command and the number of its connection, from 0; it is called
    /// on a thread of the connection's own.
    public init(answer: @escaping @Sendable ([String], Int) -> Answer) throws {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var byteCount = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(socket, address, byteCount) == 0 else { return Int32(-1) }
                return getsockname(socket, address, &byteCount)
            }
        }
        guard status == 0, listen(socket, 16) == 0 else {
            throw ChildProcessError(description: "no scripted server: errno \(errno)")
        }
        listener = socket
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            var count = 0
            while true {
                let connection = accept(socket, nil, nil)
                if connection < 0 { break }
                let index = count
                count += 1
                Thread.detachNewThread { Self.serve(connection) { answer($0, index) } }
            }
            close(socket)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func serve(_ connection: Int32, answer: ([String]) -> Answer) {
        defer { close(connection) }
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(connection, &chunk, chunk.count)
            guard count > 0 else { return }
            received += chunk[0..<count]
            while let words = takeCommand(&received) {
                switch answer(words) {
                case .bytes(let text): send(text, on: connection)
                case .last(let text):
                    send(text, on: connection)
                    return
                case .nothing: break
                }
            }
        }
    }

    private static func send(_ text: String, on connection: Int32) {
        let bytes = Array(text.utf8)
        _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// One array of bulk strings off the front, nil where it is not whole yet.
    private static func takeCommand(_ received: inout [UInt8]) -> [String]? {
        var index = 0
        func line() -> String? {
            guard let end = received[index...].firstIndex(of: 0x0D), end + 1 < received.count
            else { return nil }
            defer { index = end + 2 }
            return String(decoding: received[index..<end], as: UTF8.self)
        }
        guard let head = line(), let count = Int(head.dropFirst()) else { return nil }
        var words: [String] = []
        for _ in 0..<count {
            guard let head = line(), let byteCount = Int(head.dropFirst()),
                index + byteCount + 2 <= received.count
            else { return nil }
            words.append(String(decoding: received[index..<index + byteCount], as: UTF8.self))
            index += byteCount + 2
        }
        received.removeFirst(index)
        return words
    }
}
