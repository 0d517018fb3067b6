import GatewayTesting
import HTTP
import Settings
import Testing

@testable import Gateway

@Suite("Request headers")
struct RewriteHeadersTests {}

extension RewriteHeadersTests {
    /// What the upstream saw of a request with these lines.
    private func seen(
        _ lines: [String], path: String = "/x", isTrusted: Bool = false,
        configure: (inout Settings) -> Void
    ) throws -> HTTPMessage {
        try seen(lines, path: path, isTrusted: isTrusted, by: try GatewayUnderTest(configure))
    }

    private func seen(
        _ lines: [String], path: String = "/x", isTrusted: Bool = false,
        by gateway: GatewayUnderTest? = nil
    ) throws -> HTTPMessage {
        let gateway = try gateway ?? GatewayUnderTest()
        let client = try RawClient(port: isTrusted ? gateway.trustedPort : gateway.port)
        let fields = lines.map { $0 + "\r\n" }.joined()
        try client.send("GET \(path) HTTP/1.1\r\nHost: api.example\r\n\(fields)\r\n")
        let answer = try client.receive()
        #expect(answer.status == 200, "\(answer.bodyText)")
        return try #require(gateway.upstream.requests.last).message
    }

    private func names(_ message: HTTPMessage) -> Set<String> {
        Set(message.fields.map { $0.name.lowercased() })
    }

    static let forwarding = [
        "X-Forwarded-Host: evil", "X-Forwarded-Proto: https",
        "X-Forwarded-Port: 1", "X-Forwarded-Prefix: /p", "X-Forwarded-Server: s",
        "X-Forwarded-Ssl: on", "X-Forwarded-Scheme: https", "X-Real-IP: 1.2.3.4",
        "X-Forwarded-User: admin", "X-Forwarded-Client-Cert: c",
    ]

    @Test("forwarding fields of strangers are replaced, all of them")
    func stranger() throws {
        let gateway = try GatewayUnderTest()
        for line in Self.forwarding {
            let message = try seen([line], by: gateway)
            #expect(!message.fields.contains { "\($0.name): \($0.value)" == line })
            #expect(message.values(of: "X-Forwarded-For") == ["127.0.0.1"])
            #expect(message.values(of: "X-Forwarded-Proto") == ["http"])
            #expect(message.values(of: "X-Forwarded-Host") == ["api.example"])
        }
    }

    @Test("forwarding fields of a trusted peer are kept, one of each")
    func trusted() throws {
        let gateway = try GatewayUnderTest()
        for line in Self.forwarding {
            let message = try seen([line], isTrusted: true, by: gateway)
            #expect(message.fields.contains { "\($0.name): \($0.value)" == line })
            for name in ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"] {
                #expect(message.values(of: name).count == 1)
            }
        }
    }

    @Test("the chain of addresses grows by the peer only where the peer is trusted")
    func chain() throws {
        let lines = ["X-Forwarded-For: 1.1.1.1, 2.2.2.2", "x-forwarded-for: 3.3.3.3"]
        let gateway = try GatewayUnderTest()
        let trusted = try seen(lines, isTrusted: true, by: gateway)
        let chain = "1.1.1.1, 2.2.2.2, 3.3.3.3, 127.0.0.1"
        #expect(trusted.values(of: "X-Forwarded-For") == [chain])
        let stranger = try seen(lines, by: gateway)
        #expect(stranger.values(of: "X-Forwarded-For") == ["127.0.0.1"])
    }

    /// Form, trust and lines of a request, and the forwarding fields that its upstream sees.
    static let forms: [(form: ForwardedForm, isTrusted: Bool, lines: [String], seen: [String])] = [
        (
            .rfc7239, false, ["Forwarded: for=1.2.3.4", "X-Forwarded-For: 1.2.3.4"],
            [#"Forwarded: for=127.0.0.1;host="api.example";proto=http"#]
        ),
        (
            .both, false, ["Forwarded: for=1.2.3.4"],
            [
                #"Forwarded: for=127.0.0.1;host="api.example";proto=http"#,
                "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: api.example",
                "X-Forwarded-Proto: http",
            ]
        ),
        (
            .xForwarded, false, ["Forwarded: for=1.2.3.4"],
            [
                "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: api.example",
                "X-Forwarded-Proto: http",
            ]
        ),
        // What a trusted proxy said is continued in its own form.
        (
            .xForwarded, true, ["Forwarded: for=1.2.3.4", #"forwarded: for="_a\"b";by=x"#],
            [
                #"Forwarded: for=1.2.3.4, for="_a\"b";by=x, for=127.0.0.1;"#
                    + #"host="api.example";proto=http"#,
                "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: api.example",
                "X-Forwarded-Proto: http",
            ]
        ),
        (
            .rfc7239, true, ["X-Forwarded-For: 1.2.3.4, [2001:db8::1]:80,x"],
            [
                #"Forwarded: for=1.2.3.4, for="[2001:db8::1]", for=unknown, for=127.0.0.1;"#
                    + #"host="api.example";proto=http"#,
                "X-Forwarded-For: 1.2.3.4, [2001:db8::1]:80,x, 127.0.0.1",
            ]
        ),
        // An open quote would swallow what the gateway adds.
        (
            .rfc7239, true, [#"Forwarded: for="1.2.3.4"#, #"Forwarded: for="a\""#],
            [#"Forwarded: for=127.0.0.1;host="api.example";proto=http"#]
        ),
        // A field that is dropped may have named the hops between those before and after it.
        (
            .rfc7239, true,
            ["Forwarded: for=1.1.1.1", "Forwarded: for=a b", "Forwarded: for=2.2.2.2 ; by=x,,"],
            [#"Forwarded: for=2.2.2.2;by=x, for=127.0.0.1;host="api.example";proto=http"#]
        ),
        (
            .both, true, ["X-Forwarded-For:", "X-Forwarded-For: 1.1.1.1"],
            [
                #"Forwarded: for=1.1.1.1, for=127.0.0.1;host="api.example";proto=http"#,
                "X-Forwarded-For: 1.1.1.1, 127.0.0.1", "X-Forwarded-Host: api.example",
                "X-Forwarded-Proto: http",
            ]
        ),
    ]

    @Test("a Forwarded that RFC 7239 has no grammar for is dropped whole, whichever peer sent it")
    func malformedForwarded() throws {
        let gateway = try GatewayUnderTest { $0.forwarded = .rfc7239 }
        let own = #"for=127.0.0.1;host="api.example";proto=http"#
        for value in [
            "for=a b", #"for="a"b"#, "for=1;for=2", "for=1;FOR=2", "word", "for=", "=a", "for =a",
            "for= a", "for=1.1.1.1, word", "for=1.1.1.1:80", "for=[::1]", #"for="a"#, ",", ";",
            "for=1.1.1.1;;", "",
        ] {
            let message = try seen(["Forwarded: \(value)"], isTrusted: true, by: gateway)
            let isElement = value == ";" || value == "for=1.1.1.1;;"
            let expected = isElement ? "\(value), \(own)" : own
            #expect(message.values(of: "Forwarded") == [expected], "\(value)")
        }
    }

    @Test("forwarding fields are written in the form that the operator chose")
    func forwarded() throws {
        let gateway = try GatewayUnderTest()
        for (form, isTrusted, lines, expected) in Self.forms {
            try gateway.reload { $0.forwarded = form }
            let message = try seen(lines, isTrusted: isTrusted, by: gateway)
            let fields = message.fields.filter { $0.name.lowercased().contains("forwarded") }
            #expect(fields.map { "\($0.name): \($0.value)" }.sorted() == expected)
        }
    }

    @Test(
        "a peer on a unix socket is trusted where the listener says so",
        arguments: [
            ([TrustedProxy.unix], "1.2.3.4, unix"), ([], "unix"),
            ([.block(AddressBlock(address: [0, 0, 0, 0], prefixBitCount: 0))], "unix"),
        ])
    func unixPeer(trusted: [TrustedProxy], expected: String) throws {
        let stepped = try SteppedWorker(
            unixListener: ListenerSettings(
                bind: .unix(path: "/run/s.sock"), trustedProxies: trusted))
        try stepped.begin(fields: "X-Forwarded-For: 1.2.3.4\r\n")
        #expect(stepped.upstreamText().contains("\r\nX-Forwarded-For: \(expected)\r\n"))
    }

    @Test("no spelling that an upstream might fold passes, not even from a trusted peer")
    func spellings() throws {
        let gateway = try GatewayUnderTest()
        for line in [
            "X_Forwarded_For: 1.2.3.4", "X-Forwarded_For: 1.2.3.4", "x.forwarded.for: 1.2.3.4",
            "X_FORWARDED_USER: admin", "X_Real_IP: 1.2.3.4", "X_Request_Id: a",
            "X-Attest-Result: verified", "x_attest_result: verified", "X-Attest_Key: k",
            "X-ATTEST-ANYTHING: 1", "X-App-Attest-Assertion: AAAA", "x_app_attest_key_id: k",
            "X-App.Attest.Client-Data: k", "X-App-Attest-Challenge: c",
        ] {
            let name = line.prefix { $0 != ":" }.lowercased()
            for isTrusted in [false, true] {
                let seen = try seen([line], isTrusted: isTrusted, by: gateway)
                #expect(!names(seen).contains(name), "\(line)")
            }
        }
    }

    @Test("configured names are removed in every spelling too, on every route")
    func configured() throws {
        let lines = ["Sig: AAAA", "My-Key: k", "my_key: k", "SIG: b", "My.Data: x"]
        let message = try seen(lines) {
            $0.headers.assertion = "sig"
            $0.headers.keyID = "my-key"
            $0.headers.clientData = "my-data"
        }
        #expect(names(message).isDisjoint(with: ["sig", "my-key", "my_key", "my.data"]))
    }

    @Test("fields that ask for another method or target pass no route")
    func overrides() throws {
        let gateway = try GatewayUnderTest()
        for line in [
            "X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: PUT",
            "X-Original-URL: /admin", "X-Rewrite-URL: /admin", "X_HTTP_Method_Override: DELETE",
            "x_method_override: PUT", "X-Original_URL: /admin", "x.rewrite.url: /admin",
        ] {
            let name = line.prefix { $0 != ":" }.lowercased()
            for path in ["/observed/x", "/x"] {
                let seen = try seen([line], path: path, by: gateway)
                #expect(!names(seen).contains(name), "\(line)")
            }
        }
    }

    @Test("what ends at this hop is not passed on, nor what Connection names")
    func hopByHop() throws {
        let message = try seen([
            "Connection: x-secret, close", "X-Secret: 1", "x-secret: 2", "Keep-Alive: 5",
            "TE: trailers", "Upgrade: h2c", "Proxy-Authorization: Basic x",
            "Proxy-Connection: close", "Trailer: Expires", "HTTP2-Settings: x", "X-Other: kept",
            "Cookie: a=b", "Cookie: c=d",
        ])
        #expect(
            names(message) == [
                "host", "x-other", "cookie", "via", "x-forwarded-for", "x-forwarded-proto",
                "x-forwarded-host", "x-request-id",
            ])
        #expect(message.values(of: "Cookie") == ["a=b", "c=d"])
    }

    @Test("target and host come through byte for byte, of absolute form what follows the authority")
    func target() throws {
        let gateway = try GatewayUnderTest()
        let odd = "/x/%41%7e(1)?a=%zz&b=//..;"
        #expect(try seen([], path: odd, by: gateway).startLine == "GET \(odd) HTTP/1.1")
        let absolute = try seen([], path: "http://api.example/x?y", by: gateway)
        #expect(absolute.startLine == "GET /x?y HTTP/1.1")
        #expect(absolute["Host"] == "api.example")
    }

    @Test("an HTTP/1.0 request without Host is passed on in HTTP/1.1")
    func oldVersion() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        try client.send("GET /x HTTP/1.0\r\n\r\n")
        #expect(try client.receive()["Connection"] == "close")
        let message = try #require(gateway.upstream.requests.first).message
        #expect(message.startLine == "GET /x HTTP/1.1")
        #expect(message.values(of: "Host") == ["localhost"])
        #expect(message["X-Forwarded-Host"] == nil)
    }
}
