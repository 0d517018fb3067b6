extension GoldenCase {
    static let routes: [GoldenCase] = [
        GoldenCase(
            "bad header names",
            #"""
            headers: { assertion: 'X Assertion', client_data: Cookie, key_id: X-Attest-Key }
            """#,
            expects: #"""
                1:23: headers.assertion: "X Assertion" is not a header name (RFC 9110 section 5.1)
                1:51: headers.client_data: "Cookie" has a meaning of its own, and the named \#
                headers are removed from every request
                1:67: headers.key_id: "X-Attest-Key" has a meaning of its own, and the named \#
                headers are removed from every request
                """#),
        GoldenCase(
            "header names that are the same to a server",
            #"""
            headers: { assertion: X_Proof, key_id: x-proof }
            """#,
            expects: #"""
                1:40: headers.key_id: "x-proof" is the name of assertion too, or differs in - and \#
                _ only
                """#),
        GoldenCase(
            "a header name that is another's default",
            #"""
            headers: { key_id: X-App-Attest-Assertion }
            """#,
            expects: #"""
                1:20: headers.key_id: "x-app-attest-assertion" is the name of assertion too, or \#
                differs in - and _ only
                """#),
        GoldenCase(
            "bad upstreams",
            #"""
            upstreams:
              api: { servers: [] }
              'a b': { servers: ['h:1'] }
              c: { servers: ['h:0', 'h:1', 'h:1'] }
              d: { connect_timeout: 1ms }
              api2: h:1
            """#,
            expects: #"""
                2:19: upstreams.api.servers: is empty: at least one server is needed
                3:3: "a b" is not a name: 1 to 64 letters, digits, periods, hyphens and \#
                underscores
                4:18: upstreams.c.servers[0]: port 0 cannot be connected to
                4:32: upstreams.c.servers[2]: listed twice
                5:6: upstreams.d: required key "servers" is missing
                5:25: upstreams.d.connect_timeout: "1ms" is outside 10ms to 2m: requests wait for \#
                it
                6:9: upstreams.api2: expected a mapping, found the text "h:1": write api2: { \#
                servers: [h:1] }
                """#),
        GoldenCase(
            "bad HTTP/2 to upstreams, bodies that go on",
            #"""
            upstreams:
              api: { servers: ['h:1'], protocol: h2c }
              b: { servers: ['h:1'], http2: { concurrent_streams: 1 } }
              c:
                servers: ['h:1']
                protocol: h2
                http2: { concurrent_streams: 0, stream_window: 1KiB, ping_interval: 1ms, pings: 1 }
              d:
                servers: ['h:1']
                protocol: h2
                http2: { stream_window: 8MiB }
            routes:
              - { name: a, path: /a, upstream: b, request_body: stream, attest: { mode: observe } }
              - { name: b, path: /b, respond: { status: 204 }, request_body: stream,
                  attest: { mode: off } }
              - { name: c, path: /c, upstream: b, request_body: streams, attest: { mode: off } }
              - { name: d, path: /d, upstream: c, upgrade: [websocket], attest: { mode: off } }
              - { name: e, path: /e, upstream: d, request_body: stream, attest: { mode: off } }
              - { name: f, path: /f, upstream: b, request_body: hold, attest: { mode: off } }
            """#,
            expects: #"""
                2:38: upstreams.api.protocol: "h2c" is not one of http/1.1, h2: did you mean "h2"?
                3:26: upstreams.b.http2: has no use without protocol: h2
                7:34: upstreams.c.http2.concurrent_streams: "0" is outside 1 to 10000: each \#
                stream is a request under way
                7:52: upstreams.c.http2.stream_window: "1KiB" is outside 64KiB to 16MiB: HTTP/2 \#
                begins with 64KiB, and what is in flight must be taken
                7:73: upstreams.c.http2.ping_interval: "1ms" is outside 1s to 1h: servers treat \#
                frequent pings as an attack
                7:78: unknown key "pings" in upstreams.c.http2; known: concurrent_streams, \#
                stream_window, connection_window, ping_interval
                11:12: upstreams.d.http2: connection_window is smaller than stream_window
                13:53: routes[0].request_body: stream needs attest.mode off: with observe no \#
                byte of a body goes on before all of it is verified
                14:52: routes[1].request_body: is used with upstream only
                16:53: routes[2].request_body: "streams" is not one of hold, stream: did you \#
                mean "stream"?
                17:48: routes[3].upgrade: needs an upstream with protocol http/1.1: "c" has h2, \#
                where nothing is upgraded
                """#),
        GoldenCase(
            "bad servers",
            #"""
            upstreams:
              api: { servers: [{ address: 'h:1', weight: 0 }, { weight: 2 }, 'h:1'] }
              b: { servers: [{ address: 'h:1', backup: true }] }
              c:
                servers: ['h:1']
                balance: random
                ejection: { time: 10m, time_max: 1m }
                health_check: { path: health, host: 'a/b', status: 399-200 }
                retries: { budget: 0.2 }
                resolve_interval: never
            """#,
            expects: #"""
                2:46: upstreams.api.servers[0].weight: "0" is outside 1 to 1000: larger ratios \#
                leave the other servers idle
                2:51: upstreams.api.servers[1]: required key "address" is missing
                2:66: upstreams.api.servers[2]: listed twice
                3:17: upstreams.b.servers: all are backups: leave backup out if there is nothing \#
                to back up
                6:14: upstreams.c.balance: "random" is not one of round_robin, least_connections, \#
                hash_key
                7:15: upstreams.c.ejection: time_max is shorter than time, which grows up to it
                8:27: upstreams.c.health_check.path: "health" is not a path, with a query or not, \#
                that starts with /
                8:41: upstreams.c.health_check.host: "a/b" is not a host, with a port or not
                8:56: upstreams.c.health_check.status: "399-200" is not a status or range of \#
                them: write 200 or 200-399
                9:24: upstreams.c.retries.budget: "0.2" is not a share: write one like 25%
                10:23: upstreams.c.resolve_interval: "never" is not a duration: write one like \#
                30s, 250ms, 5m, 24h or 30d
                """#),
        GoldenCase(
            "bad routes",
            #"""
            routes:
              - name: a b
                path: api
                upstream: api
                attest: { mode: enfroce }
              - path: /a*
                methods: [get, 'P OST', CONNECT, GET, GET, TRACE]
                upstream: apo
                attest: off
              - name: c
                path: /a/../b
                methods: []
                upstream: elsewhere
                body_max: 1
                attest: {}
              - name: d
                path: /x?y=1
                upstrem: api
              - just text
            """#,
            expects: #"""
                2:11: routes[0].name: "a b" is not a name: 1 to 64 letters, digits, periods, \#
                hyphens and underscores
                3:11: routes[0].path: "api" does not begin with a /
                5:21: routes[0].attest.mode: "enfroce" is not one of off, observe, enforce: did \#
                you mean "enforce"?
                6:5: routes[1]: required key "name" is missing
                6:11: routes[1].path: "/a*" has a * other than in a final /*: write "/a/*"; write \#
                a literal one as %2A
                7:15: routes[1].methods[0]: "get" is not a method in upper case: did you mean \#
                "GET"?
                7:20: routes[1].methods[1]: "P OST" is not a method in upper case
                7:29: routes[1].methods[2]: "CONNECT" is not supported
                7:43: routes[1].methods[4]: listed twice
                7:48: routes[1].methods[5]: "TRACE" is not supported
                8:15: routes[1].upstream: no upstream is named "apo": did you mean "api"?
                9:13: routes[1].attest: expected a mapping, found the text "off": write attest: { \#
                mode: off }
                11:11: routes[2].path: "/a/../b" is not a path that a request can have: \#
                dot_segment
                12:14: routes[2].methods: is empty: leave it out to take every method
                13:15: routes[2].upstream: no upstream is named "elsewhere"; known: api
                14:15: routes[2].body_max: "1" has no unit: write 1B (units: B, KiB, MiB, GiB)
                15:13: routes[2].attest: required key "mode" is missing
                16:5: routes[3]: required key "attest" is missing
                16:5: routes[3]: required key "upstream" is missing
                17:11: routes[3].path: "/x?y=1" is not a path that a request can have: \#
                path_invalid
                18:5: unknown key "upstrem" in routes[3]: did you mean "upstream"?
                19:5: routes[4]: expected a mapping, found the text "just text": write { name: …, \#
                path: …, attest: … }
                """#),
        GoldenCase(
            "paths that no request can have",
            #"""
            routes:
              - { name: a, path: '/a//b', upstream: api, attest: { mode: off } }
              - { name: b, path: '/a%2Fb', upstream: api, attest: { mode: off } }
              - { name: c, path: '/a;b', upstream: api, attest: { mode: off } }
              - { name: d, path: '/%zz', upstream: api, attest: { mode: off } }
              - { name: e, path: '/{id}', upstream: api, attest: { mode: off } }
              - { name: f, path: '/ü', upstream: api, attest: { mode: off } }
            """#,
            expects: #"""
                2:22: routes[0].path: "/a//b" is not a path that a request can have: empty_segment
                3:22: routes[1].path: "/a%2Fb" is not a path that a request can have: \#
                encoded_slash
                4:22: routes[2].path: "/a;b" is not a path that a request can have: \#
                path_parameters
                5:22: routes[3].path: "/%zz" is not a path that a request can have: \#
                percent_encoding_invalid
                6:22: routes[4].path: "/{id}" is not a path that a request can have: path_invalid
                7:22: routes[5].path: "/ü" is not a path that a request can have: path_invalid
                """#),
        GoldenCase(
            "routes that never match",
            #"""
            routes:
              - { name: a, path: /x, methods: [GET, POST], upstream: api, attest: { mode: off \#
            } }
              - { name: b, path: '/%78', methods: [PUT, POST], upstream: api, attest: { mode: \#
            enforce } }
              - { name: a, path: /y, upstream: api, attest: { mode: off } }
              - { name: c, path: /y, upstream: api, attest: { mode: off } }
              - { name: d, path: /attest/verify, upstream: api, attest: { mode: off } }
              - { name: e, path: /assert/challenge/, upstream: api, attest: { mode: off } }
            """#,
            expects: #"""
                3:22: routes[1].path: has the path of the route at 2:5, and both take POST: \#
                remove one, or tell them apart by methods, hosts or headers
                4:13: routes[2].name: "a" is the name of the route at 2:13 already
                5:22: routes[3].path: has the path of the route at 4:5, and both take every \#
                method: remove one, or tell them apart by methods, hosts or headers
                6:22: routes[4].path: never matches: the gateway answers /attest/verify itself \#
                (endpoints.base moves its paths)
                7:22: routes[5].path: never matches: the gateway answers /assert/challenge itself \#
                (endpoints.base moves its paths)
                """#),
        GoldenCase(
            "policies that do not fit together",
            #"""
            routes:
              - name: a
                path: /a
                upstream: api
                attest: { mode: enforce, challenge: off }
              - name: b
                path: /b
                upstream: api
                attest: { mode: observe, challenge: off, replay: { window: 64 } }
              - name: c
                path: /c
                upstream: api
                attest: { mode: enforce, challenge_member: c, key_id_member: k }
              - name: d
                path: /d
                upstream: api
                attest: { mode: off, challenge: off }
            """#,
            expects: #"""
                5:41: routes[0].attest.challenge: challenge: off needs replay: durable, because \#
                without a challenge only the registry's counter outlives a restart
                9:41: routes[1].attest.challenge: challenge: off needs replay: durable, because \#
                without a challenge only the registry's counter outlives a restart
                13:30: routes[2].attest.challenge_member: is used with client_data: body only
                13:51: routes[2].attest.key_id_member: is used with client_data: body only
                """#),
        GoldenCase(
            "bad policies",
            #"""
            routes:
              - name: a
                path: /a
                upstream: api
                attest: { mode: enforce, replay: { window: 0 }, rollout: 25 }
              - name: b
                path: /b
                upstream: api
                attest: { mode: enforce, replay: window, rollout: 101% }
              - name: c
                path: /c
                upstream: api
                attest: { mode: on, replay: { size: 3 }, client_data: heder, challenge: no }
              - name: d
                path: /d
                upstream: api
                attest: { mode: enforce, replay: { window: 1025 }, on_store_failure: fail }
              - name: e
                path: /e
                upstream: api
                attest: { mode: enforce, accept: [tokens] }
              - name: f
                path: /f
                upstream: api
                attest: { mode: enforce, accept: [] }
              - name: g
                path: /g
                upstream: api
                attest: { mode: enforce, on_store_failure: tokens_only }
            """#,
            expects: #"""
                5:48: routes[0].attest.replay.window: "0" is outside 1 to 1024: the stores \#
                remember that many counters a key
                5:62: routes[0].attest.rollout: "25" has no unit: write 25%
                9:38: routes[1].attest.replay: window needs its size: write { window: 64 }
                9:55: routes[1].attest.rollout: "101%" is outside 0% to 100%: a share of all
                13:21: routes[2].attest.mode: "on" is not one of off, observe, enforce
                13:33: routes[2].attest.replay: required key "window" is missing
                13:35: unknown key "size" in routes[2].attest.replay; known: window
                13:59: routes[2].attest.client_data: "heder" is not one of header, body: did you \#
                mean "header"?
                13:77: routes[2].attest.challenge: "no" is not one of required, off
                17:48: routes[3].attest.replay.window: "1025" is outside 1 to 1024: the stores \#
                remember that many counters a key
                17:74: routes[3].attest.on_store_failure: "fail" is not one of deny, tokens_only, \#
                pass
                21:39: routes[4].attest.accept[0]: "tokens" is not one of assertion, token, \#
                device_check, developer or proof:NAME: did you mean "token"?
                25:38: routes[5].attest.accept: is empty: name what proves a request, or set \#
                mode: off
                29:48: routes[6].attest.on_store_failure: tokens_only needs accept: [assertion, \#
                token]
                """#),
        GoldenCase(
            "attestation without an app",
            #"""
            apps: []
            """#,
            expects: #"""
                4:66: routes[0].attest.mode: enforce needs an entry in apps: no key could be \#
                enrolled
                """#),
    ]
}
