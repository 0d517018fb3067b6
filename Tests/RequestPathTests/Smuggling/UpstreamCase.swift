import GatewayTesting

/// What becomes of one answer of an upstream.
struct UpstreamCase: Sendable {
    enum Outcome: Equatable, Sendable {
        /// The client gets this status and content, whole. `isReused` tells whether another
        /// client's request may follow on the upstream's connection; nil where that closes.
        case relayed(Int, String, isReused: Bool?)
        /// 502, and the upstream's connection ends.
        case refused
        /// The answer has begun and breaks off, so that the client sees that it is not whole.
        case cutOff
    }

    let text: String
    let outcome: Outcome
    var method = "GET"
    var ending = UpstreamAnswer.Ending.keepAlive
    /// Fields that must not be in the client's answer.
    var absentFields: [String] = []

    /// As with ``SmugglingCase/bytes``.
    var answer: UpstreamAnswer {
        UpstreamAnswer(
            [.send(SmugglingCase(text: text, outcome: .unfinished).bytes)], then: ending)
    }

    static func refused(
        _ text: String, then ending: UpstreamAnswer.Ending = .keepAlive
    ) -> UpstreamCase {
        UpstreamCase(text: text, outcome: .refused, ending: ending)
    }

    static func cutOff(
        _ text: String, then ending: UpstreamAnswer.Ending = .keepAlive
    ) -> UpstreamCase {
        UpstreamCase(text: text, outcome: .cutOff, ending: ending)
    }

    static func relayed(
        status: Int = 200, _ body: String, isReused: Bool?, _ text: String,
        method: String = "GET", then ending: UpstreamAnswer.Ending = .keepAlive,
        without absentFields: [String] = []
    ) -> UpstreamCase {
        UpstreamCase(
            text: text, outcome: .relayed(status, body, isReused: isReused), method: method,
            ending: ending, absentFields: absentFields)
    }

    private static func ok(_ fields: String, _ body: String = "") -> String {
        "HTTP/1.1 200 OK⏎\(fields)⏎⏎\(body)"
    }

    private static func chunked(_ body: String) -> String {
        ok("Transfer-Encoding: chunked", body)
    }
}

extension UpstreamCase {
    /// Heads that have two readings, or none.
    static let refusedHeads: [UpstreamCase] = [
        .refused(ok("Content-Length: 5⏎Content-Length: 5", "hello")),
        .refused(ok("Content-Length: 5, 5", "hello")),
        .refused(ok("Content-Length: +5", "hello")),
        .refused(ok("Content-Length: 0x5", "hello")),
        .refused(ok("Content-Length: 5\u{A0}", "hello")),
        .refused(ok("Content-Length:")),
        .refused(ok("Content-Length: 5 5", "hello")),
        .refused(ok("Transfer-Encoding: chunked⏎Content-Length: 5", "0⏎⏎")),
        .refused(ok("Transfer-Encoding: gzip, chunked", "0⏎⏎")),
        .refused(ok("Transfer-Encoding: chunked, chunked", "0⏎⏎")),
        .refused(ok("Transfer-Encoding: identity⏎Content-Length: 5", "hello")),
        .refused(ok("Transfer-Encoding: xchunked", "0⏎⏎")),
        .refused(ok("Transfer-Encoding: chunked⏎Transfer-Encoding: chunked", "0⏎⏎")),
        .refused("HTTP/1.0 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎⏎"),
        .refused(ok("Transfer-Encoding : chunked", "0⏎⏎")),
        .refused(ok("Transfer-Encoding:\u{B}chunked", "0⏎⏎")),
        .refused(ok("X: b⏎ c⏎Content-Length: 0")),
        .refused(ok("Content-Type: text/html;⏎ charset=utf-8⏎Content-Length: 0")),
        .refused(ok("Content-Length: 5⏎ 0", "hello")),
        .refused(ok("X: b\rSet-Cookie: c⏎Content-Length: 0")),
        .refused(ok("X: b\nSet-Cookie: c⏎Content-Length: 0")),
        .refused("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
        .refused(ok("X\u{0}: b⏎Content-Length: 0")),
        .refused(ok("Connection: Content-Length⏎Content-Length: 5", "hello")),
        .refused(ok("Connection: b c⏎Content-Length: 0")),
        .refused("HTTP/1.1 101 Switching Protocols⏎⏎"),
        .refused(String(repeating: "HTTP/1.1 100 Continue⏎⏎", count: 100) + ok("X: b")),
        .refused("HTTP/1.1 103 Early Hints⏎Content-Length: 5⏎⏎hello" + ok("Content-Length: 0")),
        .refused("HTTP/1.1 100 Continue⏎Transfer-Encoding: chunked⏎⏎0⏎⏎"),
        .refused(ok("Content-Length : 5", "hello")),
        .refused("<html>hello</html>", then: .close),
        .refused("HTTP/1.1 200OK⏎Content-Length: 0⏎⏎"),
        .refused("HTTP/1.1  200 OK⏎Content-Length: 0⏎⏎"),
        .refused("HTTP/1.1 20 OK⏎Content-Length: 0⏎⏎"),
        .refused("HTTP/1.2 200 OK⏎Content-Length: 0⏎⏎"),
        .refused("http/1.1 200 OK⏎Content-Length: 0⏎⏎"),
        .refused("HTTP/1.1 200 O\u{0}K⏎Content-Length: 0⏎⏎"),
        .refused("HTTP/1.1\t200 OK⏎Content-Length: 0⏎⏎"),
        .refused("⏎HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎"),
        .refused("", then: .close),
        .refused("HTTP/1.1 200 OK⏎Content-Le", then: .close),
        .refused("HTTP/1.1 200 OK⏎Content-Length: 0⏎", then: .close),
    ]

    /// Bodies that go wrong once the head is on its way.
    static let cutOffBodies: [UpstreamCase] = [
        .cutOff(chunked("5⏎hello⏎zz⏎")),
        .cutOff(chunked("5⏎helloX⏎0⏎⏎")),
        .cutOff(chunked("5\nhello⏎0⏎⏎")),
        .cutOff(chunked("5 ⏎hello⏎0⏎⏎")),
        .cutOff(chunked("-5⏎hello⏎0⏎⏎")),
        .cutOff(chunked("0x5⏎hello⏎0⏎⏎")),
        .cutOff(chunked("00000000000000005⏎hello⏎0⏎⏎")),
        .cutOff(chunked("8000000000000000⏎hello")),
        .cutOff(chunked("5;a=\"\n\"⏎hello⏎0⏎⏎")),
        .cutOff(chunked("5⏎hello⏎0⏎Content-Length: 5⏎⏎")),
        .cutOff(chunked("5⏎hello⏎0⏎X: b\nY: c⏎⏎")),
        .cutOff(chunked("5⏎hello⏎0⏎\n")),
        .cutOff(chunked("5⏎hello⏎0⏎"), then: .close),
        .cutOff(chunked("5⏎hello⏎"), then: .close),
        .cutOff(ok("Content-Length: 10", "hello"), then: .close),
        .cutOff(ok("Content-Length: 10", "hello"), then: .reset),
    ]

    /// Answers with one reading, some with more behind them than was asked for.
    static let relayedAnswers: [UpstreamCase] = [
        .relayed(status: 204, "", isReused: false, "HTTP/1.1 204 No Content⏎⏎hello"),
        .relayed(
            status: 204, "", isReused: false,
            "HTTP/1.1 204 No Content⏎Content-Length: 5⏎⏎hello", without: ["Content-Length"]),
        .relayed(
            status: 204, "", isReused: false,
            "HTTP/1.1 204 No Content⏎Transfer-Encoding: chunked⏎⏎0⏎⏎",
            without: ["Transfer-Encoding"]),
        .relayed("ok", isReused: true, ok("X-Foo : bar⏎Content-Length: 2", "ok")),
        .relayed("ok", isReused: false, ok("Connection : close⏎Content-Length: 2", "ok")),
        .relayed(status: 204, "", isReused: true, "HTTP/1.1 204 No Content⏎Content-Length: 0⏎⏎"),
        .relayed(
            status: 304, "", isReused: false,
            "HTTP/1.1 304 Not Modified⏎Content-Length: 5⏎⏎hello"),
        .relayed(status: 304, "", isReused: true, "HTTP/1.1 304 Not Modified⏎Content-Length: 5⏎⏎"),
        .relayed("", isReused: false, ok("Content-Length: 5", "hello"), method: "HEAD"),
        .relayed("", isReused: true, ok("Content-Length: 5"), method: "HEAD"),
        .relayed("", isReused: true, chunked(""), method: "HEAD"),
        .relayed("", isReused: true, ok("X: b"), method: "HEAD"),
        .relayed(
            "ok", isReused: false,
            ok("Content-Length: 2", "ok") + ok("Content-Length: 5", "other")),
        .relayed("ok", isReused: false, ok("Content-Length: 2", "ok⏎")),
        .relayed("", isReused: false, ok("Content-Length: 0", "hello")),
        .relayed(
            "ok", isReused: false, chunked("2⏎ok⏎0⏎⏎") + ok("Content-Length: 5", "other")),
        .relayed(
            "ok", isReused: true, chunked("2;a=b⏎ok⏎0⏎X-Inner: b⏎⏎"), without: ["X-Inner"]),
        .relayed("ok", isReused: true, ok("Transfer-Encoding: Chunked", "2⏎ok⏎0⏎⏎")),
        .relayed(
            "ok", isReused: true,
            ok("Content-Type: text/plain⏎Content-Type: text/html⏎Content-Length: 2", "ok")),
        .relayed("ok", isReused: true, ok("Content-Length: 002", "ok")),
        .relayed("hello", isReused: nil, ok("X: b", "hello"), then: .close),
        .relayed("ok", isReused: false, ok("Connection: close⏎Content-Length: 2", "ok")),
        .relayed("ok", isReused: false, "HTTP/1.0 200 OK⏎Content-Length: 2⏎⏎ok"),
        .relayed(
            "ok", isReused: true,
            "HTTP/1.0 200 OK⏎Connection: keep-alive⏎Content-Length: 2⏎⏎ok"),
        .relayed(
            "ok", isReused: true,
            "HTTP/1.1 100 Continue⏎⏎HTTP/1.1 103 Early Hints⏎X: b⏎⏎"
                + ok("Content-Length: 2", "ok")),
        .relayed("ok", isReused: true, "HTTP/1.1 200⏎Content-Length: 2⏎⏎ok"),
        .relayed(status: 999, "ok", isReused: true, "HTTP/1.1 999 \u{FF}⏎Content-Length: 2⏎⏎ok"),
        .relayed(
            "ok", isReused: true,
            ok("Connection: X-Inner⏎X-Inner: b⏎Keep-Alive: max=1⏎Content-Length: 2", "ok"),
            without: ["X-Inner", "Keep-Alive"]),
        .relayed(
            "ok", isReused: true, ok("X-App_Attest-Challenge: b⏎Content-Length: 2", "ok"),
            without: ["X-App_Attest-Challenge"]),
        .relayed(
            "ok", isReused: true, ok("Upgrade: h2c⏎Content-Length: 2", "ok"),
            without: ["Upgrade"]),
    ]
}
