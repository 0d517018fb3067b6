import Bytes
import HTTP
import HTTP2

extension FuzzTarget {
    /// Frames of a server that was asked twice (streams 1, with content, and 3): read alike however
    /// they are cut, and no head that was made of them reads as more or less than one answer.
    static let http2Client = FuzzTarget("http2-client", byteCountMax: 1024, allocatedPerByte: 5000)
    { bytes in
        let whole = try AnswerTrace(bytes, cuts: [bytes.count])
        for cuts in Cuts.all(of: bytes) {
            try FuzzFinding.requireEqual(
                whole, try AnswerTrace(bytes, cuts: cuts), "cut otherwise, frames read otherwise")
        }
    }
}

/// The result of an ``HTTP2ClientSession`` for an input.
private struct AnswerTrace: Equatable {
    var heads: [String] = []
    var bodies: [Int32: [UInt8]] = [:]
    var trailers: [String] = []
    var ends: [Int32] = []
    /// Why depends on whether our reset or the server's came first.
    var failed: Set<Int32> = []
    var isGoingAway = false
    /// The connection is over: by a fault that we have found, or nghttp2.
    var hasEnded = false

    private static let emptySettings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    private static let request = Array("POST / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)

    init(_ bytes: [UInt8], cuts: [Int]) throws(FuzzFinding) {
        let session = HTTP2ClientSession(
            limits: HTTP2ClientLimits(), fieldSection: FieldSectionLimits(byteCountMax: 1024))
        session.receive(Self.emptySettings.span)
        try takeEvents(of: session)
        for hasContent in [true, false] {
            let isHead = session.fields.append(requestHead: Self.request.span, scheme: "http")
            let stream = session.submitRequest(hasContent: hasContent)
            try FuzzFinding.require(isHead && stream != nil, "a request that cannot be made")
        }
        session.sendAll()
        var position = 0
        for cut in cuts {
            session.receive(bytes.span.extracting(position..<cut))
            position = cut
            try takeEvents(of: session)
        }
        // Not before: what a server's frame means changes with what it can have heard of us. What
        // nghttp2 ends by itself is over once it has said so.
        session.sendAll()
        try takeEvents(of: session)
        hasEnded = session.fault != nil || session.isFinished
        // How much came of a body before its stream was found at fault is a matter of the cuts.
        bodies = bodies.filter { ends.contains($0.key) }
        // What is open fails with its connection, told or not.
        if hasEnded { failed = [] }
        isGoingAway = session.isGoingAway
    }

    private mutating func takeEvents(of session: HTTP2ClientSession) throws(FuzzFinding) {
        while let event = session.takeEvent() {
            switch event {
            case .head(let head):
                try Self.check(head)
                heads.append("\(head.stream) \(head.isTooLarge) \(head.isEnd) \(head.bytes)")
            case .body(let stream, let byteCount):
                let body = session.takeBody(stream: stream, byteCount: byteCount) {
                    ($0.array, false)
                }
                bodies[stream, default: []] += body
            case .trailers(let stream, let bytes, let isTooLarge):
                _ = try? TrailerSection(parsing: bytes)
                trailers.append("\(stream) \(isTooLarge) \(bytes)")
            case .end(let stream):
                try FuzzFinding.require(
                    heads.contains { $0.hasPrefix("\(stream) ") }, "an end without a head")
                ends.append(stream)
            case .failed(let stream, _):
                try FuzzFinding.require(!ends.contains(stream), "an answer that ends and fails")
                failed.insert(stream)
            case .answeredEarly, .malformed: throw FuzzFinding("a client's event: \(event)")
            case .ready, .goAway, .closed, .settingsAcknowledged, .pingAcknowledged: break
            }
        }
    }

    /// A head that HTTP/1.1's parser takes is one answer to its last byte.
    private static func check(_ event: HeadEvent) throws(FuzzFinding) {
        guard !event.isTooLarge else { return }
        var head = ResponseHead()
        let bytes = event.bytes
        switch head.parse(bytes.span, limits: .wide, requestMethodKind: .post) {
        case .refused: return
        case .incomplete: throw FuzzFinding("a head without an end: \(bytes)")
        case .complete:
            try FuzzFinding.require(
                head.byteCount == bytes.count && head.fields.count == event.fieldCount,
                "a head that reads as another: \(bytes)")
        }
    }
}
