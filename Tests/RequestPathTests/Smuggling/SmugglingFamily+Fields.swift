/// Field lines: their syntax, their names, what Connection and Upgrade say.
extension SmugglingFamily {
    static let fields = SmugglingFamily(
        name: "field syntax",
        cases: [
            .refused(400, plain("\u{B}X: b")),
            .refused(400, plain("X\u{B}: b")),
            .refused(400, plain("X\u{C}: b")),
            .refused(400, plain("X\u{A0}: b")),
            .refused(400, plain("\u{A0}X: b")),
            .refused(400, plain("X: \u{C}b")),
            .refused(400, plain("X: b\u{8}")),
            .refused(400, plain("X: \u{1B}[0m")),
            .refused(400, plain("X: b\r c")),
            .refused(400, plain("X: b\n c")),
            .refused(400, plain("X=b")),
            .refused(400, plain("=X: b")),
            .refused(400, plain("X,Y: b")),
            .refused(400, plain("X;Y: b")),
            .refused(400, plain("X@Y: b")),
            .refused(400, plain("[X]: b")),
            .refused(400, plain("{X}: b")),
            .refused(400, plain("X\\Y: b")),
            .refused(400, plain("GET /smuggled HTTP/1.1⏎Host: b")),
            .refused(400, plain("X⏎Transfer-Encoding: chunked")),
            .forwarded("GET /p", plain("X: b\u{85}c")),
            .forwarded("GET /p", plain("X:\u{A0}b")),
            .forwarded("GET /p", plain("X:")),
            .forwarded("GET /p", plain("X::b"), fields: ["X": ":b"]),
            .forwarded("GET /p", plain("!#$%&'*+-.^_`|~: b"), fields: ["!#$%&'*+-.^_`|~": "b"]),
        ])

    static let disguises = SmugglingFamily(
        name: "names in disguise",
        cases: [
            .refused(400, plain("X-Attest-Result : verified")),
            .refused(400, plain("X-Attest-Result\u{0}: verified")),
            .forwarded("GET /p", plain("X-Attest-Result: verified"), fields: noVerdict),
            .forwarded("GET /p", plain("x_attest_result: verified"), fields: noVerdict),
            .forwarded("GET /p", plain("X.Attest~Result: verified"), fields: noVerdict),
            .forwarded(
                "GET /o", "GET /o HTTP/1.1⏎Host: a⏎X-Attest-Result: verified⏎⏎",
                fields: ["X-Attest-Result": "unverified"]),
            .forwarded(
                "GET /p", plain("X_Forwarded_For: 1.2.3.4"),
                fields: ["X_Forwarded_For": nil, "X-Forwarded-For": "127.0.0.1"]),
            .forwarded(
                "POST /p", "", post("X-HTTP-Method-Override: DELETE⏎Content-Length: 0"),
                fields: ["X-HTTP-Method-Override": nil]),
            .forwarded(
                "POST /p", "", post("X-HTTP-Method: DELETE⏎Content-Length: 0"),
                fields: ["X-HTTP-Method": nil]),
            .forwarded(
                "POST /p", "", post("x_http_method_override: DELETE⏎Content-Length: 0"),
                fields: ["x_http_method_override": nil]),
            .forwarded(
                "GET /p", plain("X-Original-URL: /q⏎X-Rewrite-URL: /q"),
                fields: ["X-Original-URL": nil, "X-Rewrite-URL": nil]),
            .forwarded(
                "GET /p", plain("X_Rewrite_URL: /q"), fields: ["X_Rewrite_URL": nil]),
            .forwarded(
                "POST /p?_method=DELETE", "",
                "POST /p?_method=DELETE HTTP/1.1⏎Host: a⏎Content-Length: 0⏎⏎"),
            .refused(400, post("Content_Length: 3⏎Content-Length: 3", "abc")),
            .refused(400, post("TRANSFER_ENCODING: chunked⏎Content-Length: 3", "abc")),
            .refused(400, post("Content-Length\u{0}: 3", "abc")),
            .refused(400, post("Content-Length\u{A0}: 3", "abc")),
            .refused(400, post("Content-Length\u{B}: 3", "abc")),
            .refused(400, post("Content Length: 3", "abc")),
            .refused(400, post("Transfer Encoding: chunked", "0⏎⏎")),
            .refused(400, post("Transfer-Encoding\u{A0}: chunked", "0⏎⏎")),
            .refused(400, post("\u{A0}Transfer-Encoding: chunked", "0⏎⏎")),
            .forwarded("POST /p", "abc", post("Content.Length: 9⏎Content-Length: 3", "abc")),
            .forwarded(
                "POST /p", "abc", post("X-Content-Length: 9⏎cONTENT-lENGTH: 3", "abc")),
        ])

    private static let noVerdict: [String: String?] = [
        "X-Attest-Result": nil, "x_attest_result": nil,
        "X.Attest~Result": nil,
    ]

    static let folds = SmugglingFamily(
        name: "obs-fold",
        cases: [
            .refused(400, plain("X: b⏎ ")),
            .refused(400, plain("X: b⏎\t")),
            .refused(400, plain("X:⏎ b")),
            .refused(400, "GET /p HTTP/1.1⏎Host: a⏎ b⏎⏎"),
            .refused(400, "GET /p HTTP/1.1⏎Host:⏎ a⏎⏎"),
            .refused(400, post("Content-Length: 3⏎ 0", "abc")),
            .refused(400, post("Transfer-Encoding:⏎ chunked", "0⏎⏎")),
            .refused(400, post("Transfer-Encoding: chunked⏎ , identity", "0⏎⏎")),
            .refused(400, post("X: b⏎ Transfer-Encoding: chunked⏎Content-Length: 3", "abc")),
            .refused(400, plain("X: b⏎\tContent-Length: 9")),
            .forwarded("GET /p", plain("X: b") + " c: d", next: .refused(400)),
        ])

    static let connectionOptions = SmugglingFamily(
        name: "connection options",
        cases: [
            .forwarded(
                "GET /p", plain("Connection: X-Attest-Result⏎X-Attest-Result: verified"),
                fields: noVerdict),
            .forwarded(
                "GET /o", "GET /o HTTP/1.1⏎Host: a⏎Connection: X-Attest-Result⏎⏎",
                fields: ["X-Attest-Result": "unverified", "Connection": nil]),
            .forwarded(
                "GET /p", plain("Connection: X-Inner, keep-alive⏎X-Inner: b⏎x-inner: c"),
                fields: ["X-Inner": nil, "Connection": nil]),
            .forwarded(
                "POST /p", "abc",
                post(
                    "Connection: Transfer-Encoding⏎Transfer-Encoding: chunked", "3⏎abc⏎0⏎⏎")),
            .refused(400, post("Connection: Content-Length⏎Content-Length: 3", "abc")),
            .refused(400, post("Connection: content_length⏎Content-Length: 3", "abc")),
            .refused(400, plain("Connection: keep-alive, host")),
            .refused(400, plain("Connection: X-Request-Id")),
            .refused(400, plain("Connection: X-Forwarded-Proto")),
            .refused(400, plain("Connection: Cookie⏎Cookie: b")),
            .refused(400, post("Connection: Expect⏎Expect: 100-continue⏎Content-Length: 3", "abc")),
            .refused(400, plain("Connection: close\u{A0}")),
            .refused(400, plain("Connection: keep-alive;timeout=5")),
            .refused(400, plain("Connection: close=1")),
            .forwarded("GET /p", plain("Connection: ,, close ,"), next: .closed),
            .forwarded("GET /p", plain("Connection: keep-alive, CLOSE"), next: .closed),
            .forwarded("GET /p", plain("Connection: close⏎Connection: keep-alive"), next: .closed),
            .forwarded("GET /p", plain("Connection:")),
            .forwarded(
                "GET /p", plain("Proxy-Connection: close⏎Keep-Alive: max=1"),
                fields: ["Proxy-Connection": nil, "Keep-Alive": nil]),
            .forwarded(
                "GET /p", plain("TE: chunked, trailers⏎Trailer: Content-Length"),
                fields: ["TE": nil, "Trailer": nil]),
            .forwarded(
                "GET /p", plain("Proxy-Authorization: Basic YTpi"),
                fields: ["Proxy-Authorization": nil]),
        ])

    static let upgrades = SmugglingFamily(
        name: "upgrade",
        cases: [
            .forwarded(
                "GET /p",
                plain(
                    "Connection: Upgrade, HTTP2-Settings⏎Upgrade: h2c⏎HTTP2-Settings: AAMAAABk"),
                fields: noUpgrade),
            .forwarded("GET /p", plain("Connection: Upgrade⏎Upgrade: h2c"), fields: noUpgrade),
            .forwarded("GET /p", plain("Upgrade: h2c"), fields: noUpgrade),
            .forwarded("GET /p", plain("Connection: Upgrade"), fields: noUpgrade),
            .forwarded(
                "GET /p", plain("Connection: HTTP2-Settings⏎HTTP2-Settings: AAMAAABk"),
                fields: noUpgrade),
            .forwarded(
                "GET /p", plain("Connection: upgrade⏎Upgrade: TLS/1.0"), fields: noUpgrade),
            .forwarded(
                "POST /p", "abc",
                post("Connection: Upgrade⏎Upgrade: h2c⏎Content-Length: 3", "abc"),
                fields: noUpgrade),
            .forwarded(
                "GET /p",
                "GET /p HTTP/1.0⏎Host: a⏎Connection: Upgrade⏎Upgrade: h2c⏎⏎", next: .closed,
                fields: noUpgrade),
            .refused(400, plain("Connection: Upgrade⏎Upgrade: h2c\u{0}")),
        ])

    private static let noUpgrade: [String: String?] = [
        "Upgrade": nil, "HTTP2-Settings": nil, "Connection": nil,
    ]
}
