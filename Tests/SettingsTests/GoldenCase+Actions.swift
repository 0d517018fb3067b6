extension GoldenCase {
    static let actions: [GoldenCase] = [
        GoldenCase(
            "routes that do nothing, or two things",
            #"""
            routes:
              - { name: a, path: /a, attest: { mode: off } }
              - name: b
                path: /b
                upstream: api
                redirect: { to: /c }
                respond: { status: 200 }
                attest: { mode: off }
              - name: c
                path: /c
                respond: { status: 204, body: x }
                rewrite: { path: /x }
                upstream_host: preserve
                request_headers: { remove: [A] }
                timeouts: { response: 1s }
                attest: { mode: off }
              - name: d
                path: /d
                respond: { status: 101, content_type: text, bdy: x }
                attest: { mode: off }
            """#,
            expects: #"""
                2:5: routes[0]: required key "upstream" is missing
                6:5: routes[1].redirect: a route has one of upstream, redirect and respond
                7:5: routes[1].respond: a route has one of upstream, redirect and respond
                11:35: routes[2].respond.body: an answer with status 204 has no body
                12:5: routes[2].rewrite: is used with upstream only
                13:5: routes[2].upstream_host: is used with upstream only
                14:5: routes[2].request_headers: is used with upstream only
                15:27: routes[2].timeouts.response: is used with upstream only
                19:24: routes[3].respond.status: "101" is outside 200 to 599: it is a final status
                19:43: routes[3].respond.content_type: "text" is not a media type
                19:49: unknown key "bdy" in routes[3].respond: did you mean "body"?
                """#),
        GoldenCase(
            "redirects by which a client could choose the server",
            #"""
            routes:
              - { name: a, path: /a/*, redirect: { to: '//x' }, attest: { mode: off } }
              - { name: b, path: /b/*, redirect: { to: '/{rest}' }, attest: { mode: off } }
              - { name: c, path: /c/*, redirect: { to: '{target}' }, attest: { mode: off } }
              - { name: d, path: /d/*, redirect: { to: 'https://x{rest}' }, attest: { mode: off } }
              - { name: e, path: /e/*, redirect: { to: 'https://{rest}' }, attest: { mode: off } }
              - { name: f, path: /f/*, redirect: { to: 'https://{host}{rest}' }, attest: { mode: \#
            off } }
              - { name: g, path: /g/*, redirect: { to: 'https://u@x/' }, attest: { mode: off } }
              - { name: h, path: /h/*, redirect: { to: 'ftp://x/' }, attest: { mode: off } }
              - { name: i, path: /i/*, redirect: { to: 'https://x/ y' }, attest: { mode: off } }
              - { name: j, path: /j, redirect: { to: '/x/{rest}' }, attest: { mode: off } }
              - { name: k, path: /k, redirect: { to: '/x/{uri}', status: 200 }, attest: { mode: \#
            off } }
              - { name: l, path: /l, redirect: { to: '/x/{path' }, attest: { mode: off } }
              - { name: m, path: /m, redirect: { to: 'https://x:99999/' }, attest: { mode: off } }
            """#,
            expects: #"""
                2:44: routes[0].redirect.to: "//x" could lead to any server: begin with a path, \#
                or with https://
                3:44: routes[1].redirect.to: "/{rest}" could lead to any server: begin with a \#
                path, or with https://
                4:44: routes[2].redirect.to: "{target}" does not begin with https://, http:// or /
                5:44: routes[3].redirect.to: "https://x{rest}" has no / behind its host
                6:44: routes[4].redirect.to: "https://{rest}" names no host
                7:44: routes[5].redirect.to: "https://{host}{rest}" has no / behind its host
                8:44: routes[6].redirect.to: "https://u@x/" names no host that a client could use
                9:44: routes[7].redirect.to: "ftp://x/" does not begin with https://, http:// or /
                10:44: routes[8].redirect.to: "https://x/ y" is not a URL: a byte of it has no \#
                place there
                11:42: routes[9].redirect.to: {rest} is what is below a path that ends in /*, and \#
                there is none
                12:42: routes[10].redirect.to: "/x/{uri}" has a variable that is not one of \#
                {host}, {target}, {path}, {query}, {rest}
                12:62: routes[10].redirect.status: "200" is not one of 301, 302, 303, 307, 308
                13:42: routes[11].redirect.to: "/x/{path" has a { without }; write a literal one \#
                as {{
                14:42: routes[12].redirect.to: "https://x:99999/" names no host that a client \#
                could use
                """#),
        GoldenCase(
            "a listener's redirect",
            #"""
            listeners:
              - bind: 127.0.0.1:8080
                redirect: { to: 'https://x/{rest}', except: [well-known], sttus: 301 }
              - { bind: 127.0.0.1:8081, redirect: { except: [] } }
            """#,
            expects: #"""
                3:21: listeners[0].redirect.to: {rest} is what is below a path that ends in /*, \#
                and there is none
                3:50: listeners[0].redirect.except[0]: "well-known" does not begin with a /
                3:63: unknown key "sttus" in listeners[0].redirect: did you mean "status"?
                4:39: listeners[1].redirect: required key "to" is missing
                """#),
        GoldenCase(
            "headers that are not a route's to change",
            #"""
            routes:
              - name: a
                path: /a
                upstream: api
                request_headers:
                  remove: [Host, X_Attest_Key, 'a b', Cookie, cookie]
                  set: { Connection: x, X-Forwarded-For: y, x-http-method: PUT, A: "{client}" }
                  add: { B: ' x', "C": "a\r\nB: c", a: 1, Content-Length: 5 }
                response_headers:
                  remove: [Date, Host, Transfer-Encoding]
                  set: { X-App-Attest-Challenge: c, D: "{target}" }
                attest: { mode: off }
            """#,
            expects: #"""
                6:16: routes[0].request_headers.remove[0]: "Host" is what upstream_host is for
                6:22: routes[0].request_headers.remove[1]: "X_Attest_Key" is reserved for \#
                the gateway
                6:36: routes[0].request_headers.remove[2]: "a b" is not a header name (RFC 9110 \#
                section 5.1)
                6:51: routes[0].request_headers.remove[4]: "cookie" is named twice
                7:14: routes[0].request_headers.set.Connection: "Connection" is about the \#
                connection, not for a route to change
                7:29: routes[0].request_headers.set.X-Forwarded-For: "X-Forwarded-For" is written \#
                by the gateway, for every route
                7:49: routes[0].request_headers.set.x-http-method: "x-http-method" asks upstreams \#
                for another method or path than the one that was matched
                7:72: routes[0].request_headers.set.A: "{client}" has a variable that is not one \#
                of {client_address}, {request_id}, {host}, {key_id}
                8:17: routes[0].request_headers.add.B: " x" is not a header value: printable \#
                ASCII, without spaces around it, at most 4096 bytes
                8:28: routes[0].request_headers.add.C: "a��B: c" is not a header value: printable \#
                ASCII, without spaces around it, at most 4096 bytes
                8:41: routes[0].request_headers.add.a: "a" is named twice
                8:47: routes[0].request_headers.add.Content-Length: "Content-Length" is about the \#
                connection, not for a route to change
                10:16: routes[0].response_headers.remove[0]: "Date" is written by the answering \#
                server
                10:22: routes[0].response_headers.remove[1]: "Host" is no such header
                10:28: routes[0].response_headers.remove[2]: "Transfer-Encoding" is about the \#
                connection, not for a route to change
                11:14: routes[0].response_headers.set.X-App-Attest-Challenge: \#
                "X-App-Attest-Challenge" is reserved for the gateway
                11:44: routes[0].response_headers.set.D: "{target}" has a variable that is not \#
                one of {client_address}, {request_id}, {host}, {key_id}
                """#),
        GoldenCase(
            "rewriting, hosts and limits that do not fit",
            #"""
            upstreams:
              api: { servers: ['127.0.0.1:9001', '127.0.0.1:9002'] }
            routes:
              - name: a
                path: /a
                upstream: api
                rewrite: { prefix: /b }
                upstream_host: upstream
                body_max: 1KiB
                limits: { body: 2KiB, body_memory: 1B }
                attest: { mode: off }
              - name: b
                path: /b/*
                upstream: api
                rewrite: { path: /b, prefix: '/x//y' }
                upstream_host: prserve
                timeouts: { response: 1ms, request_body: 20m, idle: 1s }
                attest: { mode: off }
              - { name: c, path: /in/*, upstream: api, attest: { mode: enforce } }
              - name: d
                path: /open/*
                upstream: api
                rewrite: { prefix: /in/public }
                attest: { mode: off }
            """#,
            expects: #"""
                7:14: routes[0].rewrite: required key "path" is missing
                7:24: routes[0].rewrite.prefix: is used with a path that ends in /*: write path
                8:20: routes[0].upstream_host: the servers of "api" have no name in common: write \#
                the host
                10:21: routes[0].limits.body: is the same as body_max: give one of them
                10:40: routes[0].limits.body_memory: "1B" is outside 1KiB to 64MiB: each request \#
                may hold as much
                15:22: routes[1].rewrite.path: is used with an exact path: write prefix
                15:34: routes[1].rewrite.prefix: "/x//y" is not a path that a request can have: \#
                empty_segment
                16:20: routes[1].upstream_host: "prserve" is neither preserve, upstream, nor a \#
                host: did you mean "preserve"?
                17:27: routes[1].timeouts.response: "1ms" is outside 100ms to 1h: requests wait \#
                for it
                17:46: routes[1].timeouts.request_body: "20m" is outside 100ms to 10m: slow \#
                bodies hold memory
                17:51: unknown key "idle" in routes[1].timeouts; known: request, \#
                request_body, response, read
                24:21: routes[3].attest.mode: weaker than that of the route at 19:5: with another \#
                Host, header or path the same request for "/in/public" of the upstream comes \#
                through here (allow_weaker: true permits it)
                """#),
    ]
}
