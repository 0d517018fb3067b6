import Bytes
import EventLoop
import HTTP

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
    private var unsent: [UInt8]
    private var received = ByteBuffer()
    private var isConnected = false
    private var outcome: Result<Void, IOError>

    /// The longest answer. One of `/readyz`, or about one request, has a few hundred bytes, and
    /// ends with the connection.
    private static let byteCountMax = 16 * 1024

    private init(
        loop: EventLoop, descriptor: Int32, target: String, name: String, timeout: Duration
    ) {
        self.loop = loop
        self.descriptor = descriptor
        self.name = name
        unsent = Array(
            "GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        outcome = .failure(IOError(name, .unresolved("no answer within \(timeout)")))
    }

    /// `name`: the name of the listener in errors.
    static func ask(
        _ address: SocketAddress, for target: String, named name: String, timeout: Duration
    ) throws -> Answer {
        let descriptor: Int32
        switch Socket.connect(to: address) {
        case .connected(let new), .inProgress(let new): descriptor = new
        case .failed(let code): throw IOError(name, errno: code)
        }
        defer { Socket.close(descriptor) }
        let loop = try EventLoop()
        let question = AdminQuestion(
            loop: loop, descriptor: descriptor, target: target, name: name, timeout: timeout)
        let watch = Watch(loop: loop, descriptor: descriptor, handler: question)
        question.watch = watch
        watch.enableWriting()
        let timer = Timer(loop: loop) { loop.stop() }
        timer.schedule(after: timeout)
        loop.run()
        watch.cancel()
        timer.cancel()
        try question.outcome.get()
        return try question.answer()
    }

    func descriptorIsWritable() {
        if !isConnected {
            let code = Socket.connectError(descriptor)
            guard code == 0 else { return end(.failure(IOError(name, errno: code))) }
            isConnected = true
        }
        let rest = unsent
        switch Socket.write(descriptor, rest.span) {
        case .bytes(let count):
            unsent.removeFirst(count)
            guard unsent.isEmpty else { return }
            watch?.disableWriting()
            watch?.enableReading()
        case .wouldBlock: break
        case .failed(let code): end(.failure(IOError(name, errno: code)))
        }
    }

    func descriptorIsReadable() {
        switch Socket.read(descriptor, into: &received, atMost: Self.byteCountMax) {
        case .bytes where received.readable.count > Self.byteCountMax:
            end(.failure(IOError(name, .tooLarge(byteCountMax: Self.byteCountMax))))
        case .bytes, .wouldBlock: break
        case .endOfFile: end(.success(()))
        case .failed(let code): end(.failure(IOError(name, errno: code)))
        }
    }

    private func end(_ outcome: Result<Void, IOError>) {
        self.outcome = outcome
        loop.stop()
    }

    private func answer() throws(IOError) -> Answer {
        var head = ResponseHead()
        let limits = HeadLimits(
            headByteCountMax: Self.byteCountMax, fieldCountMax: 100, targetByteCountMax: 1024)
        let bytes = received.readable.array
        guard case .complete = head.parse(bytes.span, limits: limits, requestMethodKind: .get)
        else { throw IOError(name, .unresolved("the answer is not one of an admin listener")) }
        return Answer(status: head.status, body: Array(bytes[head.byteCount...]))
    }
}
