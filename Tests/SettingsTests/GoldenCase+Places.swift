extension GoldenCase {
    static let places: [GoldenCase] = [
        GoldenCase(
            "a collector that is none",
            #"""
            otlp:
              endpoint: ftp://user:hunter2@h:1
              headers: { Content-Type: a, "a b": c, X-A: "b\tc", x-a: d }
              ca: /nowhere
              metrics_interval: 0s
              sample: 101%
              span_limit: 5
              timeout: 3s
            """#,
            expects: #"""
                2:13: otlp.endpoint: is not a collector's URL: write http://host:port or \#
                https://host:port, with a path behind it if need be, and tokens in headers
                3:14: otlp.headers.Content-Type: "Content-Type" is written by the gateway
                3:31: otlp.headers.a b: "a b" is not a header name (RFC 9110 section 5.1)
                3:46: otlp.headers.X-A: is not a header value: printable ASCII, without spaces \#
                around it, at most 4096 bytes
                3:54: otlp.headers.x-a: "x-a" is named twice
                4:7: otlp.ca: "/nowhere" cannot be read: No such file or directory
                5:21: otlp.metrics_interval: "0s" is outside 1s to 1h: the whole page is sent \#
                each time
                6:11: otlp.sample: "101%" is outside 0% to 100%: a share of all
                7:15: otlp.span_limit: "5" is not a rate: write one like 100/s, 30/m or 1000/h
                8:3: unknown key "timeout" in otlp; known: endpoint, headers, ca, \#
                metrics_interval, sample, span_limit
                """#),
        GoldenCase(
            "an export of nothing, over the Internet without TLS",
            #"""
            otlp:
              endpoint: http://collector.example.com:4318/
              metrics_interval: off
              sample: off
            """#,
            expects: #"""
                2:3: otlp: neither metrics nor spans are sent: leave otlp out
                """#),
        GoldenCase(
            "bad Redis URLs",
            #"""
            counters: { redis: localhost:6379 }
            """#,
            expects: #"""
                1:20: counters.redis: the URL is not a URL: write redis://host:6379/0 or \#
                unix:///path
                """#),
        GoldenCase(
            "Redis options",
            #"""
            counters:
              redis: redis://u:hunter2@h:1/x
              username: v
              command_timeout: 5ms
              in_flight: 3
            """#,
            expects: #"""
                2:10: counters.redis: the URL has a path that is not a database number, 0 to \#
                65535; in a password write / as %2F
                4:20: counters.command_timeout: "5ms" is outside 10ms to 1m: requests wait for it
                5:3: unknown key "in_flight" in counters: did you mean "in_flight_max"?
                """#),
        GoldenCase(
            "credentials given twice or in half",
            #"""
            counters:
              redis: redis://u:hunter2@h
              username: v
              password: hunter3
            """#,
            expects: #"""
                3:13: counters.username: is given in the URL too: leave one out
                4:13: counters.password: is given in the URL too: leave one out
                """#),
        GoldenCase(
            "a user without a password",
            #"""
            counters: { redis: 'redis://h', username: v }
            """#,
            expects: #"""
                1:20: counters.redis: a user without a password: Redis logs in with both
                """#),
        GoldenCase(
            "rate limits",
            #"""
            rate_limits:
              off: { by: address, rate: 1/s }
              a: { by: adress, rate: 10 }
              b: { by: key, rate: 0/s, burst: 0, except: [10.0.0.1/8] }
              c: { by: key, rate: 1/h }
            routes:
              - { name: x, path: /x, upstream: api, attest: { mode: off }, rate_limit: c }
              - { name: y, path: /y, upstream: api, attest: { mode: enforce }, rate_limit: [c, d] }
            endpoints: { rate_limit: { challenge: c, verify: a } }
            limits: { body_rate_min: 500B, connections_per_address: 0 }
            """#,
            expects: #"""
                2:3: "off" is not a name: 1 to 64 letters, digits, periods, hyphens and \#
                underscores
                3:12: rate_limits.a.by: "adress" is not one of address, key, global: did you \#
                mean "address"?
                3:26: rate_limits.a.rate: "10" is not a rate: write one like 100/s, 30/m or 1000/h
                4:23: rate_limits.b.rate: "0/s" is outside 1 to 1000000: no limit can refuse \#
                every request
                4:35: rate_limits.b.burst: "0" is outside 1 to 1000000: a burst is what comes at \#
                once
                4:46: rate_limits.b.except: only a limit by address has addresses to except
                4:47: rate_limits.b.except[0]: "10.0.0.1/8" has bits set behind its prefix: \#
                write 10.0.0.0/8
                7:76: routes[0].rate_limit: "c" counts by key, and here no key is verified
                8:84: routes[1].rate_limit[1]: no rate limit is named "d": did you mean "a"?
                9:39: endpoints.rate_limit.challenge: "c" counts by key, and here no key is \#
                verified
                9:42: unknown key "verify" in endpoints.rate_limit; known: challenge, \#
                attestation_challenge, attestation
                10:26: limits.body_rate_min: "500B" is not a byte rate: write one like 500B/s or \#
                4KiB/s
                10:57: limits.connections_per_address: "0" is outside 1 to 1000000: each \#
                connection holds a file descriptor
                """#),
        GoldenCase(
            "receipts",
            #"""
            receipts:
              renew: of
              rate: 501/s
              interval: 23h
              jitter: 169h
              retry: { shortest: 0s, longest: 25h, unauthorized: 59s, failed: 1, not_found: 721h }
              lease: 4s
              rates: 1/s
            """#,
            expects: #"""
                2:10: receipts.renew: "of" is not one of on, off: did you mean "on"?
                3:9: receipts.rate: 501/s is more than 500/s: they are sent one by one, and Apple \#
                throttles a team that asks too often
                4:13: receipts.interval: "23h" is outside 1d to 28d: Apple has no newer receipt \#
                for a day, and exchanges none older than 30 days
                5:11: receipts.jitter: "169h" is outside 0s to 7d: with interval it must stay \#
                below the 30 days of a receipt
                6:22: receipts.retry.shortest: "0s" is outside 1s to 1h: Apple wants to be left \#
                alone for a while
                6:35: receipts.retry.longest: "25h" is outside 1m to 1d: a receipt is to be \#
                renewed within 30 days
                6:54: receipts.retry.unauthorized: "59s" is outside 1m to 1d: a key that Apple \#
                does not take is a matter for people
                6:67: receipts.retry.failed: "1" has no unit: write 1s (units: ms, s, m, h, d)
                6:81: receipts.retry.not_found: "721h" is outside 1h to 30d: Apple rarely learns \#
                what it did not know
                7:10: receipts.lease: "4s" is outside 5s to 10m: a short one is lost to a slow \#
                store, and a long one delays the gateway that takes over
                8:3: unknown key "rates" in receipts: did you mean "rate"?
                """#),
        GoldenCase(
            "receipts that would grow too old, and waits the wrong way round",
            #"""
            receipts:
              interval: 25d
              jitter: 5d
              retry: { shortest: 2m, longest: 1m }
            """#,
            expects: #"""
                2:3: receipts: interval and jitter are more than 29d together: Apple exchanges no \#
                receipt that is older than 30 days
                4:10: receipts.retry: shortest is longer than longest
                """#),
        GoldenCase(
            "PROXY protocol",
            #"""
            listeners:
              - { bind: 127.0.0.1:1, proxy_protocol: {} }
              - { bind: 127.0.0.1:2, proxy_protocol: { from: [] } }
              - { bind: 127.0.0.1:3, proxy_protocol: true, rate_limit: attestatio }
            forwarded: x
            """#,
            expects: #"""
                2:42: listeners[0].proxy_protocol: required key "from" is missing
                3:50: listeners[1].proxy_protocol.from: is empty: leave proxy_protocol out
                4:42: listeners[2].proxy_protocol: expected a mapping, found the text "true": \#
                write proxy_protocol: { from: [true] }
                4:60: listeners[2].rate_limit: no rate limit is named "attestatio": did you mean \#
                "attestation"?
                5:12: forwarded: "x" is not one of x-forwarded, rfc7239, both
                """#),
        GoldenCase(
            "limits that contradict each other",
            #"""
            limits: { head: 4KiB, target: 8KiB }
            """#,
            expects: #"""
                1:9: limits: target is larger than head, of which the target is a part
                """#),
        GoldenCase(
            "limits of HTTP/2",
            #"""
            limits:
              http2:
                concurrent_streams: 0
                stream_window: 63KiB
                connection_window: 17MiB
                resets: many
                pings: 1000001
                ping: 1
            """#,
            expects: #"""
                3:25: limits.http2.concurrent_streams: "0" is outside 1 to 10000: each stream is \#
                a request under way
                4:20: limits.http2.stream_window: "63KiB" is outside 64KiB to 16MiB: HTTP/2 \#
                begins with 64KiB, and what is in flight must be taken
                5:24: limits.http2.connection_window: "17MiB" is outside 64KiB to 16MiB: HTTP/2 \#
                begins with 64KiB, and what is in flight must be taken
                6:13: limits.http2.resets: "many" is not a whole number without unit
                7:12: limits.http2.pings: "1000001" is outside 1 to 1000000: a flood of them \#
                costs more here than there
                8:5: unknown key "ping" in limits.http2: did you mean "pings"?
                """#),
        GoldenCase(
            "windows of HTTP/2 that contradict each other",
            #"""
            limits: { http2: { stream_window: 2MiB } }
            """#,
            expects: #"""
                1:18: limits.http2: connection_window is smaller than stream_window
                """#),
        GoldenCase(
            "slow readers, tunnels and servers that come back",
            #"""
            limits: { response_rate_min: 17MiB/s }
            timeouts: { response_grace: 11m, tunnel_drain: 2h }
            upstreams: { api: { servers: ['127.0.0.1:1'], slow_start: 0s } }
            """#,
            expects: #"""
                1:30: limits.response_rate_min: "17MiB/s" is outside 0B/s to 16MiB/s: slower \#
                clients are cut off
                2:29: timeouts.response_grace: "11m" is outside 100ms to 10m: clients that do not \#
                read hold memory
                2:48: timeouts.tunnel_drain: "2h" is outside 0s to 1h: a stopping process must \#
                end some time
                3:59: upstreams.api.slow_start: "0s" is outside 1s to 1h: the other servers bear \#
                the rest
                """#),
        GoldenCase(
            "URLs in place of addresses",
            #"""
            listeners: [{ bind: 'http://127.0.0.1' }]
            upstreams:
              api:
                servers:
                  - http://127.0.0.1:9001
                  - HTTPS://user:hunter2@api.internal/v1?x
                  - ftp://h:1
            registry: postgresql://user:hunter2@h/db
            admin: 127.0.0.1:9464
            """#,
            expects: #"""
                1:21: listeners[0].bind: "http://127.0.0.1" is a URL: write 127.0.0.1:80
                5:9: upstreams.api.servers[0]: "http://127.0.0.1:9001" is a URL: write \#
                127.0.0.1:9001
                6:9: upstreams.api.servers[1]: the text is a URL: write api.internal:443, and the \#
                key tls beside it
                7:9: upstreams.api.servers[2]: "ftp://h:1" is a URL: write host:port
                8:11: registry: expected a mapping, found a URL: write registry: { sqlite: … }
                9:8: admin: expected a mapping, found the text "127.0.0.1:9464": write admin: { \#
                bind: 127.0.0.1:9464 }
                """#),
        GoldenCase(
            "unset variables and unreadable files",
            #"""
            listeners:
              - bind: ${BIND}
            registry: { sqlite: "${file:/absent}" }
            admin: { bind: "a:${PORT" }
            log: { access: "${1X:-a}", events: "${X:=a}" }
            workers: ${A:-${B}}
            """#,
            expects: #"""
                2:11: listeners[0].bind: environment variable BIND is not set, and ${BIND} has no \#
                default: write ${BIND:-value} for one
                3:21: registry.sqlite: ${file:/absent} cannot be read: No such file or directory
                4:16: admin.bind: ${ without its }; write $${ for a literal ${
                5:16: log.access: ${1X:-a} is not a form of ${…}: write ${VAR}, ${VAR:-default} \#
                or ${file:/path}
                5:36: log.events: ${X:=a} is not a form of ${…}: write ${VAR}, ${VAR:-default} or \#
                ${file:/path}
                6:10: workers: ${A:-${B}…: ${…} cannot be nested
                """#),
        GoldenCase(
            "a secret in a value that does not fit",
            #"""
            workers: ${file:/secret}
            counters: { redis: "${file:/secret}" }
            """#,
            expects: #"""
                1:10: workers: "${file:/secret}" is neither auto nor a number of threads
                2:20: counters.redis: the URL is not a URL: write redis://host:6379/0 or \#
                unix:///path
                """#),
        GoldenCase(
            "YAML syntax",
            #"""
            workers: [1
            """#,
            expects: #"""
                2:5: YAML syntax: did not find expected ',' or ']' while parsing a flow sequence
                """#),
        GoldenCase(
            "an unquoted reference inside braces",
            #"""
            workers: 1
            log: { access: ${LOG} }
            """#,
            expects: #"""
                2:17: YAML syntax: did not find expected ',' or '}' while parsing a flow mapping; \#
                inside { } and [ ] quote a value that holds ${…}
                """#),
        GoldenCase(
            "YAML features that are refused",
            #"""
            workers: &w 1
            """#,
            expects: #"""
                1:10: anchors (&name) are not supported
                """#),
        GoldenCase(
            "a text that is not YAML's",
            #"""
            - a
            - b
            """#,
            expects: #"""
                3:1: YAML syntax: did not find expected '-' indicator while parsing a block \#
                collection
                """#),
        GoldenCase(
            "many kinds at once",
            #"""
            workers: 0
            listners: []
            challenge: { ttl: 30 }
            routes:
              - name: a
                path: /a
                upstream: apu
                attest: { mode: enforce, challenge: off }
            log: { access: "${LOG}" }
            """#,
            expects: #"""
                1:10: workers: "0" is outside 1 to 256: one thread for each processor is enough
                2:1: unknown key "listners": did you mean "listeners"?
                3:19: challenge.ttl: "30" has no unit: write 30s (units: ms, s, m, h, d)
                7:15: routes[0].upstream: no upstream is named "apu": did you mean "api"?
                8:41: routes[0].attest.challenge: challenge: off needs replay: durable, because \#
                without a challenge only the registry's counter outlives a restart
                9:16: log.access: environment variable LOG is not set, and ${LOG} has no default: \#
                write ${LOG:-value} for one
                """#),
    ]
}
