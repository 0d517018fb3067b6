import GatewayTesting
import JSON
import Testing

// RFC 9113 sections 3 to 6, and the floods that its section 10.5 warns of.
@Suite("An HTTP/2 connection", .enabled(if: BuiltProgram.isBuilt))
struct HTTP2ConnectionTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(.http2(upstreamPort: upstream.port))
    }
}

extension HTTP2ConnectionTests {
    struct Flood: Sendable, CustomTestStringConvertible {
        let fault: String
        var count = 1
        let frames: [HTTP2Frame]
        var testDescription: String { fault }
    }

    static let floods: [Flood] = [
        Flood(fault: "ping_flood", count: 300, frames: [.ping()]),
        Flood(fault: "settings_flood", count: 100, frames: [.settings()]),
        Flood(
            fault: "priority_flood", count: 500,
            frames: [HTTP2Frame(.priority, stream: 3, payload: [0, 0, 0, 0, 1])]),
        Flood(fault: "unknown_frame_flood", count: 300, frames: [HTTP2Frame(type: 0xEE)]),
        Flood(fault: "window_update_flood", count: 3000, frames: [.windowUpdate(0, 1)]),
        Flood(
            fault: "empty_data_flood", count: 300,
            frames: [HTTP2Frame(.data, stream: 1)]),
        Flood(
            fault: "continuation_flood", count: 100,
            frames: [HTTP2Frame(.continuation, stream: 3)]),
    ]

    @Test("ends with ENHANCE_YOUR_CALM where it is flooded", arguments: floods)
    func flood(_ flood: Flood) throws {
        let client = try HTTP2Client(port: gateway.port)
        try client.send(.headers(1, HTTP2Client.head("POST"), endStream: false))
        if flood.fault == "continuation_flood" {
            try client.send(.headers(3, HTTP2Client.head(), endHeaders: false))
        }
        for _ in 0..<flood.count { try client.socket.send(flood.frames.flatMap(\.bytes)) }
        try client.receiveToEnd()
        #expect(client.goAways.map(\.code) == [11])
        let event = try gateway.waitForEvent("http2_fault")
        #expect(event["message"]?.stringValue == "\(flood.fault) by 127.0.0.1")
        #expect(try gateway.exchange("GET", "/").status == 200)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("ends where requests are begun only to be reset")
    func rapidReset() throws {
        let client = try HTTP2Client(port: gateway.port)
        var frames: [HTTP2Frame] = []
        for stream in stride(from: UInt32(1), to: 1001, by: 2) {
            frames += [.headers(stream, HTTP2Client.head()), .reset(stream)]
        }
        try client.send(frames)
        try client.receiveToEnd()
        #expect(client.goAways.map(\.code) == [11])
        try gateway.waitForEvent("http2_fault")
        // Reset in the same breath, none of them cost the upstream anything.
        #expect(upstream.requests.isEmpty)
    }

    @Test("ends where it is made to reset streams")
    func madeToReset() throws {
        let client = try HTTP2Client(port: gateway.port)
        for stream in stride(from: UInt32(1), to: 1001, by: 2) {
            try client.send(
                .headers(stream, HTTP2Client.head("POST"), endStream: false),
                .windowUpdate(stream, 0x7FFF_FFFF))
            while client.answers[stream]?.isOver != true, try client.receive() != nil {}
            if !client.goAways.isEmpty { break }
        }
        try client.receiveToEnd()
        #expect(client.goAways.last?.code == 11)
    }

    /// What ends the connection, and the codes by which it may.
    static let violations: [(String, [HTTP2Frame], Set<UInt32>)] = [
        ("DATA on an idle stream", [.data(1, [1])], [1]),
        ("RST_STREAM on an idle stream", [.reset(1)], [1]),
        ("WINDOW_UPDATE on an idle stream", [.windowUpdate(1, 1)], [1]),
        ("CONTINUATION alone", [HTTP2Frame(.continuation, flags: 4, stream: 1)], [1]),
        ("DATA on stream 0", [.data(0, [1])], [1]),
        ("HEADERS on stream 0", [.headers(0, HTTP2Client.head())], [1]),
        ("PRIORITY on stream 0", [HTTP2Frame(.priority, payload: [0, 0, 0, 1, 1])], [1]),
        ("RST_STREAM on stream 0", [.reset(0)], [1]),
        ("SETTINGS on a stream", [HTTP2Frame(.settings, stream: 1)], [1]),
        (
            "PING on a stream",
            [HTTP2Frame(.ping, stream: 1, payload: .init(repeating: 0, count: 8))],
            [1]
        ),
        (
            "GOAWAY on a stream",
            [HTTP2Frame(.goAway, stream: 1, payload: .init(repeating: 0, count: 8))], [1]
        ),
        ("an even stream", [.headers(2, HTTP2Client.head())], [1]),
        (
            "a smaller stream",
            [.headers(5, HTTP2Client.head()), .headers(3, HTTP2Client.head())], [1]
        ),
        (
            "PUSH_PROMISE", [HTTP2Frame(.pushPromise, flags: 4, stream: 1, payload: [0, 0, 0, 2])],
            [1]
        ),
        ("a short PING", [HTTP2Frame(.ping, payload: [1])], [6]),
        ("a short SETTINGS", [HTTP2Frame(.settings, payload: [1])], [6]),
        (
            "an acknowledgement with content",
            [HTTP2Frame(.settings, flags: 1, payload: [0, 1, 0, 0, 0, 0])], [6]
        ),
        (
            "a short RST_STREAM",
            [
                .headers(1, HTTP2Client.head("POST"), endStream: false),
                HTTP2Frame(.reset, stream: 1, payload: [1]),
            ], [6]
        ),
        ("a short WINDOW_UPDATE", [HTTP2Frame(.windowUpdate, payload: [1])], [6]),
        ("a short GOAWAY", [HTTP2Frame(.goAway, payload: [1])], [6]),
        ("WINDOW_UPDATE of nothing", [.windowUpdate(0, 0)], [1]),
        (
            "PRIORITY of a stream on itself",
            [HTTP2Frame(.priority, stream: 3, payload: [0, 0, 0, 3, 1])], [1]
        ),
        (
            "a request that depends on itself",
            [
                HTTP2Frame(
                    .headers, flags: 0x25, stream: 3,
                    payload: [0, 0, 0, 3, 9] + HeaderBlock.request)
            ], [1]
        ),
        ("a short PRIORITY", [HTTP2Frame(.priority, stream: 3, payload: [0])], [6]),
        ("a window beyond 2^31-1", [.windowUpdate(0, 0x7FFF_FFFF), .windowUpdate(0, 1)], [3]),
        ("ENABLE_PUSH of 2", [.settings([(2, 2)])], [1]),
        ("INITIAL_WINDOW_SIZE beyond 2^31-1", [.settings([(4, 0x8000_0000)])], [3]),
        ("MAX_FRAME_SIZE below 2^14", [.settings([(5, 16383)])], [1]),
        ("MAX_FRAME_SIZE beyond 2^24-1", [.settings([(5, 16_777_216)])], [1]),
        (
            "padding longer than DATA",
            [
                .headers(1, HTTP2Client.head("POST"), endStream: false),
                HTTP2Frame(.data, flags: 9, stream: 1, payload: [9, 1]),
            ], [1]
        ),
        (
            "padding longer than HEADERS",
            [HTTP2Frame(.headers, flags: 13, stream: 1, payload: [200, 0x82])], [1]
        ),
        (
            "a frame beyond MAX_FRAME_SIZE",
            [
                .headers(1, HTTP2Client.head("POST"), endStream: false),
                .data(1, .init(repeating: 0, count: 16_385)),
            ], [6]
        ),
        (
            "another frame inside a header block",
            [.headers(1, HTTP2Client.head(), endHeaders: false), .ping()], [1]
        ),
        (
            "another stream inside a header block",
            [
                .headers(1, HTTP2Client.head(), endHeaders: false),
                HTTP2Frame(.continuation, flags: 4, stream: 3),
            ], [1]
        ),
        (
            "a header block that is none",
            [HTTP2Frame(.headers, flags: 5, stream: 1, payload: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF])],
            [9]
        ),
        (
            "an index beyond the table",
            [HTTP2Frame(.headers, flags: 5, stream: 1, payload: [0xFE])], [9]
        ),
    ]

    @Test("ends with the code that RFC 9113 names", arguments: violations.indices)
    func violation(index: Int) throws {
        let (name, frames, codes) = Self.violations[index]
        let client = try HTTP2Client(port: gateway.port)
        try client.send(frames)
        try client.receiveToEnd()
        #expect(client.goAways.last.map { codes.contains($0.code) } == true, "\(name)")
        #expect(gateway.alarms.isEmpty)
    }

    @Test("ends where a stream that was closed is used again")
    func closedStream() throws {
        for frame in [HTTP2Frame.data(1, [1]), .headers(1, HTTP2Client.head())] {
            let answered = try HTTP2Client(port: gateway.port)
            #expect(try answered.exchange(1).status == 200)
            try answered.send(frame)
            try answered.receiveToEnd()
            #expect(answered.goAways.last?.code == 5)

            let reset = try HTTP2Client(port: gateway.port)
            try reset.send(
                .headers(1, HTTP2Client.head("POST"), endStream: false), .reset(1), frame)
            try reset.receiveToEnd()
            #expect(reset.goAways.last?.code == 5)
        }
        let late = try HTTP2Client(port: gateway.port)
        #expect(try late.exchange(1).status == 200)
        // These may have been under way.
        try late.send(
            .windowUpdate(1, 1), .reset(1),
            HTTP2Frame(.priority, stream: 1, payload: [0, 0, 0, 0, 1]))
        #expect(try late.exchange(3).status == 200)
    }

    @Test("goes on where one stream is at fault")
    func streamFaults() throws {
        let client = try HTTP2Client(port: gateway.port)
        try client.send(
            .headers(1, HTTP2Client.head("POST"), endStream: false), .windowUpdate(1, 0x7FFF_FFFF))
        #expect(try client.answer(1).resetCode == 3)
        #expect(try client.exchange(3).status == 200)
    }

    @Test("takes what RFC 9113 has it ignore")
    func ignored() throws {
        let client = try HTTP2Client(port: gateway.port)
        try client.send(
            HTTP2Frame(type: 0xEE, flags: 0xFF, stream: 7, payload: [1, 2, 3]),
            .settings([(0xFF, 7)]),
            HTTP2Frame(.ping, flags: 0xFE, payload: .init(repeating: 9, count: 8)),
            HTTP2Frame(.priority, stream: 9, payload: [0, 0, 0, 0, 1]))
        #expect(try client.exchange(1).status == 200)
        let fields = HeaderBlock.request
        try client.send(
            HTTP2Frame(
                .headers, flags: 0x2D, stream: 3, payload: [2, 0, 0, 0, 0, 9] + fields + [0, 0]))
        #expect(try client.answer(3).status == 200)
        try client.send(
            HTTP2Frame(.headers, flags: 1, stream: 5, payload: Array(fields[..<3])),
            HTTP2Frame(.continuation, stream: 5, payload: Array(fields[3..<4])),
            HTTP2Frame(.continuation, flags: 4, stream: 5, payload: Array(fields[4...])))
        #expect(try client.answer(5).status == 200)
    }

    /// `GET http://a/` in entries of the static table and one literal.
    enum HeaderBlock {
        static let request: [UInt8] = [0x82, 0x86, 0x84, 0x01, 1, 0x61]
    }

    @Test("refuses streams beyond what it offered, and serves the others")
    func concurrency() throws {
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        let client = try HTTP2Client(port: gateway.port)
        #expect(client.serverSettings[3] == 100)
        for stream in stride(from: UInt32(1), to: 201, by: 2) { try client.request(stream) }
        try upstream.waitForRequests(100)
        try client.request(201)
        while client.answers[201]?.isOver != true, try client.receive() != nil {}
        gate.open()
        #expect(client.answers[201]?.resetCode != nil || !client.goAways.isEmpty)
    }

    @Test("begins with the preface and SETTINGS, or not at all")
    func preface() throws {
        let client = try HTTP2Client(port: gateway.port, settings: nil)
        try client.socket.send(HTTP2Client.preface + HTTP2Frame.ping().bytes)
        try client.receiveToEnd()
        #expect(client.goAways.last?.code == 1)
        let broken = try gateway.connect()
        try broken.send("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")
        #expect(try broken.receive().status == 400)
        // Byte by byte it is the same preface.
        let slow = try HTTP2Client(port: gateway.port, settings: nil)
        for byte in HTTP2Client.preface { try slow.socket.send([byte]) }
        try slow.send(.settings())
        #expect(try slow.exchange(1).status == 200)
    }
}
