public import Bytes
public import HTTP

/// A request that a proxy describes in a message and asks about.
public struct AskedRequest: Equatable, Sendable {
    public struct Field: Equatable, Sendable {
        public let name: [UInt8]
        public let value: [UInt8]

        public init(name: [UInt8], value: [UInt8]) {
            self.name = name
            self.value = value
        }
    }

    /// The part of its body that the question shows.
    public enum Body: Equatable, Sendable {
        /// There is no body, or all of it comes with the question.
        case shown
        /// There is a body, or may be, and none or only a part of it comes.
        case hidden
        /// The body is hidden, and the asking proxy has hashed it.
        case hashed(Bytes32)
    }

    public var method: [UInt8]
    public var target: [UInt8]
    public var host: [UInt8]
    public var fields: [Field] = []
    /// The client's address as the asking proxy knows it, of 4 bytes or 16. Nil leaves that to the
    /// fields and the peer.
    public var client: [UInt8]?
    public var body = Body.shown

    public init(method: [UInt8], target: [UInt8], host: [UInt8]) {
        self.method = method
        self.target = target
        self.host = host
    }

    /// The target of a CONNECT, which names a host and no path. Nil for every other method.
    static func target(ofTunnel method: [UInt8], to host: [UInt8]) -> [UInt8]? {
        method == Array("CONNECT".utf8) ? host : nil
    }

    /// The head in HTTP/1.1's form, for the parser that judges every request, and the number of its
    /// fields. Nil if a part of it could be read as more than that part: as several lines, or as
    /// several words of the first line.
    public func head(version: HTTPVersion) -> (text: [UInt8], fieldCount: Int)? {
        guard Self.isWord(method), Self.isWord(target), Self.isWord(host) else { return nil }
        var fieldCount = 1
        var text = ByteBuffer(capacity: 512)
        text.append(method)
        text.append(" ")
        text.append(target)
        text.append(version == .http10 ? " HTTP/1.0\r\nHost: " : " HTTP/1.1\r\nHost: ")
        text.append(host)
        text.append("\r\n")
        for field in fields {
            guard Self.isName(field.name), Self.isValue(field.value) else { return nil }
            if Self.isOfConnection(field.name) { continue }
            text.append(field.name)
            text.append(": ")
            text.append(field.value)
            text.append("\r\n")
            fieldCount += 1
        }
        text.append("\r\n")
        return (text.readable.array, fieldCount)
    }

    /// True if there is a body, or may be one: HTTP/2 needs no length, so without one only the
    /// method tells. Nil if the fields contradict themselves.
    public var mayHaveBody: Bool? {
        guard let (length, isChunked) = announcement else { return nil }
        if isChunked { return true }
        return length.map { $0 > 0 } ?? !Self.bodilessMethods.contains(method)
    }

    /// True if the fields announce a body of another length than `byteCount`. Nil if they
    /// contradict themselves.
    public func announcesOther(than byteCount: Int) -> Bool? {
        announcement.map { $0.length.map { $0 != UInt64(byteCount) } ?? false }
    }

    /// The body that the fields announce. Nil if they contradict themselves.
    private var announcement: (length: UInt64?, isChunked: Bool)? {
        var announced: UInt64?
        var isChunked = false
        for field in fields {
            let name = field.name.span
            if ASCII.equalsIgnoringCase(name, lowercase: Self.transferEncoding) {
                isChunked = true
            }
            guard ASCII.equalsIgnoringCase(name, lowercase: Self.contentLength) else { continue }
            guard let length = ASCII.decimal(field.value.span), announced ?? length == length
            else { return nil }
            announced = length
        }
        return (announced, isChunked)
    }

    private static let bodilessMethods = ["GET", "HEAD", "OPTIONS"].map { Array($0.utf8) }

    /// True if the field is about the connection to the asking proxy, or about framing. Such a
    /// field is no part of the question.
    private static func isOfConnection(_ name: [UInt8]) -> Bool {
        connectionFields.contains(ASCII.lowercased(name.span))
    }

    private static let transferEncoding = Array("transfer-encoding".utf8)
    private static let contentLength = Array("content-length".utf8)
    private static let connectionFields = Set(
        [
            "host", "connection", "expect", "keep-alive", "te", "trailer", "upgrade",
            "proxy-connection", "http2-settings", "content-length", "transfer-encoding",
        ].map { Array($0.utf8) })

    private static func isWord(_ text: [UInt8]) -> Bool {
        !text.isEmpty && text.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    private static func isName(_ name: [UInt8]) -> Bool {
        isWord(name) && !name.contains(UInt8(ascii: ":"))
    }

    private static func isValue(_ value: [UInt8]) -> Bool {
        value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

/// The fault of a message that asks, in words for the developer who wrote it.
public struct QuestionFault: Error {
    public let explanation: StaticString

    public init(_ explanation: StaticString) { self.explanation = explanation }
}
