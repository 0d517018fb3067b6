import Bytes
import HTTP2

extension Operation {
    /// Requests and answers of HTTP/2, both ends in one thread.
    static func conversations() -> [Operation] {
        [
            Operation("HTTP/2: one request", of: .nghttp2) { Conversing(requestCount: 1).outcome },
            Operation("HTTP/2: three at once", of: .nghttp2) {
                Conversing(requestCount: 3).outcome
            },
        ]
    }
}

/// Both sides of a connection. Whatever either of them takes for whole has to be what was sent, and
/// if there is no answer somebody has to say so: nobody may wait for ever.
private final class Conversing {
    private struct Message: Equatable {
        var head = ""
        var body: [UInt8] = []
        var trailers = ""
    }

    private let requestCount: Int
    private let client: HTTP2ClientSession
    private let server: HTTP2Session
    private var requests: [Int32: Message] = [:]
    private var answers: [Int32: Message] = [:]
    private var open: Set<Int32> = []
    private var rightCount = 0
    private var isTold = false
    private var wrong: String?

    /// More than the windows at the beginning, so that they have to be widened.
    private static let content = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    private static let request = Message(
        head: "POST /a?b HTTP/1.1\r\nhost: a.example\r\nx-name: a value\r\nx-other: another\r\n"
            + "transfer-encoding: chunked\r\n\r\n",
        body: content, trailers: "x-sum: 12\r\n\r\n")
    private static let answer = Message(
        head: "HTTP/1.1 200 \r\nx-name: an answer\r\n\r\n", body: content,
        trailers: "x-end: yes\r\n\r\n")

    init(requestCount: Int) {
        self.requestCount = requestCount
        let section = FieldSectionLimits(byteCountMax: 4096)
        // Beside its own allocations, none of which may fail, it makes a table of options.
        (client, server) = Starvation.sated {
            (
                HTTP2ClientSession(limits: HTTP2ClientLimits(), fieldSection: section),
                HTTP2Session(limits: HTTP2Limits(), fieldSection: section, now: 0)
            )
        }
    }

    var outcome: Outcome {
        for _ in 0..<requestCount { ask() }
        while wrong == nil {
            let toServer = Self.output(client)
            server.receive(toServer.span, now: 0)
            takeServer()
            let toClient = Self.output(server)
            client.receive(toClient.span)
            takeClient()
            if toServer.isEmpty, toClient.isEmpty { break }
        }
        if let wrong { return .wrong(wrong) }
        if rightCount == requestCount { return .right }
        // Whoever has nothing more to read or write ends the connection.
        let hasEnded = client.isFinished || server.isFinished
        let isTold = isTold || hasEnded || client.fault != nil || server.fault != nil
        return isTold ? .refused : .wrong("no answer, and nobody is told")
    }

    private static func output(_ endpoint: HTTP2Endpoint) -> [UInt8] {
        endpoint.fill(atMost: 1 << 16)
        let bytes = endpoint.withOutput { $0.array }
        endpoint.outputWasSent(bytes.count)
        return bytes
    }

    private func ask() {
        let head = Array(
            "POST /a?b HTTP/1.1\r\nHost: a.example\r\nX-Name: a value\r\nX-Other: another\r\n\r\n"
                .utf8)
        guard client.fields.append(requestHead: head.span, scheme: "https"),
            let stream = client.submitRequest(hasContent: true)
        else {
            isTold = true
            return
        }
        open.insert(stream)
        client.append(Self.content.span, stream: stream)
        client.fields.append("x-sum", "12")
        client.endContent(stream: stream, hasTrailers: true)
    }

    private func takeServer() {
        while let event = server.takeEvent() {
            switch event {
            case .head(let head):
                requests[head.stream, default: Message()].head = String(
                    decoding: head.bytes, as: UTF8.self)
            case .body(let stream, let count):
                server.takeBody(stream: stream, byteCount: count) { bytes in
                    (requests[stream]?.body += bytes.array, false)
                }
            case .trailers(let stream, let bytes, _):
                requests[stream]?.trailers = String(decoding: bytes, as: UTF8.self)
            case .end(let stream):
                guard requests[stream] == Self.request else {
                    wrong = "another request: \(requests[stream]?.head ?? "none")"
                    return
                }
                answer(stream)
            default: break
            }
        }
    }

    private func answer(_ stream: Int32) {
        server.fields.append(":status", "200")
        server.fields.append("x-name", "an answer")
        server.submitHead(stream: stream, hasContent: true)
        server.append(Self.content.span, stream: stream)
        server.fields.append("x-end", "yes")
        server.endContent(stream: stream, hasTrailers: true)
    }

    private func takeClient() {
        while let event = client.takeEvent() {
            switch event {
            case .head(let head):
                answers[head.stream, default: Message()].head = String(
                    decoding: head.bytes, as: UTF8.self)
            case .body(let stream, let count):
                client.takeBody(stream: stream, byteCount: count) { bytes in
                    (answers[stream]?.body += bytes.array, false)
                }
            case .trailers(let stream, let bytes, _):
                answers[stream]?.trailers = String(decoding: bytes, as: UTF8.self)
            case .end(let stream):
                guard answers[stream] == Self.answer else {
                    wrong = "another answer: \(answers[stream]?.head ?? "none")"
                    return
                }
                rightCount += 1
                open.remove(stream)
            case .failed(let stream, _):
                open.remove(stream)
                isTold = true
            default: break
            }
        }
    }
}
