/// What a ``RecordingUpstream`` does with a request: steps in order, then what becomes of the
/// connection.
public struct UpstreamAnswer: Sendable {
    public enum Step: Sendable {
        case send([UInt8])
        /// Waits until the test opens the gate.
        case wait(Gate)
        /// Sends this many bytes of nothing in particular.
        case stream(byteCount: Int)
    }

    public enum Ending: Sendable {
        case keepAlive
        case close
        case reset
    }

    public var steps: [Step]
    public var ending: Ending

    public init(_ steps: [Step], then ending: Ending = .keepAlive) {
        self.steps = steps
        self.ending = ending
    }

    /// Exactly this text.
    public static func raw(_ text: String, then ending: Ending = .keepAlive) -> UpstreamAnswer {
        UpstreamAnswer([.send(Array(text.utf8))], then: ending)
    }

    /// A response with `Content-Length`.
    public static func response(
        _ status: Int = 200, fields: [(String, String)] = [], body: String = "hello\n"
    ) -> UpstreamAnswer {
        .raw(head(status, fields, byteCount: body.utf8.count) + body)
    }

    /// As ``response(_:fields:body:)``, once the test opens the gate.
    public static func response(after gate: Gate, body: String = "hello\n") -> UpstreamAnswer {
        let text = head(200, [], byteCount: body.utf8.count) + body
        return UpstreamAnswer([.wait(gate), .send(Array(text.utf8))])
    }

    /// A response of so many bytes with `Content-Length`.
    public static func large(byteCount: Int) -> UpstreamAnswer {
        let head = head(200, [], byteCount: byteCount)
        return UpstreamAnswer([.send(Array(head.utf8)), .stream(byteCount: byteCount)])
    }

    public static func chunked(_ chunks: [String], trailers: String = "") -> UpstreamAnswer {
        let body = chunks.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
        return .raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)0\r\n\(trailers)\r\n")
    }

    /// Content that ends with the connection.
    public static func closeDelimited(_ body: String) -> UpstreamAnswer {
        .raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n\(body)", then: .close)
    }

    /// Dies before any byte of an answer.
    public static let dies = UpstreamAnswer([], then: .close)

    private static func head(
        _ status: Int, _ fields: [(String, String)], byteCount: Int
    ) -> String {
        "HTTP/1.1 \(status) Status\r\nContent-Length: \(byteCount)\r\n"
            + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
    }
}

extension UpstreamAnswer {
    /// This answer's steps, then those of `next` and its ending.
    public func followed(by next: UpstreamAnswer) -> UpstreamAnswer {
        UpstreamAnswer(steps + next.steps, then: next.ending)
    }
}
