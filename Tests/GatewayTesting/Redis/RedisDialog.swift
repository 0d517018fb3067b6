import Bytes
import Foundation
public import Redis

/// A connection to a Redis server on which one command after another is answered. redis-cli would
/// do the same, but takes ten milliseconds of processor time to start.
public final class RedisDialog {
    private let socket: RawSocket
    private var reader = RedisReplyReader(byteCountMax: 1 << 28)

    /// Connects to a Unix socket, and logs in where there is a password. A login that is refused
    /// shows in the answers, as it does in redis-cli.
    public init(_ path: String, password: String? = nil) throws {
        socket = try RawSocket(path: path)
        if let password { _ = try ask(["AUTH", password]) }
    }

    /// Returns the answer as redis-cli prints it where there is no terminal, without line feeds at
    /// either end.
    public func ask(_ words: [String]) throws -> String {
        var command = RedisCommand()
        for word in words { command.append(word) }
        return try ask(command).printed.trimmingCharacters(in: .newlines)
    }

    public func ask(_ command: RedisCommand) throws -> RedisReply {
        var output = ByteBuffer()
        command.write(to: &output)
        try socket.send(output.readable.array)
        while true {
            if let reply = try reader.next() { return reply }
            let bytes = try socket.receive()
            guard !bytes.isEmpty else { throw RawSocketError("Redis closed the connection") }
            try reader.feed(bytes.span)
        }
    }
}

extension RedisReply {
    fileprivate var printed: String {
        switch self {
        case .simpleString(let text), .error(let text): text
        case .integer(let number): "\(number)"
        case .bulk(let bytes): String(decoding: bytes, as: UTF8.self)
        case .array(let parts): parts.map(\.printed).joined(separator: "\n")
        case .null: ""
        }
    }
}
