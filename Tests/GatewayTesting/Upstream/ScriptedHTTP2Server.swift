import Foundation

/// An HTTP/2 server on 127.0.0.1 without manners: what it sends is the frames that a test gives it,
/// be they valid or not, and it keeps every request that came.
public final class ScriptedHTTP2Server: @unchecked Sendable {
    /// A request as far as it has come.
    public struct Request: Sendable {
        /// From 0, in the order of acceptance.
        public var connection: Int
        public var stream: UInt32
        public var fields: [HTTPMessage.Field] = []
        public var body: [UInt8] = []
        public var trailers: [HTTPMessage.Field] = []
        public var isComplete = false
        public var resetCode: UInt32?

        public subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        public var path: String { self[":path"] ?? "" }
        public var bodyText: String { String(decoding: body, as: UTF8.self) }
    }

    /// Called for each request that is complete, on its connection's thread.
    public typealias Script = @Sendable (Request, ScriptedHTTP2Connection) throws -> Void

    private let changed = NSCondition()
    private var requests: [Request] = []
    private var sockets: [RawSocket] = []
    private var listener: LoopbackListener?

    /// - Parameters:
    ///   - settings: what its SETTINGS say.
    ///   - script: called with each request that is complete.
    ///   - head: called with each head that does not end its request.
    public init(
        settings: [(UInt16, UInt32)] = [],
        _ script: @escaping Script = { try $1.respond(to: $0) },
        head: @escaping Script = { _, _ in }
    ) throws {
        listener = try LoopbackListener { [unowned self] socket in
            let index = add(socket)
            let connection = ScriptedHTTP2Connection(socket, index: index)
            connection.whenHead = head
            connection.whenComplete = script
            connection.whenChanged = { [unowned self] in note($0) }
            Thread.detachNewThread {
                try? connection.serve(settings: settings)
                socket.close()
            }
        }
    }

    deinit {
        listener?.stop()
        for socket in sockets { socket.interrupt() }
    }

    public var port: UInt16 { listener?.port ?? 0 }
    public var connectionCount: Int { changed.withLock { sockets.count } }

    private func add(_ socket: RawSocket) -> Int {
        changed.withLock {
            sockets.append(socket)
            return sockets.count - 1
        }
    }

    private func note(_ request: Request) {
        changed.withLock {
            let place = requests.firstIndex {
                $0.connection == request.connection && $0.stream == request.stream
            }
            if let place { requests[place] = request } else { requests.append(request) }
            changed.broadcast()
        }
    }

    /// The requests so far, once `isTrue` of them.
    @discardableResult
    public func wait(
        until isTrue: ([Request]) -> Bool = { $0.contains { $0.isComplete } }
    ) throws -> [Request] {
        let limit = Date(timeIntervalSinceNow: TimeInterval(RawSocket.patienceSeconds))
        return try changed.withLock {
            while !isTrue(requests) {
                guard changed.wait(until: limit) else {
                    throw RawSocketError("the server saw \(requests)")
                }
            }
            return requests
        }
    }
}

/// One connection of a ``ScriptedHTTP2Server``.
public final class ScriptedHTTP2Connection: @unchecked Sendable {
    public let index: Int
    public let socket: RawSocket
    private let reader: MessageReader
    private let compression: HeaderCompression?
    private var requests: [UInt32: ScriptedHTTP2Server.Request] = [:]
    var whenHead: ScriptedHTTP2Server.Script = { _, _ in }
    var whenComplete: ScriptedHTTP2Server.Script = { _, _ in }
    var whenChanged: (ScriptedHTTP2Server.Request) -> Void = { _ in }

    init(_ socket: RawSocket, index: Int) {
        self.socket = socket
        self.index = index
        reader = MessageReader(socket)
        compression = try? HeaderCompression()
    }

    public func send(_ frames: HTTP2Frame...) throws {
        try socket.send(frames.flatMap(\.bytes))
    }

    public func respond(
        to request: ScriptedHTTP2Server.Request, _ status: Int = 200,
        fields: [(String, String)] = [], body: String = "hello\n",
        trailers: [(String, String)] = []
    ) throws {
        let head = [(":status", "\(status)")] + fields
        try send(.headers(request.stream, head, endStream: false))
        try send(.data(request.stream, Array(body.utf8), endStream: trailers.isEmpty))
        if !trailers.isEmpty { try send(.headers(request.stream, trailers)) }
    }

    fileprivate func serveFrame() throws {
        let head = try reader.read(9)
        let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        var frame = HTTP2Frame(type: head[3], flags: head[4])
        frame.stream = head[5..<9].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        frame.payload = try reader.read(count)
        let isEnd = frame.flags & HTTP2Frame.endStream != 0
        let id = frame.stream
        switch frame.kind {
        case .settings where frame.flags & HTTP2Frame.acknowledgement == 0:
            try send(.settingsAcknowledgement)
        case .ping where frame.flags & HTTP2Frame.acknowledgement == 0:
            try send(HTTP2Frame(.ping, flags: HTTP2Frame.acknowledgement, payload: frame.payload))
        case .headers:
            let fields = try compression?.decode(frame.payload) ?? []
            if requests[id] == nil {
                requests[id] = ScriptedHTTP2Server.Request(
                    connection: index, stream: id, fields: fields)
            } else {
                requests[id]?.trailers = fields
            }
            try changed(id, isEnd: isEnd, isHead: true)
        case .data:
            requests[id]?.body += frame.payload
            let count = UInt32(frame.payload.count)
            if count > 0 { try send(.windowUpdate(0, count), .windowUpdate(id, count)) }
            try changed(id, isEnd: isEnd, isHead: false)
        case .reset:
            requests[id]?.resetCode = frame.word(at: 0)
            if let request = requests[id] { whenChanged(request) }
        default: break
        }
    }

    private func changed(_ id: UInt32, isEnd: Bool, isHead: Bool) throws {
        requests[id]?.isComplete = isEnd
        guard let request = requests[id] else { return }
        whenChanged(request)
        if isEnd {
            try whenComplete(request, self)
        } else if isHead {
            try whenHead(request, self)
        }
    }

    /// Serves until the client has gone, or the script has had enough.
    func serve(settings: [(UInt16, UInt32)]) throws {
        _ = try reader.read(HTTP2Client.preface.count)
        try send(.settings(settings))
        while true { try serveFrame() }
    }
}
