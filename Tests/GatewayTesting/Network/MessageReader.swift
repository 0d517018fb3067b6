/// Takes messages off a connection and keeps every byte that came.
final class MessageReader {
    let socket: RawSocket
    /// Called with each run of bytes as it comes.
    private let onBytes: ([UInt8]) -> Void
    private var buffer: [UInt8] = []
    private var start = 0
    /// Whether the peer has closed; what came before that may still be unread.
    private(set) var isAtEnd = false

    init(_ socket: RawSocket, onBytes: @escaping ([UInt8]) -> Void = { _ in }) {
        self.socket = socket
        self.onBytes = onBytes
    }

    /// Bytes that came after the last message read.
    var unread: ArraySlice<UInt8> { buffer[start...] }

    /// False once the peer has closed.
    private func fill() throws -> Bool {
        if start > 64 * 1024 {
            buffer.removeFirst(start)
            start = 0
        }
        let bytes = try socket.receive()
        onBytes(bytes)
        buffer += bytes
        isAtEnd = bytes.isEmpty
        return !isAtEnd
    }

    /// Nil where the peer closed between messages.
    func readHead() throws -> HTTPMessage? {
        var searched = start
        while true {
            if let end = Self.headEnd(in: buffer, from: max(start, searched - 3)) {
                let head = Array(buffer[start..<end])
                start = end
                return Self.parse(head)
            }
            searched = buffer.count
            let offset = searched - start
            guard try fill() else {
                if start == buffer.count { return nil }
                throw RawSocketError("the peer closed inside a head: \(Self.quote(unread))")
            }
            searched = start + offset
        }
    }

    func readBody(_ framing: HTTPMessage.Framing, into message: inout HTTPMessage) throws {
        switch framing {
        case .none: break
        case .length(let count): message.body = try read(count)
        case .untilClose: message.body = try readToEnd()
        case .chunked:
            while true {
                let line = try readLine()
                guard let count = Int(line.prefix { $0.isHexDigit }, radix: 16) else {
                    throw RawSocketError("not a chunk's size: \(line)")
                }
                if count == 0 { break }
                message.body += try read(count)
                guard try readLine().isEmpty else { throw RawSocketError("a chunk is too long") }
            }
            while let field = Self.field(try readLine()) { message.trailers.append(field) }
        }
    }

    func read(_ count: Int) throws -> [UInt8] {
        while buffer.count - start < count {
            guard try fill() else {
                throw RawSocketError(
                    "the peer closed after \(buffer.count - start) of \(count) bytes")
            }
        }
        defer { start += count }
        return Array(buffer[start..<start + count])
    }

    /// Reads and forgets; for content that no test wants in memory.
    func discard(_ count: Int) throws {
        var rest = count - min(count, buffer.count - start)
        start += count - rest
        while rest > 0 {
            let bytes = try socket.receive(atMost: min(rest, 256 * 1024))
            guard !bytes.isEmpty else { throw RawSocketError("the peer closed, \(rest) short") }
            rest -= bytes.count
        }
    }

    func readToEnd() throws -> [UInt8] {
        while try fill() {}
        defer { start = buffer.count }
        return Array(unread)
    }

    private func readLine() throws -> String {
        while true {
            if let feed = buffer[start...].firstIndex(of: 0x0A) {
                var line = buffer[start..<feed]
                if line.last == 0x0D { line.removeLast() }
                start = feed + 1
                return String(decoding: line, as: UTF8.self)
            }
            guard try fill() else { throw RawSocketError("the peer closed inside a line") }
        }
    }

    /// The index after the first empty line.
    private static func headEnd(in bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        while index + 4 <= bytes.count {
            // Most bytes are no line feed, so that only each fourth one is looked at.
            switch bytes[index + 3] {
            case 0x0A where bytes[index..<index + 3].elementsEqual([0x0D, 0x0A, 0x0D]):
                return index + 4
            case 0x0A: index += 2
            case 0x0D: index += 1
            default: index += 4
            }
        }
        return nil
    }

    static func parse(_ head: [UInt8]) -> HTTPMessage {
        // A character of its own in Swift, CR LF cannot be split upon as text.
        let lines = head.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
        return HTTPMessage(
            startLine: lines.first ?? "", fields: lines.dropFirst().compactMap { field($0) },
            headBytes: head)
    }

    private static func field(_ line: String) -> HTTPMessage.Field? {
        guard let colon = line.firstIndex(of: ":") else { return nil }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        return HTTPMessage.Field(name: String(line[..<colon]), value: String(value))
    }

    private static func quote(_ bytes: ArraySlice<UInt8>) -> String {
        String(reflecting: String(decoding: bytes.prefix(200), as: UTF8.self))
    }
}
