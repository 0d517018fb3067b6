/// What browsers and old clients send, each with the verdict that is wanted: what RFC 9110 and 9112
/// say must be parsed, and what the URL standard's serializer leaves in a URL, goes on. What is
/// refused all the same is so by intent: docs/proof/conformance.md says why.
extension SmugglingFamily {
    static let ordinary = [
        ordinaryPaths, ordinaryQueries, ordinaryHosts, ordinaryFields, ordinaryMessages,
    ]

    private static func get(_ target: String) -> String { "GET \(target) HTTP/1.1⏎Host: b⏎⏎" }

    private static func taken(_ targets: [String]) -> [SmugglingCase] {
        targets.map { .forwarded("GET \($0)", get($0)) }
    }

    private static let ordinaryPaths = SmugglingFamily(
        name: "paths of browsers",
        cases: taken([
            "/", "/index.html", "/a/b/", "/~user/", "/[a]", "/a|b", "/^a", "/[[1]]|^^", "/a%7Cb",
            "/%5Ba%5D", "/a%5eb", "/caf%C3%A9", "/%E2%98%83.txt", "/a%20b", "/a+b", "/%22x%22",
            "/%7Bid%7D", "/%3Cb%3E", "/100%25", "/@me", "/a:b", "/a,b", "/a=b&c", "/(a)!*'$",
            "/x;jsessionid=1", "/.well-known/app-site", "/a.b..c", "/-_.~", "/%60",
        ]) + [
            // As they are no server may take them (RFC 3986), and browsers do not send them.
            .answered(400, get("/{id}")), .answered(400, get("/a\"b")), .answered(400, get("/<b>")),
            .answered(400, get("/a`b")), .refused(400, get("/caf\u{E9}")),
            .refused(400, get("/a#b")), .refused(400, get("/a b")),
            // Of browsers, and refused: another server may read another path.
            .answered(400, get("/100%")), .answered(400, get("/%zz")), .answered(400, get("/a%00")),
            // As a listener's `allow` has it.
            .answered(400, get("/a//b")), .answered(400, get("/a/./b")),
            .answered(400, get("/a/../b")), .answered(400, get("/a%2Fb")),
            .answered(400, get("/a%5Cb")), .answered(400, get("/a%0Ab")),
            .answered(400, get("/a%7F")), .answered(400, get("/%2Ehidden")),
        ])

    private static let ordinaryQueries = SmugglingFamily(
        name: "queries of browsers",
        cases: taken([
            "/?", "/?a=b&c=d", "/?a[]=1&a[b]=2", "/?q={\"a\":1}", "/?a|b^c`d", "/?a\\b", "/?100%",
            "/?u=http://c/?d", "/?a=%20+%0A%00", "/?%F0%9F%98%80", "/?<b>", "/?'x'", "/?a;b",
            "/??", "/?/../x//y",
        ]) + [.refused(400, get("/?q=\u{E4}")), .refused(400, get("/?a b"))])

    private static let ordinaryHosts = SmugglingFamily(
        name: "hosts of old clients",
        cases: [
            .forwarded("GET /p", "GET /p HTTP/1.1⏎Host: b:⏎⏎", fields: ["Host": "b"]),
            .forwarded("GET /p", "GET /p HTTP/1.1⏎Host: [::1]:⏎⏎", fields: ["Host": "[::1]"]),
            .forwarded("GET /p", "GET /p HTTP/1.1⏎Host: b:80⏎⏎", fields: ["Host": "b:80"]),
            .forwarded("GET /p", "GET /p HTTP/1.1⏎Host: B.Example⏎⏎"),
            .forwarded("GET /p", "GET /p HTTP/1.1⏎Host: b.example.⏎⏎"),
            .forwarded("GET /p", "GET /p HTTP/1.1⏎Host: my_host⏎⏎"),
            .forwarded("GET /p", "GET /p HTTP/1.1⏎Host: 127.0.0.1:8080⏎⏎"),
            .forwarded("GET /p", "GET http://b:80/p HTTP/1.1⏎Host: b⏎⏎", fields: ["Host": "b:80"]),
            .forwarded("GET /p", "GET http://b/p HTTP/1.1⏎Host: b:80⏎⏎", fields: ["Host": "b"]),
            .forwarded("GET /p", "GET http://b:/p HTTP/1.1⏎Host: b⏎⏎", fields: ["Host": "b"]),
            .forwarded("GET /p", "GET https://b:443/p HTTP/1.1⏎Host: B⏎⏎"),
            .forwarded("GET /?x", "GET http://b?x HTTP/1.1⏎Host: b⏎⏎", fields: ["Host": "b"]),
            .forwarded("GET /?/y", "GET HTTP://b:80?/y HTTP/1.1⏎Host: b⏎⏎"),
            .forwarded(
                "POST /?x", "abc", "POST http://b?x HTTP/1.1⏎Host: b:⏎Content-Length: 3⏎⏎abc",
                fields: ["Host": "b", "X-Forwarded-Host": "b"]),
            .answered(200, "OPTIONS http://b HTTP/1.1⏎Host: b⏎⏎"),
            .refused(400, "GET http://b:81/p HTTP/1.1⏎Host: b⏎⏎"),
            .refused(400, "GET http://c?x HTTP/1.1⏎Host: b⏎⏎"),
            .refused(400, "GET /p HTTP/1.1⏎Host: ⏎⏎"), .refused(400, "GET /p HTTP/1.1⏎⏎"),
        ])

    private static func with(_ fields: String) -> SmugglingCase {
        .forwarded("GET /p", "GET /p HTTP/1.1⏎Host: b⏎\(fields)⏎⏎")
    }

    private static let ordinaryFields = SmugglingFamily(
        name: "fields of browsers and old clients",
        cases: [
            with(
                "Connection: keep-alive⏎sec-ch-ua: \"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\""
            ),
            with("User-Agent: Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)"),
            with("Cookie: a=b; c=\"d e\"; f={\"g\":1}; h"), with("Cookie: a=b⏎Cookie: c=d"),
            with("If-Modified-Since: Sat, 29 Oct 1994 19:43:31 GMT; length=5"),
            with("Accept: text/html;q=0.9, */*;q=0.1"), with("Range: bytes=0-"),
            with("Proxy-Connection: keep-alive⏎Keep-Alive: 300"),
            with("Connection: TE, Keep-Alive⏎TE: trailers, deflate;q=0.5"),
            with("Connection: Upgrade, HTTP2-Settings⏎Upgrade: h2c⏎HTTP2-Settings: AAMAAABk"),
            with("Referer: http://b/?q=\u{E4}"), with("X-Empty:"), with("X:b"), with("X:\t b \t"),
            with("Authorization: Basic YTpi"), with("Pragma: no-cache⏎Cache-Control: max-age=0"),
            with("Upgrade-Insecure-Requests: 1⏎Priority: u=0, i"), with("Max-Forwards: 10"),
            .refused(400, "GET /p HTTP/1.1⏎Host: b⏎X: b⏎ c⏎⏎"),
            .refused(400, "GET /p HTTP/1.1⏎Host: b⏎X : b⏎⏎"),
        ])

    private static let ordinaryMessages = SmugglingFamily(
        name: "messages of old clients",
        cases: [
            .forwarded("GET /p", "GET /p HTTP/1.0⏎User-Agent: b⏎⏎", next: .closed),
            .forwarded("GET /p", "GET /p HTTP/1.0⏎Host: b⏎Connection: Keep-Alive⏎⏎"),
            .forwarded("POST /p", "abc", "⏎POST /p HTTP/1.1⏎Host: b⏎Content-Length: 3⏎⏎abc"),
            .forwarded("POST /p", "", "POST /p HTTP/1.1⏎Host: b⏎Content-Length: 0⏎⏎"),
            .forwarded("PROPFIND /p", "PROPFIND /p HTTP/1.1⏎Host: b⏎Depth: 1⏎⏎"),
            .forwarded("M-SEARCH /p", "M-SEARCH /p HTTP/1.1⏎Host: b⏎⏎"),
            .forwarded(
                "POST /p", "abc",
                "POST /p HTTP/1.1⏎Host: b⏎Transfer-Encoding: CHUNKED⏎⏎3 ; a = b⏎abc⏎0⏎⏎"),
            .forwarded(
                "PUT /p", "abc",
                "PUT /p HTTP/1.1⏎Host: b⏎Transfer-Encoding: chunked⏎⏎03\t;a=\"b c\"⏎abc⏎00⏎⏎"),
            .refused(400, "get /p HTTP/1.1⏎Host: b⏎⏎"),
            .refused(505, "GET /p HTTP/1.2⏎Host: b⏎⏎"),
            .refused(400, "GET /p⏎"),
            .refused(400, "GET /p HTTP/1.1\nHost: b\n\n"),
        ])
}
