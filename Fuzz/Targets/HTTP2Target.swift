import Bytes
import HTTP
import HTTP2

extension FuzzTarget {
    /// Frames behind a client's preface: read alike however they are cut, answered without a trap,
    /// and no head that was made of them reads as more or less than one request.
    static let http2 = FuzzTarget("http2", byteCountMax: 1024, allocatedPerByte: 5000) { bytes in
        let whole = try SessionTrace(bytes, cuts: [bytes.count])
        for cuts in Cuts.all(of: bytes) {
            try FuzzFinding.requireEqual(
                whole, try SessionTrace(bytes, cuts: cuts), "cut otherwise, frames read otherwise")
        }
        _ = try SessionTrace(bytes, cuts: [bytes.count], answers: true)
    }
}

/// The result of an ``HTTP2Session`` for an input.
private struct SessionTrace: Equatable {
    var heads: [String] = []
    var bodies: [Int32: [UInt8]] = [:]
    var ends: [Int32] = []
    var fault: HTTP2Fault?

    private static let emptySettings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

    init(_ bytes: [UInt8], cuts: [Int], answers: Bool = false) throws(FuzzFinding) {
        let session = HTTP2Session(
            limits: HTTP2Limits(), fieldSection: FieldSectionLimits(byteCountMax: 1024), now: 0)
        let beginning = HTTP2Session.clientPreface + Self.emptySettings
        session.receive(beginning.span, now: 0)
        var position = 0
        for cut in cuts {
            session.receive(bytes.span.extracting(position..<cut), now: 0)
            position = cut
            try takeEvents(of: session, answers: answers)
        }
        if answers { session.sendAll() }
        // How much came of a body before its stream was found at fault is a matter of the cuts.
        bodies = bodies.filter { ends.contains($0.key) }
        fault = session.fault
    }

    private mutating func takeEvents(
        of session: HTTP2Session, answers: Bool
    ) throws(FuzzFinding) {
        while let event = session.takeEvent() {
            switch event {
            case .head(let head):
                try Self.check(head)
                heads.append("\(head.stream) \(head.isTooLarge) \(head.isEnd) \(head.bytes)")
                if answers { answer(head.stream, session) }
            case .body(let stream, let byteCount):
                let body = session.takeBody(stream: stream, byteCount: byteCount) {
                    ($0.array, false)
                }
                bodies[stream, default: []] += body
            case .end(let stream): ends.append(stream)
            case .trailers(_, let bytes, _): _ = try? TrailerSection(parsing: bytes)
            case .failed, .ready, .goAway: throw FuzzFinding("a server's event: \(event)")
            case .answeredEarly, .closed, .malformed, .settingsAcknowledged, .pingAcknowledged:
                break
            }
        }
    }

    /// A head that HTTP/1.1's parser takes is one message to its last byte.
    private static func check(_ event: HeadEvent) throws(FuzzFinding) {
        guard !event.isTooLarge else { return }
        var head = RequestHead()
        let bytes = event.bytes
        switch head.parse(bytes.span, limits: .wide) {
        case .refused: return
        case .incomplete: throw FuzzFinding("a head without an end: \(bytes)")
        case .complete:
            try FuzzFinding.require(
                head.byteCount == bytes.count && head.fields.count == event.fieldCount,
                "a head that reads as another: \(bytes)")
        }
    }

    private func answer(_ stream: Int32, _ session: HTTP2Session) {
        guard session.isOpen(stream) else { return }
        session.fields.append(":status", decimal: 200)
        session.submitHead(stream: stream, hasContent: true)
        let content = Array("content".utf8)
        session.append(content.span, stream: stream)
        session.endContent(stream: stream)
    }
}
