import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

/// A real Redis behind the gateways of a history: each command is passed on, and its reply passed
/// back, before anything else happens, and its clock stands still, so that the same seed takes the
/// same way each time.
final class RelayedRedis {
    /// Where a call of the counter script is cut off from its gateway.
    enum Cut: String {
        /// It has not reached the server.
        case command
        /// The server has run it.
        case answer
    }

    let server: RedisServer
    private let clock: StandingClock
    private var connections: [RelayedConnection] = []
    /// Whether connections end, and no other is made.
    private(set) var isAway = false
    /// What happens to the next call of the counter script, once.
    var cut: Cut?

    /// The server's clock starts at `milliseconds`.
    init(_ clock: StandingClock, at milliseconds: Int64) throws {
        self.clock = clock
        try clock.set(milliseconds)
        server = try RedisServer(["--enable-debug-command", "yes"], launcher: clock.launcher)
        try countUp()
    }

    func set(_ milliseconds: Int64) throws { try clock.set(milliseconds) }

    /// So many commands that a reset of the count shows for the rest of the history.
    private func countUp() throws {
        try ask("EVAL", "for i = 1, 5000 do redis.call('PING') end", "0")
    }

    // MARK: gateways

    /// Takes a connection of the gateway with this number.
    func take(_ descriptor: Int32, from gateway: Int) throws {
        guard !isAway else {
            Socket.shutdownWrite(descriptor)
            return Socket.close(descriptor)
        }
        let server = try RawSocket(port: server.port)
        connections.append(RelayedConnection(descriptor, of: gateway, to: server))
    }

    /// Passes on what the gateway has sent. False if there was nothing.
    func pass(_ gateway: Int) throws -> Bool {
        var isPassed = false
        for connection in connections where connection.gateway == gateway {
            if try connection.pass(cut: &cut) { isPassed = true }
        }
        connections.removeAll { !$0.isOpen }
        return isPassed
    }

    func setAway(_ isAway: Bool) {
        self.isAway = isAway
        if isAway { loseConnections() }
    }

    private func loseConnections() {
        for connection in connections { connection.close() }
        connections = []
    }

    // MARK: what happens to the server

    @discardableResult
    func ask(_ words: String...) throws -> RedisReply {
        let socket = try RawSocket(port: server.port)
        var command = "*\(words.count)\r\n"
        for word in words { command += "$\(word.utf8.count)\r\n\(word)\r\n" }
        try socket.send(command)
        var reader = RedisReplyReader(byteCountMax: 1 << 20)
        return try nextReply(of: socket, &reader).reply
    }

    /// What `INFO` says of `name`.
    private func information(_ name: String) throws -> Int {
        guard case .bulk(let bytes) = try ask("INFO", "everything") else { return 0 }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
        let line = lines.first { $0.hasPrefix(name + ":") }
        return try #require(line.flatMap { Int($0.split(separator: ":")[1]) })
    }

    /// Keys that the last dump brought.
    var loadedCount: Int { get throws { try information("rdb_last_load_keys_loaded") } }

    /// Starts the server anew, with what a dump held or with nothing.
    func restart(from dump: [UInt8]?) throws {
        if let dump { try server.restart(from: dump) } else { try server.restartEmpty() }
        try countUp()
        loseConnections()
    }

    /// Has the server throw away all that has an end, which is all but the record of its
    /// incarnation. Returns how many keys it has thrown away by now.
    func evict() throws -> Int {
        try ask("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
        try ask("CONFIG", "SET", "maxmemory", "1")
        // Every command throws some away.
        while case .bulk(let bytes) = try ask("INFO", "keyspace"),
            case let text = String(decoding: bytes, as: UTF8.self),
            text.contains("expires="), !text.contains("expires=0,")
        {}
        try ask("CONFIG", "SET", "maxmemory", "0")
        try ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        return try information("evicted_keys")
    }

    /// Writes over the state of a device. False if there is none.
    func damage(_ keyID: KeyID) throws -> Bool {
        let name = "sallyport:{\(Base64.encodeURL(keyID.digest.array))}:counter"
        return try ask("SET", name, "anything", "XX", "KEEPTTL") == .simpleString("OK")
    }

    func mark(_ keyID: KeyID) throws {
        let connection = RedisConfiguration(endpoint: .unix(path: server.socketPath))
        try RedisRevocations.mark(
            [keyID], configuration: RedisCounterConfiguration(connection: connection))
    }

    func unmark(_ keyID: KeyID) throws {
        try ask("DEL", "sallyport:{\(Base64.encodeURL(keyID.digest.array))}:revoked")
    }
}

/// The server's end of a gateway's connection, and the connection to the server behind it.
private final class RelayedConnection {
    let gateway: Int
    private(set) var isOpen = true
    private let descriptor: Int32
    private let server: RawSocket
    private var reader = RedisReplyReader(byteCountMax: 1 << 20)
    private var received: [UInt8] = []

    init(_ descriptor: Int32, of gateway: Int, to server: RawSocket) {
        self.descriptor = descriptor
        self.gateway = gateway
        self.server = server
    }

    deinit { close() }

    func close() {
        guard isOpen else { return }
        isOpen = false
        // A process that another test is just starting holds a copy of the descriptor for a while.
        Socket.shutdownWrite(descriptor)
        Socket.close(descriptor)
        server.close()
    }

    func pass(cut: inout RelayedRedis.Cut?) throws -> Bool {
        receive()
        var isPassed = false
        while isOpen, let command = takeCommand() {
            isPassed = true
            let isCall = command.starts(with: Self.callStart)
            if isCall, cut == .command {
                cut = nil
                close()
                break
            }
            try server.send(command)
            let answer = try nextReply(of: server, &reader).bytes
            // A server that forgot the script has not run it: the gateway gives it again.
            if isCall, cut == .answer, !answer.starts(with: Self.scriptIsUnknown) {
                cut = nil
                close()
                break
            }
            if case .failed = Socket.write(descriptor, answer.span) { close() }
        }
        return isPassed
    }

    /// How a call of the counter script begins: an array of nineteen words.
    private static let callStart = Array("*19\r\n$7\r\nEVALSHA".utf8)
    private static let scriptIsUnknown = Array("-NOSCRIPT".utf8)

    private func receive() {
        var chunk = ByteBuffer()
        while true {
            switch Socket.read(descriptor, into: &chunk, atMost: 1 << 16) {
            case .bytes: continue
            case .wouldBlock:
                received += chunk.readable.array
                return
            case .endOfFile, .failed:
                return close()
            }
        }
    }

    /// The bytes of the first command, nil where it is not whole yet.
    private func takeCommand() -> [UInt8]? {
        var index = 0
        func line() -> Int? {
            guard let end = received[index...].firstIndex(of: 0x0D), end + 1 < received.count
            else { return nil }
            defer { index = end + 2 }
            return Int(String(decoding: received[index + 1..<end], as: UTF8.self))
        }
        guard let count = line() else { return nil }
        for _ in 0..<count {
            guard let byteCount = line(), index + byteCount + 2 <= received.count else {
                return nil
            }
            index += byteCount + 2
        }
        defer { received.removeFirst(index) }
        return Array(received[..<index])
    }
}

/// Waits for a reply.
private func nextReply(
    of socket: RawSocket, _ reader: inout RedisReplyReader
) throws -> (reply: RedisReply, bytes: [UInt8]) {
    var bytes: [UInt8] = []
    while true {
        let chunk = try socket.receive()
        try #require(!chunk.isEmpty, "the server has closed a connection")
        bytes += chunk
        try reader.feed(chunk.span)
        if let reply = try reader.next() { return (reply, bytes) }
    }
}
