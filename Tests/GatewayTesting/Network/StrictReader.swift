/// Reads recorded bytes by the letter of RFC 9112, and throws wherever a reader would have to
/// guess: what it takes, every server and client reads alike.
public struct StrictReader {
    private let bytes: [UInt8]
    private var position = 0

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public var isAtEnd: Bool { position == bytes.count }

    /// The next request: one Host, one line for the length, no transfer coding.
    public mutating func request() throws -> HTTPMessage {
        var message = try head()
        let words = message.startLine.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1", words.allSatisfy({ !$0.isEmpty }) else {
            throw RawSocketError("not a request line: \(message.startLine.debugDescription)")
        }
        guard message.values(of: "Host").count == 1 else {
            throw RawSocketError("not one Host: \(message.fields)")
        }
        guard message["Transfer-Encoding"] == nil else {
            throw RawSocketError("a coding where the length is known: \(message.fields)")
        }
        message.body = try take(try length(of: message) ?? 0)
        return message
    }

    /// The next answer, be it interim.
    public mutating func answer(toHEAD: Bool = false) throws -> HTTPMessage {
        var message = try head()
        guard message.startLine.hasPrefix("HTTP/1.1 "), (100...999).contains(message.status) else {
            throw RawSocketError("not a status line: \(message.startLine.debugDescription)")
        }
        let length = try length(of: message)
        let codings = message.values(of: "Transfer-Encoding")
        guard codings.isEmpty || (codings == ["chunked"] && length == nil) else {
            throw RawSocketError("two framings: \(message.fields)")
        }
        if toHEAD || message.isInterim || message.status == 204 || message.status == 304 {
            return message
        }
        if !codings.isEmpty {
            message.body = try chunks()
        } else {
            message.body = try take(length ?? bytes.count - position)
        }
        return message
    }

    private func length(of message: HTTPMessage) throws -> Int? {
        let lengths = message.values(of: "Content-Length")
        guard let text = lengths.first else { return nil }
        guard lengths.count == 1, let length = Int(text), String(length) == text else {
            throw RawSocketError("not one length: \(lengths)")
        }
        return length
    }

    private mutating func head() throws -> HTTPMessage {
        let start = position
        while !(try line().isEmpty) {}
        let head = Array(bytes[start..<position])
        let lines = head.split(separator: 0x0A).dropFirst().dropLast()
        for line in lines {
            guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex,
                line[..<colon].allSatisfy(Self.isTokenByte)
            else { throw RawSocketError("not a field: \(Self.quote(line))") }
        }
        return MessageReader.parse(head)
    }

    /// A line without its CRLF; it holds no other control byte than HTAB.
    private mutating func line() throws -> ArraySlice<UInt8> {
        let rest = bytes[position...]
        guard let feed = rest.firstIndex(of: 0x0A) else {
            throw RawSocketError("no line ends in \(Self.quote(rest))")
        }
        let line = rest[..<feed]
        position = feed + 1
        guard line.last == 0x0D,
            line.dropLast().allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) })
        else { throw RawSocketError("not a line: \(Self.quote(line))") }
        return line.dropLast()
    }

    private mutating func chunks() throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let text = String(decoding: try line(), as: UTF8.self)
            guard let count = Int(text, radix: 16), String(count, radix: 16) == text else {
                throw RawSocketError("not a chunk's size: \(text)")
            }
            body += try take(count)
            guard try line().isEmpty else { throw RawSocketError("a chunk does not end") }
            if count == 0 { return body }
        }
    }

    private mutating func take(_ count: Int) throws -> [UInt8] {
        guard bytes.count - position >= count else {
            throw RawSocketError("\(bytes.count - position) of \(count) bytes")
        }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static func quote(_ bytes: ArraySlice<UInt8>) -> String {
        String(reflecting: String(decoding: bytes.prefix(200), as: UTF8.self))
    }
}
