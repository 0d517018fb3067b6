import Bytes
import HTTP2
import Testing

@Suite("The client's side of HTTP/2")
struct HTTP2ClientSessionTests {}

extension HTTP2ClientSessionTests {
    /// Both sides of one connection, without a socket between them.
    private final class Pair {
        let client: HTTP2ClientSession
        let server: HTTP2Session
        var clientEvents: [String] = []
        var clientContent: [UInt8] = []
        var serverHeads: [String] = []

        init(limits: HTTP2ClientLimits = HTTP2ClientLimits(), streamsOfServer: Int = 100) {
            let section = FieldSectionLimits(byteCountMax: 4096)
            client = HTTP2ClientSession(limits: limits, fieldSection: section)
            var serverLimits = HTTP2Limits()
            serverLimits.concurrentStreamCountMax = streamsOfServer
            server = HTTP2Session(limits: serverLimits, fieldSection: section, now: 0)
        }

        /// Carries bytes until neither side has more to say.
        func exchange() {
            while true {
                let toServer = Self.output(client)
                server.receive(toServer.span, now: 0)
                noteServer()
                let toClient = Self.output(server)
                client.receive(toClient.span)
                noteClient()
                if toServer.isEmpty, toClient.isEmpty { return }
            }
        }

        static func output(_ endpoint: HTTP2Endpoint) -> [UInt8] {
            endpoint.fill(atMost: 1 << 20)
            let bytes = endpoint.withOutput { $0.array }
            endpoint.outputWasSent(bytes.count)
            return bytes
        }

        func noteServer() {
            while let event = server.takeEvent() {
                switch event {
                case .head(let head):
                    serverHeads.append(String(decoding: head.bytes, as: UTF8.self))
                case .body(let stream, let count):
                    server.takeBody(stream: stream, byteCount: count) { _ in ((), false) }
                default: break
                }
            }
        }

        func noteClient() {
            while let event = client.takeEvent() {
                switch event {
                case .head(let head):
                    let text = String(decoding: head.bytes, as: UTF8.self)
                    clientEvents.append("head \(head.stream) \(text.split(separator: "\r\n"))")
                case .body(let stream, let count):
                    clientContent += client.takeBody(stream: stream, byteCount: count) {
                        ($0.array, false)
                    }
                    clientEvents.append("body \(stream) \(count)")
                case .trailers(let stream, let bytes, _):
                    let text = String(decoding: bytes, as: UTF8.self)
                    clientEvents.append("trailers \(stream) \(text.split(separator: "\r\n"))")
                default: clientEvents.append("\(event)")
                }
            }
        }

        func request(_ text: String = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", hasContent: Bool = false)
            -> Int32?
        {
            let bytes = Array(text.utf8)
            guard client.fields.append(requestHead: bytes.span, scheme: "http") else { return nil }
            return client.submitRequest(hasContent: hasContent)
        }
    }

    @Test("begins with its preface, and is ready with the server's SETTINGS")
    func preface() {
        let pair = Pair(streamsOfServer: 7)
        #expect(pair.client.streamCountMax == 100)
        let first = Pair.output(pair.client)
        #expect(first.starts(with: HTTP2Session.clientPreface))
        pair.server.receive(first.span, now: 0)
        pair.exchange()
        #expect(pair.clientEvents.first == "ready")
        #expect(pair.client.streamCountMax == 7)
    }

    @Test("sends what HTTP/1.1's head says, less what only a connection of it means")
    func head() throws {
        let pair = Pair()
        pair.exchange()
        let text =
            "POST /a?b HTTP/1.1\r\nHost: x.example:1\r\nX-Upper: V\r\nConnection: close\r\n"
            + "Transfer-Encoding: chunked\r\nX-Empty: \r\n\r\nGET /not HTTP/1.1\r\nX-Not: 1\r\n\r\n"
        #expect(pair.request(text) == 1)
        pair.exchange()
        #expect(
            pair.serverHeads == [
                "POST /a?b HTTP/1.1\r\nhost: x.example:1\r\nx-upper: V\r\nx-empty: \r\n\r\n"
            ])
    }

    @Test(
        "takes no head that is none",
        arguments: ["", "GET /", "GET / HTTP/1.1", "GET / HTTP/1.1\r\nNo colon\r\n\r\n"])
    func noHead(text: String) {
        #expect(Pair().request(text) == nil)
    }

    @Test("tells an answer in order, with what comes after its content")
    func answer() throws {
        let pair = Pair()
        pair.exchange()
        let stream = try #require(pair.request())
        pair.exchange()
        pair.clientEvents = []
        pair.server.fields.append(":status", decimal: 103)
        pair.server.submitInterim(stream: stream)
        pair.server.fields.append(":status", decimal: 200)
        pair.server.submitHead(stream: stream, hasContent: true)
        let content = Array("abc".utf8)
        pair.server.append(content.span, stream: stream)
        pair.server.fields.append("x-t", "1")
        pair.server.endContent(stream: stream, hasTrailers: true)
        pair.exchange()
        #expect(
            pair.clientEvents == [
                "head 1 [\"HTTP/1.1 103 \"]", "head 1 [\"HTTP/1.1 200 \"]", "body 1 3",
                "trailers 1 [\"x-t: 1\"]", "end(stream: 1)", "closed(stream: 1, wasReset: false)",
            ])
        #expect(pair.client.streamCount == 0)
    }

    @Test(
        "content comes with its storage if it fills half of that, and is copied otherwise",
        arguments: [(40_000, 0, 0), (4_000, 0, 64 * 1024), (40_000, 100, 64 * 1024)])
    func contentInStorage(byteCount: Int, rest: Int, leftCapacity: Int) throws {
        let pair = Pair()
        pair.exchange()
        let stream = try #require(pair.request())
        pair.exchange()
        pair.server.fields.append(":status", decimal: 200)
        pair.server.submitHead(stream: stream, hasContent: true)
        var buffer = ByteBuffer(capacity: 64 * 1024)
        buffer.append((0..<byteCount + rest).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        pair.server.append(byteCount, outOf: &buffer, stream: stream)
        let (left, capacity) = (buffer.count, buffer.capacity)
        #expect(left == rest)
        #expect(capacity == leftCapacity)
        #expect(pair.server.waitingByteCount(stream: stream) == byteCount)
        pair.server.endContent(stream: stream)
        pair.exchange()
        #expect(pair.clientContent == (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    }

    @Test("an end that the server announces refuses what it has not taken")
    func goAway() throws {
        let pair = Pair()
        pair.exchange()
        let first = try #require(pair.request())
        pair.exchange()
        pair.server.refuseNewStreams()
        let goAway = Pair.output(pair.server)
        let second = try #require(pair.request())
        let third = try #require(pair.request())
        _ = Pair.output(pair.client)
        #expect(pair.client.isUnsent(first) == false)
        pair.clientEvents = []
        pair.client.receive(goAway.span)
        pair.noteClient()
        #expect(pair.client.isGoingAway && !pair.client.takesRequests)
        #expect(
            pair.clientEvents.sorted() == [
                "failed(stream: \(second), HTTP2.HTTP2StreamFailure.refused)",
                "failed(stream: \(third), HTTP2.HTTP2StreamFailure.refused)", "goAway",
            ])
        #expect(pair.client.isOpen(first))
        #expect(pair.request() == nil)
    }

    @Test("a request that meets the end before it was sent is refused too")
    func unsent() throws {
        let pair = Pair()
        pair.exchange()
        _ = pair.request()
        pair.exchange()
        pair.server.refuseNewStreams()
        let goAway = Pair.output(pair.server)
        let late = try #require(pair.request())
        #expect(pair.client.isUnsent(late))
        pair.client.receive(goAway.span)
        _ = Pair.output(pair.client)
        pair.clientEvents = []
        pair.noteClient()
        #expect(
            pair.clientEvents.contains("failed(stream: \(late), HTTP2.HTTP2StreamFailure.refused)"))
    }

    @Test("content goes as the server's windows allow, and no further")
    func content() throws {
        let pair = Pair()
        pair.exchange()
        let stream = try #require(pair.request(hasContent: true))
        let content = [UInt8](repeating: 0x61, count: 1 << 20)
        pair.client.append(content.span, stream: stream)
        _ = Pair.output(pair.client)
        // What HTTP/2 begins with, or the server's SETTINGS said.
        #expect(pair.client.framedByteCount(stream: stream) == 256 * 1024)
        #expect(pair.client.waitingByteCount == (1 << 20) - 256 * 1024)
        pair.client.cancel(stream: stream)
        _ = Pair.output(pair.client)
        #expect(pair.client.waitingByteCount == 0 && pair.client.streamCount == 0)
    }

    @Test("a header block without an end, or a push, ends the connection")
    func faults() throws {
        let section = FieldSectionLimits(byteCountMax: 100)
        // With the acknowledgement of ours, which say that nothing is to be pushed.
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]
        // `:status: 200`, and `cookie` without a value over and over.
        let bomb: [UInt8] = [0x88] + [UInt8](repeating: 0xA0, count: 200)
        for frames in [
            [0, 0, UInt8(bomb.count), 1, 4, 0, 0, 0, 1] + bomb,
            [0, 0, 5, 5, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0x82],
        ] {
            let client = HTTP2ClientSession(limits: HTTP2ClientLimits(), fieldSection: section)
            let text = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            let isHead = client.fields.append(requestHead: text.span, scheme: "http")
            #expect(isHead)
            _ = try #require(client.submitRequest(hasContent: false))
            _ = Pair.output(client)
            let bytes = settings + frames
            client.receive(bytes.span)
            _ = Pair.output(client)
            #expect(client.fault != nil || client.isFinished || !client.takesRequests)
        }
    }
}

@Suite("The head of an answer in HTTP/1.1's form")
struct ResponseHeadTextTests {}

extension ResponseHeadTextTests {
    private func text(_ fields: [(String, String)]) -> String? {
        var head = ResponseHeadText(limits: FieldSectionLimits(byteCountMax: 1000))
        head.reset()
        for (name, value) in fields {
            let (name, value) = (Array(name.utf8), Array(value.utf8))
            guard head.take(name: name.span, value: value.span) else { return nil }
        }
        return head.finish().map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("holds its fields in order")
    func plain() {
        #expect(text([(":status", "204")]) == "HTTP/1.1 204 \r\n\r\n")
        #expect(
            text([(":status", "200"), ("b", "2"), ("a", ""), ("b", "1")])
                == "HTTP/1.1 200 \r\nb: 2\r\na: \r\nb: 1\r\n\r\n")
    }

    @Test(
        "is none where the block is malformed",
        arguments: [
            [], [("a", "1")], [(":status", "")], [(":status", "2000")], [(":status", "099")],
            [(":status", "1x0")], [(":status", "101")], [(":status", "200"), (":status", "200")],
            [(":status", "200"), (":path", "/")], [(":status", "200"), ("A", "1")],
            [(":status", "200"), ("a b", "1")], [(":status", "200"), ("", "1")],
            [(":status", "200"), ("a", "1\r\n")], [(":status", "200"), ("a", " 1")],
            [(":status", "200"), ("connection", "a")], [(":status", "200"), ("upgrade", "a")],
            [(":status", "200"), ("transfer-encoding", "chunked")],
            [(":status", "200"), ("content-length", "1"), ("content-length", "1")],
        ] as [[(String, String)]])
    func malformed(fields: [(String, String)]) {
        #expect(text(fields) == nil)
    }

    @Test("says what is too large, and what is far too large")
    func limits() {
        var head = ResponseHeadText(limits: FieldSectionLimits(byteCountMax: 100))
        let (status, ok, name) = (Array(":status".utf8), Array("200".utf8), Array("x".utf8))
        let value = [UInt8](repeating: 0x61, count: 90)
        var isWell = head.take(name: status.span, value: ok.span)
        #expect(isWell && !head.isTooLarge)
        isWell = head.take(name: name.span, value: value.span)
        #expect(isWell && head.isTooLarge && !head.isBomb)
        for _ in 0..<3 { isWell = head.take(name: name.span, value: value.span) && isWell }
        #expect(isWell && head.isBomb && head.fieldCount == 0)
    }
}
