import Bytes
import EventLoop
import HTTP

/// A small client that waits for each answer: one connection, one request at a time.
final class HTTPConnection: ReadinessHandler {
    private static let patience = Duration.seconds(30)
    private static let limits = HeadLimits(
        headByteCountMax: 64 * 1024, fieldCountMax: 200, targetByteCountMax: 8 * 1024)
    private static let bodyByteCountMax = 64 * 1024 * 1024

    private let host: String
    private let loop: EventLoop
    private let descriptor: Int32
    private let watch: Watch
    private var received = ByteBuffer()
    private var isTimedOut = false

    init(_ address: SocketAddress) throws {
        host = address.description
        loop = try EventLoop()
        let isConnected: Bool
        switch Socket.connect(to: address) {
        case .connected(let raw): (descriptor, isConnected) = (raw, true)
        case .inProgress(let raw): (descriptor, isConnected) = (raw, false)
        case .failed(let code): throw IOError("\(address)", errno: code)
        }
        watch = Watch(loop: loop, descriptor: descriptor)
        watch.handler = self
        if !isConnected {
            try waitUntilWritable()
            let code = Socket.connectError(descriptor)
            guard code == 0 else { throw IOError("\(address)", errno: code) }
        }
    }

    deinit {
        watch.cancel()
        Socket.close(descriptor)
    }

    func exchange(_ request: HTTPRequest) throws -> HTTPAnswer {
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
                guard head.isInterim else { return try answer(head) }
                received.consume(head.byteCount)
                head.reset()
            }
        }
    }

    private func answer(_ head: borrowing ResponseHead) throws -> HTTPAnswer {
        let fields = Self.fields(of: head, in: received.readable)
        received.consume(head.byteCount)
        return HTTPAnswer(status: Int(head.status), fields: fields, body: try body(head.framing))
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
            switch Socket.write(descriptor, bytes.span.extracting(start...)) {
            case .bytes(let count): start += count
            case .wouldBlock: try waitUntilWritable()
            case .failed(let code): throw LabError("\(host) closed: errno \(code)")
            }
        }
    }

    private func read() throws {
        guard try readIfOpen() else { throw LabError("\(host) closed before its answer's end") }
    }

    private func readIfOpen() throws -> Bool {
        while true {
            switch Socket.read(descriptor, into: &received, atMost: 64 * 1024) {
            case .bytes: return true
            case .endOfFile: return false
            case .failed(let code): throw LabError("\(host) closed: errno \(code)")
            case .wouldBlock:
                watch.enableReading()
                try wait()
                watch.disableReading()
            }
        }
    }

    private func waitUntilWritable() throws {
        watch.enableWriting()
        try wait()
        watch.disableWriting()
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
