/// An HTTP/1.1 client without manners: it sends the bytes it is given, be they HTTP or not,
/// and reads answers one by one.
public final class RawClient {
    public let socket: RawSocket
    private let reader: MessageReader
    private let host: String

    /// Connects to a port of 127.0.0.1. `host` is what requests say in Host.
    public init(
        port: UInt16, host: String = "api.example", receiveBufferByteCount: Int32? = nil
    ) throws {
        self.host = host
        socket = try RawSocket(port: port, receiveBufferByteCount: receiveBufferByteCount)
        reader = MessageReader(socket)
    }

    public func send(_ text: String) throws { try socket.send(text) }
    public func send(_ bytes: [UInt8]) throws { try socket.send(bytes) }

    /// Sends a request with `Host`, and with `Content-Length` where there is a body or `POST`.
    public func send(
        _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8] = []
    ) throws {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if !body.isEmpty || method == "POST" { head += "Content-Length: \(body.count)\r\n" }
        try socket.send(Array((head + "\r\n").utf8) + body)
    }

    /// The next message, interim ones (1xx) included.
    public func receiveAny(toHEAD: Bool = false) throws -> HTTPMessage {
        guard var message = try reader.readHead() else {
            throw RawSocketError("the peer closed before an answer")
        }
        try reader.readBody(message.responseFraming(toHEAD: toHEAD), into: &message)
        return message
    }

    /// The next final answer.
    public func receive(toHEAD: Bool = false) throws -> HTTPMessage {
        while true {
            let message = try receiveAny(toHEAD: toHEAD)
            if !message.isInterim || message.status == 101 { return message }
        }
    }

    /// One request and its final answer.
    public func exchange(
        _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8] = []
    ) throws -> HTTPMessage {
        try send(method, target, fields: fields, body: body)
        return try receive(toHEAD: method == "HEAD")
    }

    /// The next head; its content is left on the connection.
    public func receiveHead() throws -> HTTPMessage {
        guard let message = try reader.readHead() else {
            throw RawSocketError("the peer closed before an answer")
        }
        return message
    }

    /// Exactly `count` bytes of content.
    public func receiveBytes(_ count: Int) throws -> [UInt8] { try reader.read(count) }

    public func discardBytes(_ count: Int) throws { try reader.discard(count) }

    /// Everything until the peer closes; empty where it has closed without another byte.
    public func receiveToEnd() throws -> [UInt8] { try reader.readToEnd() }
}
