import Bytes
import EventLoop
import HTTP
import TLS

/// A small client that waits for each answer: one connection, one request at a time.
final class HTTPConnection: ReadinessHandler {
    private static let patience = Duration.seconds(30)
    private static let limits = HeadLimits(
        headByteCountMax: 64 * 1024, fieldCountMax: 200, targetByteCountMax: 8 * 1024)
    private static let bodyByteCountMax = 64 * 1024 * 1024

    private let host: String
    private let loop: EventLoop
    private let watch: Watch
    private var transport: Transport
    private var received = ByteBuffer()
    private var isTimedOut = false

    /// - Parameters:
    ///   - host: The value of `Host`; nil for the address.
    ///   - check: What the server's certificate must be; nil without TLS.
    init(_ address: SocketAddress, host: String? = nil, check: GatewayCheck? = nil) throws {
        self.host = host ?? address.description
        loop = try EventLoop()
        let descriptor: Int32
        let isConnected: Bool
        switch Socket.connect(to: address) {
        case .connected(let raw): (descriptor, isConnected) = (raw, true)
        case .inProgress(let raw): (descriptor, isConnected) = (raw, false)
        case .failed(let code): throw IOError("\(address)", errno: code)
        }
        watch = Watch(loop: loop, descriptor: descriptor)
        transport = Transport(watch: watch)
        transport.setHandler(self)
        if !isConnected {
            try waitUntilWritable()
            let code = Socket.connectError(descriptor)
            guard code == 0 else { throw IOError("\(address)", errno: code) }
        }
        if let check { try secure(by: check.session(descriptor)) }
    }

    deinit { transport.close(.complete) }

    /// Carries out the handshake of TLS.
    private func secure(by session: TLSSession) throws {
        while true {
            switch session.handshake(on: watch) {
            case .complete:
                transport = Transport(watch: watch, session: session)
                transport.setHandler(self)
                return try waitUntilWritable()
            case .wantRead, .wantWrite: try wait()
            case .failed(let failure): throw LabError("\(host): \(failure)")
            }
        }
    }

    func exchange(_ request: HTTPRequest) throws -> HTTPAnswer {
        let head = try receiveHead(for: request)
        let fields = takeFields(of: head)
        return HTTPAnswer(status: Int(head.status), fields: fields, body: try body(head.framing))
    }

    /// Sends a request, and returns the answer once its body has begun. The body is left on the
    /// connection.
    func begin(_ request: HTTPRequest) throws -> HTTPAnswer {
        let head = try receiveHead(for: request)
        let fields = takeFields(of: head)
        if received.isEmpty { try read() }
        return HTTPAnswer(status: Int(head.status), fields: fields, body: [])
    }

    /// Sends a request and receives the head of its final answer.
    private func receiveHead(for request: HTTPRequest) throws -> ResponseHead {
        try write(request.bytes(host: host))
        var head = ResponseHead()
        let kind: HTTP.Method =
            request.method == "HEAD" ? .head : request.method == "GET" ? .get : .post
        while true {
            let outcome = head.parse(
                received.readable, limits: Self.limits, requestMethodKind: kind)
            switch outcome {
            case .incomplete: try read()
            case .refused(let refusal): throw LabError("the answer is not HTTP: \(refusal)")
            case .complete:
                guard head.isInterim else { return head }
                received.consume(head.byteCount)
                head.reset()
            }
        }
    }

    /// Removes the head from the bytes received.
    private func takeFields(of head: borrowing ResponseHead) -> [HTTPAnswer.Field] {
        let fields = Self.fields(of: head, in: received.readable)
        received.consume(head.byteCount)
        return fields
    }

    private static func fields(
        of head: borrowing ResponseHead, in bytes: Span<UInt8>
    ) -> [HTTPAnswer.Field] {
        var fields: [HTTPAnswer.Field] = []
        for field in head.fields {
            fields.append(
                HTTPAnswer.Field(
                    name: String(decoding: bytes.extracting(field.name).array, as: UTF8.self),
                    value: String(decoding: bytes.extracting(field.value).array, as: UTF8.self)))
        }
        return fields
    }

    private func body(_ framing: BodyFraming) throws -> [UInt8] {
        switch framing {
        case .none: return []
        case .length(let count):
            guard count <= UInt64(Self.bodyByteCountMax) else { throw LabError("body too long") }
            while received.count < Int(count) { try read() }
            return take(Int(count))
        case .untilClose:
            while try readIfOpen() {}
            return take(received.count)
        case .chunked: return try chunkedBody()
        }
    }

    /// Removes the first `count` bytes from those received.
    private func take(_ count: Int) -> [UInt8] {
        let bytes = received.readable.extracting(0..<count).array
        received.consume(count)
        return bytes
    }

    private func chunkedBody() throws -> [UInt8] {
        var decoder = ChunkedDecoder()
        var body: [UInt8] = []
        while true {
            let step = decoder.decode(received.readable)
            switch step {
            case .data(let skip, let count):
                received.consume(skip)
                body += take(count)
            case .needMore(let consumed):
                received.consume(consumed)
                try read()
            case .finished(let consumed):
                received.consume(consumed)
                return body
            case .refused(let fault): throw LabError("the answer is not HTTP: \(fault)")
            }
        }
    }

    // MARK: waiting

    private func write(_ bytes: [UInt8]) throws {
        var start = 0
        while start < bytes.count {
            switch transport.write(bytes.span.extracting(start...)) {
            case .bytes(let count): start += count
            case .wouldBlock: try waitUntilWritable()
            case .failed(let code): throw closed(code)
            }
        }
    }

    private func read() throws {
        guard try readIfOpen() else { throw LabError("\(host) closed before its answer's end") }
    }

    private func readIfOpen() throws -> Bool {
        while true {
            switch transport.read(into: &received, atMost: 64 * 1024) {
            case .bytes: return true
            case .endOfFile: return false
            case .failed(let code): throw closed(code)
            case .wouldBlock:
                transport.enableReading()
                try wait()
                transport.disableReading()
            }
        }
    }

    private func closed(_ code: Int32) -> LabError {
        LabError("\(host) closed: \(transport.failureText(errno: code))")
    }

    private func waitUntilWritable() throws {
        transport.enableWriting()
        try wait()
        transport.disableWriting()
    }

    private func wait() throws {
        let timer = Timer(loop: loop) { [unowned self] in
            isTimedOut = true
            loop.stop()
        }
        timer.schedule(after: Self.patience)
        loop.run()
        timer.cancel()
        if isTimedOut { throw LabError("\(host) did not answer") }
    }

    func descriptorIsReadable() { loop.stop() }
    func descriptorIsWritable() { loop.stop() }
}
