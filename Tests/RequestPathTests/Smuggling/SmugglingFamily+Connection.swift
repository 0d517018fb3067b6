/// Several messages on one connection, older and foreign protocols.
extension SmugglingFamily {
    static let expectations = SmugglingFamily(
        name: "Expect",
        cases: [
            .forwarded(
                "POST /p", "abc", post("Expect: 100-Continue⏎Content-Length: 3", "abc"),
                fields: ["Expect": nil]),
            .forwarded(
                "POST /p", "abc",
                post("Expect:\t100-continue⏎Transfer-Encoding: chunked", "3⏎abc⏎0⏎⏎")),
            .forwarded("GET /p", plain("Expect: 100-continue"), fields: ["Expect": nil]),
            .forwarded("GET /p", "", plain("Expect: 100-continue⏎Content-Length: 0")),
            .forwarded(
                "POST /p", "abc",
                "POST /p HTTP/1.0⏎Host: a⏎Expect: 100-continue⏎Content-Length: 3⏎⏎abc",
                next: .closed),
            .refused(417, post("Expect: 100-continue;q=1⏎Content-Length: 3", "abc")),
            .refused(417, post("Expect: 100 continue⏎Content-Length: 3", "abc")),
            .refused(417, post("Expect: \"100-continue\"⏎Content-Length: 3", "abc")),
            .refused(417, post("Expect: y 100-continue⏎Content-Length: 3", "abc")),
            .refused(417, post("Expect: 100-continue\u{A0}⏎Content-Length: 3", "abc")),
            .refused(400, post("Expect : 100-continue⏎Content-Length: 3", "abc")),
            .refused(400, post("Expect: 100-continue⏎Expect: y⏎Content-Length: 3", "abc")),
            .refused(400, post("Expect:⏎ 100-continue⏎Content-Length: 3", "abc")),
            .answered(
                405,
                "PUT /attest/verify HTTP/1.1⏎Host: a⏎Expect: 100-continue⏎Content-Length: "
                    + "\(SmugglingCase.marker.utf8.count)⏎⏎", next: .content),
        ])

    static let sequences = SmugglingFamily(
        name: "pipelining",
        cases: [
            SmugglingCase(
                text: plain("X: b") + post("Content-Length: 3", "abc") + plain("X: c"),
                outcome: .forwarded(
                    [.init("GET /p"), .init("POST /p", "abc"), .init("GET /p")],
                    .served)),
            SmugglingCase(
                text: chunked("3⏎abc⏎0⏎⏎") + post("Content-Length: 5", "0⏎⏎"),
                outcome: .forwarded([.init("POST /p", "abc"), .init("POST /p", "0⏎⏎")], .served)),
            .forwarded("GET /p", plain("X: b") + "GET /q HTTP/1.1⏎⏎", next: .refused(400)),
            .forwarded("GET /p", plain("X: b") + chunked("z⏎"), next: .refused(400)),
            .forwarded("GET /p", plain("X: b") + "x", next: .refused(400)),
            .forwarded("GET /p", plain("X: b") + "\u{0}", next: .refused(400)),
            .forwarded("GET /p", plain("X: b") + "\n", next: .refused(400)),
            .forwarded("GET /p", plain("X: b") + " ", next: .refused(400)),
            .forwarded("GET /p", plain("X: b") + "⏎⏎", next: .refused(400)),
            .forwarded("GET /p", plain("X: b") + "⏎"),
            .forwarded("POST /p", "abc", post("Content-Length: 3", "abc⏎")),
            .forwarded(
                "POST /p", "GET /q HTTP/1.1⏎Host: a⏎⏎",
                post("Content-Length: 28", "GET /q HTTP/1.1⏎Host: a⏎⏎")),
            .forwarded("POST /p", "", post("Content-Length: 0", "0⏎⏎"), next: .refused(400)),
            .forwarded("GET /p", plain("Connection: close") + plain("X: b"), next: .closed),
            .answered(405, "GET /attest/verify HTTP/1.1⏎Host: a⏎⏎"),
        ])

    static let versions10 = SmugglingFamily(
        name: "HTTP/1.0",
        cases: [
            .forwarded("GET /p", "GET /p HTTP/1.0⏎Host: a⏎⏎", next: .closed),
            .forwarded("GET /p", "GET /p HTTP/1.0⏎Host: a⏎Connection: Keep-Alive⏎⏎"),
            .forwarded(
                "POST /p", "abc",
                "POST /p HTTP/1.0⏎Host: a⏎Connection: keep-alive⏎Content-Length: 3⏎⏎abc"),
            .forwarded(
                "POST /p", "abc", "POST /p HTTP/1.0⏎Host: a⏎Content-Length: 3⏎⏎abcGET",
                next: .closed),
            .forwarded("POST /p", "POST /p HTTP/1.0⏎Host: a⏎⏎abc", next: .closed),
            .forwarded(
                "GET /p", "GET /p HTTP/1.0⏎Host: a⏎Connection: keep-alive, close⏎⏎",
                next: .closed),
            .refused(
                400,
                "POST /p HTTP/1.0⏎Host: a⏎Content-Length: 3⏎Transfer-Encoding: chunked⏎⏎0⏎⏎"),
            .refused(
                400,
                "POST /p HTTP/1.0⏎Host: a⏎Connection: keep-alive⏎Transfer-Encoding: chunked⏎⏎"
                    + "0⏎⏎"),
            .refused(400, "POST /p HTTP/1.0⏎Host: a⏎Transfer-Encoding: identity⏎⏎"),
        ])

    static let foreign = SmugglingFamily(
        name: "other protocols",
        cases: [
            .refused(400, "HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎"),
            .refused(400, "PROXY TCP4 192.0.2.1 192.0.2.2 1 2⏎GET /p HTTP/1.1⏎Host: a⏎⏎"),
            .refused(400, "⏎⏎\u{0}⏎QUIT\n\u{21}\u{11}\u{0}\u{C}"),
            .refused(400, "EHLO a⏎"),
            .refused(400, "*1⏎$4⏎PING⏎"),
            .refused(400, "\u{80}\u{2E}\u{1}\u{3}\u{1}\u{0}"),
            .refused(400, "garbage⏎⏎"),
            .refused(400, "GET /p\n"),
            .refused(400, "--boundary⏎Content-Type: text/plain⏎⏎"),
        ])
}
