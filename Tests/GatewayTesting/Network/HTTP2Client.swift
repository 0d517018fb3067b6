/// An HTTP/2 client without manners: it sends the frames it is given, be they valid or not, and
/// reads the server's one by one.
public final class HTTP2Client {
    /// The answer on one stream.
    public struct Answer: Sendable {
        public var interim: [Int] = []
        public var fields: [HTTPMessage.Field] = []
        public var body: [UInt8] = []
        public var trailers: [HTTPMessage.Field] = []
        public var isComplete = false
        /// The code of RST_STREAM.
        public var resetCode: UInt32?

        public subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        public var status: Int { self[":status"].flatMap { Int($0) } ?? 0 }
        public var bodyText: String { String(decoding: body, as: UTF8.self) }
        public var isOver: Bool { isComplete || resetCode != nil }
    }

    public static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    public let socket: RawSocket
    private let reader: MessageReader
    private let compression: HeaderCompression
    private var blockStream: UInt32 = 0
    private var block: [UInt8] = []
    private var blockEndsStream = false
    /// Whether DATA is answered with WINDOW_UPDATE at once.
    public var opensWindows = true
    /// Whether PING is answered.
    public var answersPings = true
    public private(set) var answers: [UInt32: Answer] = [:]
    /// Last stream and code of each GOAWAY.
    public private(set) var goAways: [(lastStream: UInt32, code: UInt32)] = []
    public private(set) var serverSettings: [UInt16: UInt32] = [:]
    public private(set) var pingAnswerCount = 0
    private var grants: [UInt32: Int] = [:]

    /// What WINDOW_UPDATE has added to the window of a stream.
    public func grantedByteCount(_ stream: UInt32) -> Int { grants[stream] ?? 0 }

    /// Connects to a port of 127.0.0.1; with `settings` sends preface and SETTINGS, and reads and
    /// acknowledges the server's.
    public init(
        port: UInt16, settings: [(UInt16, UInt32)]? = [], receiveBufferByteCount: Int32? = nil
    ) throws {
        socket = try RawSocket(port: port, receiveBufferByteCount: receiveBufferByteCount)
        reader = MessageReader(socket)
        compression = try HeaderCompression()
        guard let settings else { return }
        try socket.send(Self.preface + HTTP2Frame.settings(settings).bytes)
        try receive { !$0.serverSettings.isEmpty }
    }

    // MARK: sending

    public func send(_ frames: HTTP2Frame...) throws { try send(frames) }

    public func send(_ frames: [HTTP2Frame]) throws {
        try socket.send(frames.flatMap(\.bytes))
    }

    /// As ``send(_:)``, in frames of the size that every server takes.
    private func send(split frame: HTTP2Frame) throws {
        guard frame.payload.count > 16_384 else { return try send(frame) }
        var first = frame
        first.flags &= ~HTTP2Frame.endHeaders
        first.payload = Array(frame.payload[..<16_384])
        try send(first)
        var offset = 16_384
        while offset < frame.payload.count {
            let end = min(frame.payload.count, offset + 16_384)
            let flags = end == frame.payload.count ? HTTP2Frame.endHeaders : 0
            let payload = Array(frame.payload[offset..<end])
            try send(
                HTTP2Frame(.continuation, flags: flags, stream: frame.stream, payload: payload))
            offset = end
        }
    }

    /// What every request needs.
    public static func head(
        _ method: String = "GET", _ path: String = "/", _ fields: [(String, String)] = []
    ) -> [(String, String)] {
        [(":method", method), (":scheme", "http"), (":authority", "api.example"), (":path", path)]
            + fields
    }

    /// Sends a request with its whole body.
    public func request(
        _ stream: UInt32, _ method: String = "GET", _ path: String = "/",
        fields: [(String, String)] = [], body: [UInt8]? = nil
    ) throws {
        let head = Self.head(method, path, fields)
        try send(split: .headers(stream, head, endStream: body == nil))
        if let body { try send(.data(stream, body)) }
    }

    // MARK: receiving

    /// The next frame, with what it means noted; nil once the server has closed.
    public func receive() throws -> HTTP2Frame? {
        let head: [UInt8]
        do {
            head = try reader.read(9)
        } catch {
            guard reader.isAtEnd, reader.unread.isEmpty else { throw error }
            return nil
        }
        let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        var frame = HTTP2Frame(type: head[3], flags: head[4])
        frame.stream = head[5..<9].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        frame.payload = try reader.read(count)
        try note(frame)
        return frame
    }

    /// Reads frames until what has come is as `isTrue` says; throws where the server closes first,
    /// or is silent for longer than a test waits.
    public func receive(until isTrue: (HTTP2Client) throws -> Bool) throws {
        while try !isTrue(self) {
            guard try receive() != nil else {
                throw RawSocketError(
                    "the server closed before what was awaited; \(goAways), \(answers)")
            }
        }
    }

    private func note(_ frame: HTTP2Frame) throws {
        let isAck = frame.flags & HTTP2Frame.acknowledgement != 0
        switch frame.kind {
        case .settings where !isAck:
            for offset in stride(from: 0, to: frame.payload.count, by: 6) {
                let id = UInt16(frame.payload[offset]) << 8 | UInt16(frame.payload[offset + 1])
                serverSettings[id] = frame.word(at: offset + 2)
            }
            try send(.settingsAcknowledgement)
        case .ping where isAck: pingAnswerCount += 1
        case .ping:
            guard answersPings else { return }
            try send(
                HTTP2Frame(.ping, flags: HTTP2Frame.acknowledgement, payload: frame.payload))
        case .goAway: goAways.append((frame.word(at: 0), frame.word(at: 4)))
        case .windowUpdate: grants[frame.stream, default: 0] += Int(frame.word(at: 0))
        case .reset: answers[frame.stream, default: Answer()].resetCode = frame.word(at: 0)
        case .headers, .continuation: try noteBlock(frame)
        case .data:
            answers[frame.stream, default: Answer()].body += frame.payload
            if frame.flags & HTTP2Frame.endStream != 0 {
                answers[frame.stream]?.isComplete = true
            }
            guard opensWindows, !frame.payload.isEmpty else { return }
            let count = UInt32(frame.payload.count)
            // A stream that has ended needs none; one for the connection always does.
            try send(.windowUpdate(0, count), .windowUpdate(frame.stream, count))
        default: break
        }
    }

    private func noteBlock(_ frame: HTTP2Frame) throws {
        if frame.kind == .headers {
            block = []
            blockStream = frame.stream
            blockEndsStream = frame.flags & HTTP2Frame.endStream != 0
        }
        block += frame.payload
        guard frame.flags & HTTP2Frame.endHeaders != 0 else { return }
        let fields = try compression.decode(block)
        var answer = answers[blockStream] ?? Answer()
        let status = fields.first { $0.name == ":status" }.flatMap { Int($0.value) }
        switch status {
        case let status? where status < 200: answer.interim.append(status)
        case _?: answer.fields = fields
        case nil: answer.trailers = fields
        }
        answer.isComplete = answer.isComplete || blockEndsStream
        answers[blockStream] = answer
    }

    /// The whole answer on a stream, or as much as came before it was reset.
    public func answer(_ stream: UInt32) throws -> Answer {
        try receive { $0.answers[stream]?.isOver == true }
        return answers[stream] ?? Answer()
    }

    public func exchange(
        _ stream: UInt32, _ method: String = "GET", _ path: String = "/",
        fields: [(String, String)] = [], body: [UInt8]? = nil
    ) throws -> Answer {
        try request(stream, method, path, fields: fields, body: body)
        return try answer(stream)
    }

    /// Reads until the server closes. A reset of the connection is an end too.
    public func receiveToEnd() throws {
        while try receive() != nil {}
    }

    /// Reads until the server has answered a PING: all that was sent before has been looked at.
    public func settle() throws {
        let count = pingAnswerCount
        try send(.ping())
        while pingAnswerCount == count, try receive() != nil {}
    }
}
