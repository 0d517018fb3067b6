import Bytes
import HTTP2
import Testing

@Suite("An HTTP/2 session")
struct HTTP2SessionTests {}

extension HTTP2SessionTests {
    private static let second: UInt64 = 1_000_000_000

    private func session(_ configure: (inout HTTP2Limits) -> Void = { _ in }) -> HTTP2Session {
        var limits = HTTP2Limits()
        configure(&limits)
        let session = HTTP2Session(
            limits: limits, fieldSection: FieldSectionLimits(byteCountMax: 4096), now: 0)
        receive(session, HTTP2Session.clientPreface + Self.frame(4))
        return session
    }

    private func receive(_ session: HTTP2Session, _ bytes: [UInt8], at now: UInt64 = 0) {
        session.receive(bytes.span, now: now)
    }

    private static func frame(
        _ type: UInt8, flags: UInt8 = 0, stream: UInt8 = 0, _ payload: [UInt8] = []
    ) -> [UInt8] {
        let count = payload.count
        return [0, UInt8(count >> 8), UInt8(count & 0xFF), type, flags, 0, 0, 0, stream] + payload
    }

    /// `GET http://a/`, in static table entries and one literal.
    private static func request(_ stream: UInt8, flags: UInt8 = 5) -> [UInt8] {
        frame(1, flags: flags, stream: stream, [0x82, 0x86, 0x84, 0x01, 1, 0x61])
    }

    private func events(_ session: HTTP2Session) -> [String] {
        var texts: [String] = []
        while let event = session.takeEvent() {
            switch event {
            case .head(let head):
                let text = String(decoding: head.bytes, as: UTF8.self).split(separator: "\r\n")
                texts.append("head \(head.stream) \(text.joined(separator: "|"))")
            case .body(let stream, let count):
                let bytes = session.takeBody(stream: stream, byteCount: count) { ($0.array, false) }
                let text = String(decoding: bytes, as: UTF8.self)
                if let last = texts.last, last.hasPrefix("body \(stream) ") {
                    texts[texts.count - 1] = last + text
                } else {
                    texts.append("body \(stream) \(text)")
                }
            case .end(let stream): texts.append("end \(stream)")
            case .answeredEarly(let stream): texts.append("answered early \(stream)")
            case .closed(let stream, let wasReset): texts.append("closed \(stream) \(wasReset)")
            case .malformed(let stream): texts.append("malformed \(stream)")
            case .trailers(let stream, _, isTooLarge: true):
                texts.append("trailers \(stream) too large")
            case .trailers(let stream, let bytes, isTooLarge: false):
                let text = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
                texts.append("trailers \(stream) \(text.joined(separator: "|"))")
            case .failed, .ready, .goAway: texts.append("\(event)")
            case .settingsAcknowledged: texts.append("settings")
            case .pingAcknowledged: texts.append("ping")
            }
        }
        return texts
    }

    private func output(_ session: HTTP2Session) -> [UInt8] {
        session.fill(atMost: 1 << 20)
        let bytes = session.withOutput { $0.array }
        session.outputWasSent(bytes.count)
        return bytes
    }

    @Test("tells requests in the order of their frames, however they are split")
    func order() {
        let bytes =
            Self.request(1) + Self.request(3, flags: 4) + Self.frame(0, stream: 3, [0x61, 0x62])
            + Self.frame(0, flags: 1, stream: 3, [0x63])
        let expected = [
            "head 1 GET / HTTP/1.1|host: a",
            "head 3 GET / HTTP/1.1|host: a|transfer-encoding: chunked", "body 3 abc", "end 3",
        ]
        for size in 1...bytes.count {
            let split = session()
            receive(split, bytes, inPiecesOf: size)
            #expect(events(split) == expected, "\(size)")
        }
    }

    private func receive(_ session: HTTP2Session, _ bytes: [UInt8], inPiecesOf size: Int) {
        for start in stride(from: 0, to: bytes.count, by: size) {
            receive(session, Array(bytes[start..<min(bytes.count, start + size)]))
        }
    }

    @Test("ends where a stream depends on itself, however the frame is split", arguments: 1...14)
    func selfDependency(size: Int) {
        let other = session()
        receive(other, Self.frame(2, stream: 3, [0, 0, 0, 5, 1]), inPiecesOf: size)
        #expect(other.fault == nil)
        let own = session()
        receive(own, Self.frame(2, stream: 3, [0, 0, 0, 3, 1]), inPiecesOf: size)
        #expect(own.fault == .protocolError)
    }

    @Test("keeps nothing of a stream for the next one that uses its memory")
    func reuse() {
        let supply = StreamSupply()
        let section = FieldSectionLimits(byteCountMax: 4096)
        for _ in 0..<3 {
            let session = HTTP2Session(
                limits: HTTP2Limits(), fieldSection: section, supply: supply, now: 0)
            receive(session, HTTP2Session.clientPreface + Self.frame(4) + Self.request(1))
            guard case .head(let head)? = session.takeEvent() else {
                Issue.record("no head")
                return
            }
            #expect(String(decoding: head.bytes, as: UTF8.self).hasPrefix("GET / HTTP/1.1\r\n"))
            supply.giveBack(head: head.bytes)
            _ = output(session)
            session.fields.append(":status", decimal: 200)
            session.submitHead(stream: 1, hasContent: true)
            #expect(session.framedByteCount(stream: 1) == 0)
            let content = Array("hello".utf8)
            session.append(content.span, stream: 1)
            #expect(output(session).suffix(14) == Self.frame(0, stream: 1, content)[...])
            #expect(session.framedByteCount(stream: 1) == 5)
            // The client gives up while more waits, and trailers behind it.
            session.append(content.span, stream: 1)
            session.fields.append("x-sum", decimal: 42)
            session.endContent(stream: 1, hasTrailers: true)
            receive(session, Self.frame(3, stream: 1, [0, 0, 0, 8]))
            #expect(events(session) == ["closed 1 true"])
            #expect(session.waitingByteCount == 0)
        }
    }

    @Test("sends an answer with content and trailers")
    func answer() {
        let session = session()
        receive(session, Self.request(1))
        _ = events(session)
        _ = output(session)
        session.fields.append(":status", decimal: 200)
        session.submitHead(stream: 1, hasContent: true)
        #expect(Array(output(session)[3...4]) == [1, 4])
        let content = Array("hello".utf8)
        session.append(content.span, stream: 1)
        #expect(session.waitingByteCount == 5)
        #expect(output(session) == Self.frame(0, stream: 1, content))
        #expect(session.waitingByteCount == 0)
        session.fields.append("x-sum", decimal: 42)
        session.endContent(stream: 1, hasTrailers: true)
        let end = output(session)
        #expect(Array(end[3...4]) == [1, 5])
        #expect(events(session) == ["closed 1 false"])
    }

    @Test("tells of trailers that are too large, and looks at all of them")
    func largeTrailers() {
        let x: [UInt8] = [0, 1, 0x78, 0x7F, 0x81, 0x1F] + [UInt8](repeating: 0x61, count: 4096)
        let y: [UInt8] = [0, 1, 0x79, 1, 0x61]
        let malformed = [0, 14] + Array("http2-settings".utf8) + [1, 0x61]
        let head = "head 1 GET / HTTP/1.1|host: a|transfer-encoding: chunked"
        let tooLarge = [head, "trailers 1 too large", "end 1"]
        for (fields, expected) in [
            (y, [head, "trailers 1 y: a", "end 1"]), (x, tooLarge), (y + x, tooLarge),
            (x + y, tooLarge), (y + malformed, [head, "closed 1 true"]),
            (x + malformed, [head, "closed 1 true"]),
        ] {
            let session = session()
            receive(session, Self.request(1, flags: 4))
            receive(session, Self.frame(1, flags: 5, stream: 1, fields))
            _ = output(session)
            #expect(events(session) == expected)
        }
    }

    @Test("asks for no more of a request that was answered")
    func early() {
        let session = session()
        receive(session, Self.request(1, flags: 4))
        _ = output(session)
        session.fields.append(":status", decimal: 413)
        session.submitHead(stream: 1, hasContent: false)
        #expect(Array(output(session)[3...4]) == [1, 5])
        #expect(events(session).last == "answered early 1")
        // What is under way is taken, and makes no room for more.
        let content = [UInt8](repeating: 0, count: 16_384)
        for _ in 0..<3 { receive(session, Self.frame(0, stream: 1, content)) }
        _ = events(session)
        #expect(output(session).isEmpty)
        session.stopRequest(stream: 1)
        #expect(output(session) == Self.frame(3, stream: 1, [0, 0, 0, 0]))
        #expect(events(session) == ["closed 1 false"])
    }

    static let floods: [(HTTP2Fault, [UInt8], Int)] = [
        (.pingFlood, frame(6, [UInt8](repeating: 0, count: 8)), 100),
        (.settingsFlood, frame(4), 19),
        (.priorityFlood, frame(2, stream: 1, [0, 0, 0, 0, 1]), 200),
        (.emptyDataFlood, frame(0, stream: 1), 100),
        (.emptyDataFlood, frame(0, flags: 8, stream: 1, [2, 0, 0]), 100),
        (.windowUpdateFlood, frame(8, [0, 0, 0, 1]), 1000),
        (.unknownFrameFlood, frame(0xEE, stream: 1), 100),
        (.resetFlood, frame(3, stream: 1, [0, 0, 0, 8]), 200),
    ]

    @Test("ends at the first frame beyond a bound, which grows again", arguments: floods)
    func flood(fault: HTTP2Fault, bytes: [UInt8], count: Int) {
        let session = session { $0.unsentAckCountMax = 10_000 }
        receive(session, Self.request(1, flags: 4))
        for _ in 0..<count { receive(session, bytes) }
        #expect(session.fault == nil)
        // A tenth of the bound is there again after a second.
        for _ in 0..<max(1, count / 10) { receive(session, bytes, at: Self.second) }
        #expect(session.fault == nil)
        for _ in 0..<2 { receive(session, bytes, at: Self.second) }
        #expect(session.fault == fault)
        // GOAWAY with ENHANCE_YOUR_CALM is the last thing that is said.
        #expect(output(session).suffix(4).first == 0)
        #expect(session.isFinished)
    }

    @Test("takes ten WINDOW_UPDATE frames for each DATA frame, though all come at once")
    func delayedWindowUpdates() {
        let session = session()
        receive(session, Self.request(1))
        session.submitHead(stream: 1, hasContent: true)
        let (content, frameCount) = (Array("a".utf8), 300)
        for _ in 0..<frameCount {
            session.append(content.span, stream: 1)
            _ = output(session)
        }
        let update = Self.frame(8, [0, 0, 0, 1])
        for _ in 0..<frameCount * 10 + 1000 { receive(session, update) }
        #expect(session.fault == nil)
        receive(session, update)
        #expect(session.fault == .windowUpdateFlood)
    }

    /// The fault after 61 resets with `code` of a bound of 50.
    private func fault(
        ofResets code: UInt8, isAnswered: Bool, counts: Bool = true
    ) -> HTTP2Fault? {
        let session = session { $0.resetCountMax = 50 }
        session.countsResets = counts
        for index in 0...60 {
            let stream = UInt8(index * 2 + 1)
            receive(session, Self.request(stream, flags: 4))
            if isAnswered {
                session.fields.append(":status", decimal: 401)
                session.submitHead(stream: Int32(stream), hasContent: false)
                _ = output(session)
            }
            receive(session, Self.frame(3, stream: stream, [0, 0, 0, code]))
            _ = events(session)
        }
        return session.fault
    }

    @Test("counts no reset that throws nothing away, nor those of a client that carries many")
    func resets() {
        #expect(fault(ofResets: 8, isAnswered: false) == .resetFlood)
        #expect(fault(ofResets: 0, isAnswered: false) == .resetFlood)
        #expect(fault(ofResets: 1, isAnswered: true) == .resetFlood)
        #expect(fault(ofResets: 8, isAnswered: true) == nil)
        #expect(fault(ofResets: 0, isAnswered: true) == nil)
        #expect(fault(ofResets: 8, isAnswered: false, counts: false) == nil)
    }

    /// A session whose streams are all taken, and that has been asked for `count` more.
    private func overfull(by count: Int) -> HTTP2Session {
        let session = session {
            $0.concurrentStreamCountMax = 2
            $0.resetCountMax = 50
        }
        for index in 0..<count + 2 { receive(session, Self.request(UInt8(index * 2 + 1))) }
        return session
    }

    @Test("counts a stream too many as it comes, although the client never reads, and once")
    func refusedStreams() {
        // Nothing is made into frames meanwhile: what the resets take would only grow.
        #expect(overfull(by: 50).fault == nil)
        #expect(overfull(by: 51).fault == .resetFlood)
        let session = overfull(by: 50)
        #expect(output(session).count > 50 * 13)
        #expect(session.fault == nil)
    }

    @Test(
        "tells of a fault that the library found by itself",
        arguments: [
            (HTTP2Fault.protocolError, frame(0, stream: 0, [1])),
            (.protocolError, frame(8, [0, 0, 0, 0])), (.protocolError, request(2)),
            (.protocolError, frame(1, flags: 5, stream: 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF])),
            (.flowControl, frame(8, [0x7F, 0xFF, 0xFF, 0xFF])),
        ])
    func libraryFaults(fault: HTTP2Fault, bytes: [UInt8]) {
        let session = session()
        receive(session, bytes)
        _ = output(session)
        #expect(session.fault == fault)
    }

    @Test("takes a PRIORITY_UPDATE now and then for each request, and no flood of them")
    func priorityUpdates() {
        let session = session()
        let update = Self.frame(16, [0, 0, 0, 1] + Array("u=3".utf8))
        for stream in 0..<90 {
            receive(session, Self.request(UInt8(stream * 2 + 1)))
            for _ in 0..<10 { receive(session, update) }
        }
        #expect(session.fault == nil)
        #expect(events(session).count == 90)
        for _ in 0..<250 { receive(session, update) }
        #expect(session.fault == .priorityFlood)
    }

    @Test("bounds the frames and the size of a header block")
    func headerBlocks() {
        let many = session()
        receive(many, Self.frame(1, stream: 1, [0x82]))
        for _ in 0..<8 { receive(many, Self.frame(9, stream: 1)) }
        #expect(many.fault == nil && many.isInHeaderBlock)
        receive(many, Self.frame(9, stream: 1))
        #expect(many.fault == .continuationFlood)

        // One entry of the table, named again and again.
        let bomb = session()
        let literal = [0x40, 1, 0x78, 127, 0xA1, 0x1E] + [UInt8](repeating: 0x61, count: 4000)
        let block = [0x82, 0x86, 0x84] + literal + [UInt8](repeating: 0xBE, count: 100)
        receive(bomb, Self.frame(1, flags: 5, stream: 1, block))
        #expect(bomb.fault == .headerBomb)
        #expect(events(bomb).isEmpty)
    }

    @Test("answers a block that is a little too large")
    func tooLarge() {
        let session = session()
        let literal = [0x40, 1, 0x78, 127, 0xA1, 0x1E] + [UInt8](repeating: 0x61, count: 4000)
        let pseudo: [UInt8] = [0x82, 0x86, 0x84, 0x01, 1, 0x61]
        receive(session, Self.frame(1, flags: 5, stream: 1, pseudo + literal + [0xBE]))
        guard case .head(let head)? = session.takeEvent() else {
            Issue.record("no head")
            return
        }
        #expect(head.isTooLarge)
        #expect(session.fault == nil)
    }

    @Test("bounds the answers that a client does not read")
    func acks() {
        let session = session {
            $0.unsentAckCountMax = 10
            $0.pingCountMax = 1000
        }
        for _ in 0..<20 { receive(session, Self.frame(6, [0, 0, 0, 0, 0, 0, 0, 0])) }
        #expect(session.fault == .ackFlood)
    }

    @Test("ends where SETTINGS make a window too large, and a stream where its own update does")
    func windows() {
        let largest: [UInt8] = [0x7F, 0xFF, 0xFF, 0xFF]
        let stream = session()
        receive(stream, Self.request(1, flags: 4) + Self.frame(8, stream: 1, largest))
        #expect(output(stream).suffix(4) == [0, 0, 0, 3])
        #expect(stream.fault == nil)

        let whole = session()
        // To the largest, then one more by SETTINGS.
        let update = Self.frame(8, stream: 1, [0x7F, 0xFF, 0, 0])
        receive(whole, Self.request(1, flags: 4) + update)
        _ = output(whole)
        #expect(whole.fault == nil)
        receive(whole, Self.frame(4, [0, 4, 0, 1, 0, 0]))
        #expect(output(whole).suffix(4) == [0, 0, 0, 3])
        #expect(whole.fault == .flowControl)
        #expect(whole.isFinished)
    }

    @Test("survives bytes of any kind")
    func noise() {
        var state: UInt64 = 0x5A11
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for _ in 0..<2000 {
            let session = session()
            var bytes = Self.request(1, flags: 4) + Self.frame(0, flags: 1, stream: 1, [1, 2, 3])
            bytes += Self.request(3) + Self.frame(3, stream: 3, [0, 0, 0, 8])
            for _ in 0..<random(4) { bytes[random(bytes.count)] = UInt8(random(256)) }
            receive(session, bytes)
            _ = events(session)
            for stream: Int32 in [1, 3] where session.isOpen(stream) {
                session.fields.append(":status", decimal: 200)
                session.submitHead(stream: stream, hasContent: true)
                session.append(bytes.span, stream: stream)
                session.endContent(stream: stream)
            }
            _ = output(session)
            _ = events(session)
        }
    }
}
