import Bytes
import EventLoop
import HTTP
import TLS

/// A request to an admin listener.
struct AdminRequest {
    var method = "GET"
    let target: String
    /// A token of the admin API; nil if the request shows none.
    var token: String?
    var body: [UInt8] = []
    /// The longest answer. One of `/readyz`, or about one request, has a few hundred bytes, and
    /// ends with the connection.
    var answerByteCountMax = 16 * 1024

    fileprivate var bytes: [UInt8] {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"]
        if let token { lines.append("Authorization: Bearer \(token)") }
        if method != "GET" { lines.append("Content-Length: \(body.count)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }
}

/// The check of an admin listener that speaks TLS.
struct AdminServerCheck {
    let context: TLSClientContext
    /// The name that the listener's certificate must have.
    let serverName: String
}

/// The end of a question without an answer.
struct AdminFailure: Error, CustomStringConvertible {
    let error: IOError
    /// True if the listener may have the request.
    let wasSent: Bool

    var description: String { error.description }

    static func unreadable(_ name: String) -> AdminFailure {
        AdminFailure(
            error: IOError(name, .unresolved("the answer is not one of an admin listener")),
            wasSent: true)
    }
}

/// Asks an admin listener for one of its pages, on a connection of its own.
final class AdminQuestion: ReadinessHandler {
    struct Answer {
        let status: UInt16
        let body: [UInt8]
        /// The part of the body's first line that a terminal can show. The body may be from any
        /// server.
        var firstLine: String {
            let visible = body.prefix { $0 != 0x0A }.prefix(200).filter {
                (0x20..<0x7F).contains($0)
            }
            return String(decoding: visible, as: UTF8.self)
        }
    }

    private let loop: EventLoop
    private let descriptor: Int32
    private let name: String
    private var watch: Watch?
    /// Nil without TLS.
    private var session: TLSSession?
    /// Nil before the connection, with TLS before the handshake is complete.
    private var transport: Transport?
    private var unsent: [UInt8]
    private var wasSent = false
    private var received = ByteBuffer()
    private var isConnected = false
    private var outcome: Result<Void, IOError>
    private let byteCountMax: Int

    private init(
        loop: EventLoop, descriptor: Int32, _ request: AdminRequest, name: String,
        timeout: Duration
    ) {
        self.loop = loop
        self.descriptor = descriptor
        self.name = name
        unsent = request.bytes
        byteCountMax = request.answerByteCountMax
        outcome = .failure(IOError(name, .unresolved("no answer within \(timeout)")))
    }

    /// `name`: the name of the listener in errors. `check`: nil for a listener without TLS.
    static func ask(
        _ address: SocketAddress, _ request: AdminRequest, named name: String, timeout: Duration,
        check: AdminServerCheck? = nil
    ) throws -> Answer {
        let descriptor: Int32
        switch Socket.connect(to: address) {
        case .connected(let new), .inProgress(let new): descriptor = new
        case .failed(let code): throw IOError(name, errno: code)
        }
        defer { Socket.close(descriptor) }
        let loop = try EventLoop()
        let question = AdminQuestion(
            loop: loop, descriptor: descriptor, request, name: name, timeout: timeout)
        question.session = try check.map {
            try TLSSession(
                client: $0.context, serverName: $0.serverName, isAddress: false,
                descriptor: descriptor)
        }
        let watch = Watch(loop: loop, descriptor: descriptor, handler: question)
        question.watch = watch
        watch.enableWriting()
        let timer = Timer(loop: loop) { loop.stop() }
        timer.schedule(after: timeout)
        loop.run()
        watch.cancel()
        timer.cancel()
        do throws(IOError) {
            try question.outcome.get()
        } catch {
            throw AdminFailure(error: error, wasSent: question.wasSent)
        }
        return try question.answer()
    }

    /// Continues with the connection and its handshake.
    private func connect() {
        guard let watch else { return }
        if !isConnected {
            let code = Socket.connectError(descriptor)
            guard code == 0 else { return end(.failure(IOError(name, errno: code))) }
            isConnected = true
        }
        let transport: Transport
        if let session {
            switch session.handshake(on: watch) {
            case .complete: transport = Transport(watch: watch, session: session)
            case .wantRead, .wantWrite: return
            case .failed(let failure):
                return end(.failure(IOError(name, .unresolved(failure.description))))
            }
        } else {
            transport = Transport(watch: watch)
        }
        transport.setHandler(self)
        transport.enableWriting()
        self.transport = transport
    }

    func descriptorIsWritable() {
        guard let transport else { return connect() }
        let rest = unsent
        switch transport.write(rest.span) {
        case .bytes(let count):
            wasSent = true
            unsent.removeFirst(count)
            guard unsent.isEmpty else { return }
            transport.disableWriting()
            transport.enableReading()
        case .wouldBlock: break
        case .failed(let code): fail(transport, errno: code)
        }
    }

    func descriptorIsReadable() {
        guard let transport else { return connect() }
        switch transport.read(into: &received, atMost: byteCountMax) {
        case .bytes where received.readable.count > byteCountMax:
            end(.failure(IOError(name, .tooLarge(byteCountMax: byteCountMax))))
        case .bytes, .wouldBlock: break
        case .endOfFile: end(.success(()))
        case .failed(let code): fail(transport, errno: code)
        }
    }

    private func fail(_ transport: Transport, errno code: Int32) {
        end(
            .failure(
                transport.isTLS
                    ? IOError(name, .unresolved(transport.failureText(errno: code)))
                    : IOError(name, errno: code)))
    }

    private func end(_ outcome: Result<Void, IOError>) {
        self.outcome = outcome
        loop.stop()
    }

    private func answer() throws(AdminFailure) -> Answer {
        var head = ResponseHead()
        let limits = HeadLimits(
            headByteCountMax: byteCountMax, fieldCountMax: 100, targetByteCountMax: 1024)
        let bytes = received.readable.array
        guard case .complete = head.parse(bytes.span, limits: limits, requestMethodKind: .get)
        else { throw .unreadable(name) }
        return Answer(status: head.status, body: Array(bytes[head.byteCount...]))
    }
}
