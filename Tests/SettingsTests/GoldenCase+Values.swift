extension GoldenCase {
    static let values: [GoldenCase] = [
        GoldenCase(
            "a missing section each",
            #"""
            workers: 1
            listeners: []
            upstreams: {}
            routes: []
            apps: []
            """#,
            expects: #"""
                2:12: listeners: is empty: at least one listener is needed
                3:12: upstreams: is empty: at least one upstream is needed
                4:9: routes: is empty: at least one route is needed
                """#),
        GoldenCase(
            "unknown keys with a suggestion or the known ones",
            #"""
            lisners: []
            challenge: { tll: 30s, xyz: 1 }
            foo: 1
            """#,
            expects: #"""
                1:1: unknown key "lisners": did you mean "listeners"?
                2:14: unknown key "tll" in challenge: did you mean "ttl"?
                2:24: unknown key "xyz" in challenge; known: ttl, attestation_ttl
                3:1: unknown key "foo"; known: workers, rate_limits, quotas, forwarded, \#
                listeners, apps, trust, apple, device_check, proofs, registry, counters, \#
                key_cache, challenge, session_tokens, receipts, developer_tokens, secrets, \#
                crypto, signals, identity, endpoints, headers, upstreams, routes, admin, log, \#
                otlp, capture, limits, timeouts
                """#),
        GoldenCase(
            "capture without a directory, and too much of it",
            #"""
            capture: { size_max: 1KiB, files: 3 }
            listeners: [{ bind: 'a:1', problem_detail: on }]
            """#,
            expects: #"""
                1:10: capture: required key "directory" is missing
                1:22: capture.size_max: "1KiB" is outside 1MiB to 16GiB: they share the disk with \#
                the registry
                1:28: unknown key "files" in capture; known: directory, size_max
                2:44: listeners[0].problem_detail: "on" is not one of true, false
                """#),
        GoldenCase(
            "a directory is what capture means",
            #"""
            capture: /var/lib/kept
            """#,
            expects: #"""
                1:10: capture: expected a mapping, found the text "/var/lib/kept": write \#
                capture: { directory: /var/lib/kept }
                """#),
        GoldenCase(
            "duplicate keys",
            #"""
            workers: 1
            log: { access: off, access: stdout }
            workers: 2
            upstreams:
              api: { servers: ['a:1'] }
              api: { servers: ['b:1'] }
            """#,
            expects: #"""
                2:21: duplicate key "access": first given at 2:8
                3:1: duplicate key "workers": first given at 1:1
                6:3: duplicate key "api": first given at 5:3
                """#),
        GoldenCase(
            "wrong types",
            #"""
            workers: [1]
            listeners: {}
            challenge: 30s
            admin:
            log: { access: }
            limits: []
            upstreams: [a]
            routes: all
            registry: /r.db
            apps: x
            """#,
            expects: #"""
                1:10: workers: expected a single value, found a list
                2:12: listeners: expected a list, found a mapping: begin each of its entries \#
                with "- "
                3:12: challenge: expected a mapping, found the text "30s"; known: ttl, \#
                attestation_ttl
                4:7: admin: expected a mapping, found nothing: write admin: { bind: … }
                5:16: log.access: has no value
                6:9: limits: expected a mapping, found a list; known: connections, \#
                connections_per_address, requests_per_address, head, fields, target, body, \#
                body_memory, temporary_directory, response_head, response_buffer, \#
                requests_per_connection, client_data, registry_queue, registry_log, \#
                body_rate_min, response_rate_min, http2
                7:12: upstreams: expected a mapping, found a list: write upstreams: { NAME: { \#
                servers: […] } }
                8:9: routes: expected a list, found the text "all": write routes: [{ name: …, \#
                path: …, attest: … }]
                9:11: registry: expected a mapping, found the text "/r.db": write registry: { \#
                sqlite: /r.db }
                10:7: apps: expected a list, found the text "x": write apps: [{ id: x }]
                """#),
        GoldenCase(
            "elements that are no mappings, of which nothing is concluded",
            #"""
            listeners: [a, b]
            upstreams: { api: { servers: ['h:1'] }, other: none }
            routes:
              - api
              - other
              - { name: a, path: /, upstream: other, attest: { mode: off } }
            """#,
            expects: #"""
                1:13: listeners[0]: expected a mapping, found the text "a": write { bind: a }
                1:16: listeners[1]: expected a mapping, found the text "b": write { bind: b }
                2:48: upstreams.other: expected a mapping, found the text "none": write other: { \#
                servers: [none] }
                4:5: routes[0]: expected a mapping, found the text "api": write { name: …, path: \#
                …, attest: … }
                5:5: routes[1]: expected a mapping, found the text "other": write { name: …, \#
                path: …, attest: … }
                """#),
        GoldenCase(
            "values that are read again once they are good",
            #"""
            listeners:
              - { bind: 'h:1', tls: { certificate: [], key: '' } }
            upstreams:
              api:
                servers: ['h:2']
                tls: { ca: '', crl: [], certificate: '', key: [] }
            apps: []
            routes:
              - { name: a, path: /, upstream: api, rate_limit: [b], attest: { mode: off } }
            """#,
            expects: #"""
                2:40: listeners[0].tls.certificate: expected a single value, found a list
                2:49: listeners[0].tls.key: has no value
                6:16: upstreams.api.tls.ca: has no value
                6:25: upstreams.api.tls.crl: expected a single value, found a list
                6:42: upstreams.api.tls.certificate: has no value
                6:51: upstreams.api.tls.key: expected a single value, found a list
                9:53: routes[0].rate_limit[0]: no rate limit is named "b"; known: attestation, \#
                challenge
                """#),
        GoldenCase(
            "numbers without unit",
            #"""
            challenge: { ttl: 30, attestation_ttl: 24 }
            limits: { head: 32768, connections: 10s }
            timeouts: { idle: '' }
            """#,
            expects: #"""
                1:19: challenge.ttl: "30" has no unit: write 30s (units: ms, s, m, h, d)
                1:40: challenge.attestation_ttl: "24" has no unit: write 24s (units: ms, s, m, h, d)
                2:17: limits.head: "32768" has no unit: write 32768B (units: B, KiB, MiB, GiB)
                2:37: limits.connections: "10s" is not a whole number without unit
                3:19: timeouts.idle: has no value
                """#),
        GoldenCase(
            "malformed numbers",
            #"""
            challenge: { ttl: 30 s, attestation_ttl: 1 d }
            limits: { head: 32KB, target: 8k, body: -1B, fields: 1.5, registry_queue: \#
            99999999999999999999 }
            timeouts: { idle: 1.5s, send: 99999999999999999h }
            """#,
            expects: #"""
                1:19: challenge.ttl: "30 s" is not a duration: write one like 30s, 250ms, 5m, 24h \#
                or 30d
                1:42: challenge.attestation_ttl: "1 d" is not a duration: write one like 30s, \#
                250ms, 5m, 24h or 30d
                2:17: limits.head: "32KB" is not a size: write one like 64KiB, 1MiB or 512B
                2:31: limits.target: "8k" is not a size: write one like 64KiB, 1MiB or 512B
                2:41: limits.body: "-1B" is not a size: write one like 64KiB, 1MiB or 512B
                2:54: limits.fields: "1.5" is not a whole number without unit
                2:75: limits.registry_queue: "99999999999999999999" is outside 1 to 1000000: each \#
                waiting request holds memory
                3:19: timeouts.idle: "1.5s" is not a duration: write one like 30s, 250ms, 5m, 24h \#
                or 30d
                3:31: timeouts.send: "99999999999999999h" is outside 100ms to 10m: clients that \#
                do not read hold memory
                """#),
        GoldenCase(
            "numbers out of range",
            #"""
            workers: 0
            challenge: { ttl: 2h, attestation_ttl: 73h }
            limits: { head: 100B, connections: 0, fields: 1001, target: 65KiB }
            key_cache: { records: 0 }
            endpoints: { body_max: 1KiB }
            trust: { clock_skew: 61m }
            """#,
            expects: #"""
                1:10: workers: "0" is outside 1 to 256: one thread for each processor is enough
                2:19: challenge.ttl: "2h" is outside 1s to 1h: a spent challenge is remembered \#
                for as long
                2:40: challenge.attestation_ttl: "73h" is outside 1m to 3d: Apple wants the same \#
                hash retried, and an old challenge proves nothing
                3:17: limits.head: "100B" is outside 1KiB to 1MiB: each connection may hold as \#
                much
                3:36: limits.connections: "0" is outside 1 to 1000000: each connection holds a \#
                file descriptor
                3:47: limits.fields: "1001" is outside 10 to 1000: clients send a dozen, and each \#
                costs a comparison
                3:61: limits.target: "65KiB" is outside 256B to 64KiB: servers behind this one \#
                take 8KiB to 64KiB
                4:23: key_cache.records: "0" is outside 1 to 50000000: each record takes about \#
                200 bytes in each worker
                5:24: endpoints.body_max: "1KiB" is outside 12KiB to 1MiB: an attestation is \#
                about 6KiB, 8KiB as base64, and is held in memory
                6:22: trust.clock_skew: "61m" is outside 0s to 1h: leaf certificates live three \#
                days
                """#),
        GoldenCase(
            "words that are not in the list",
            #"""
            workers: autp
            log: { access: stdou, events: file }
            counters: embeded
            """#,
            expects: #"""
                1:10: workers: "autp" is neither auto nor a number of threads: did you mean \#
                "auto"?
                2:16: log.access: "stdou" is not off, stdout, stderr or a path with a /: did you \#
                mean "stdout"?
                2:31: log.events: "file" is not off, stdout, stderr or a path with a /
                3:11: counters: "embeded" is not one of embedded: did you mean "embedded"?
                """#),
        GoldenCase(
            "bad addresses",
            #"""
            listeners:
              - bind: 8080
              - bind: '127.0.0.1'
              - bind: '127.0.0.256:80'
              - bind: '127.0.0.1:70000'
              - bind: '::1:80'
              - bind: '[::1]'
              - bind: '[::g]:80'
              - bind: unix:socket
              - bind: 'a b:80'
              - bind: ':80'
              - {}
            """#,
            expects: #"""
                2:11: listeners[0].bind: "8080" is a port without a host: write 127.0.0.1:8080 \#
                for this machine alone, or 0.0.0.0:8080 for every IPv4 address of it
                3:11: listeners[1].bind: "127.0.0.1" lacks its port: write host:port, [v6]:port \#
                or unix:/path
                4:11: listeners[2].bind: "127.0.0.256:80" does not begin with a valid IPv4 address
                5:11: listeners[3].bind: "127.0.0.1:70000" does not end in a port: 0 to 65535
                6:11: listeners[4].bind: "::1:80" is ambiguous: write an IPv6 address as \#
                [address]:port
                7:11: listeners[5].bind: "[::1]" lacks its port: write [address]:port
                8:11: listeners[6].bind: "[::g]:80" does not hold an IPv6 address between [ and ]
                9:11: listeners[7].bind: "unix:socket" does not name an absolute path of at most \#
                107 bytes after unix:
                10:11: listeners[8].bind: "a b:80" does not begin with a host name or numeric \#
                address
                11:11: listeners[9].bind: ":80" is a port without a host: write 127.0.0.1:80 for \#
                this machine alone, or 0.0.0.0:80 for every IPv4 address of it
                12:5: listeners[10]: required key "bind" is missing
                """#),
        GoldenCase(
            "one address bound twice",
            #"""
            listeners:
              - bind: 127.0.0.1:80
              - bind: 127.0.0.1:80
              - bind: '[0:0::1]:80'
            admin: { bind: '[::1]:80' }
            """#,
            expects: #"""
                3:11: 127.0.0.1:80 is bound at 2:11 already
                5:16: [::1]:80 is bound at 4:11 already
                """#),
        GoldenCase(
            "listener options",
            #"""
            listeners:
              - bind: a:1
                allow: [dot_segment, backslash, backslash, [x]]
                trusted_proxies: [10.0.0.0/33, 10.1.2.3/8, 010.0.0.1, 'fd00::/8', '::/129', \#
            'fd00::/8', 'x']
                alow: []
            """#,
            expects: #"""
                3:13: listeners[0].allow[0]: "dot_segment" is not one of dot_segments, \#
                empty_segments, encoded_slash, backslash, path_parameters, encoded_control: did \#
                you mean "dot_segments"?
                3:37: listeners[0].allow[2]: listed twice
                3:48: listeners[0].allow[3]: expected a single value, found a list
                4:23: listeners[0].trusted_proxies[0]: "10.0.0.0/33" has a prefix length outside \#
                0 to 32
                4:36: listeners[0].trusted_proxies[1]: "10.1.2.3/8" has bits set behind its \#
                prefix: write 10.0.0.0/8
                4:48: listeners[0].trusted_proxies[2]: "010.0.0.1" is not an address block: write \#
                one like 10.0.0.0/8 or fd00::/8
                4:71: listeners[0].trusted_proxies[4]: "::/129" has a prefix length outside 0 to \#
                128
                4:81: listeners[0].trusted_proxies[5]: listed twice
                4:93: listeners[0].trusted_proxies[6]: "x" is not an address block: write one \#
                like 10.0.0.0/8 or fd00::/8
                5:5: unknown key "alow" in listeners[0]: did you mean "allow"?
                """#),
        GoldenCase(
            "bad apps",
            #"""
            apps:
              - id: com.example.app
              - id: ABCDE12345.
              - id: abcde12345.com.example
              - id: ABCDE12345.com..x
              - id: ABCDE12345.com.example_app
              - id: ABCDE12345.a
                environments: [prod, developmnt]
              - id: ABCDE12345.b
                environments: []
              - id: ABCDE12345.c
              - id: ABCDE12345.c
              - environments: production
            """#,
            expects: #"""
                2:9: apps[0].id: "com.example.app" does not begin with a team id (10 upper-case \#
                letters or digits) and a period: write TEAMID1234.com.example.app
                3:9: apps[1].id: "ABCDE12345." does not end in a bundle id: letters, digits, \#
                hyphens and periods
                4:9: apps[2].id: "abcde12345.com.example" does not begin with a team id (10 \#
                upper-case letters or digits) and a period: write TEAMID1234.com.example.app
                5:9: apps[3].id: "ABCDE12345.com..x" does not end in a bundle id: letters, \#
                digits, hyphens and periods
                6:9: apps[4].id: "ABCDE12345.com.example_app" does not end in a bundle id: \#
                letters, digits, hyphens and periods
                8:20: apps[5].environments[0]: "prod" is not one of production, development: did \#
                you mean "production"?
                8:26: apps[5].environments[1]: "developmnt" is not one of production, \#
                development: did you mean "development"?
                10:19: apps[6].environments: is empty: no key of this app could enrol
                12:5: apps[8]: app "ABCDE12345.c" is listed twice
                13:5: apps[9]: required key "id" is missing, or "android" for an Android app
                13:19: apps[9].environments: expected a list, found the text "production": write \#
                environments: [production]
                16:66: routes[0].attest.mode: with several apps configured, apps is needed too: \#
                the ids of those whose requests this route takes, or any
                """#),
        GoldenCase(
            "extra roots that are none",
            #"""
            trust: { extra_roots: [/absent.pem, /empty.pem, '', /garbage.pem] }
            """#,
            expects: #"""
                1:24: trust.extra_roots[0]: "/absent.pem" cannot be read: No such file or \#
                directory
                1:37: trust.extra_roots[1]: "/empty.pem" is not a file of PEM certificates: \#
                malformed PEM: no certificate
                1:49: trust.extra_roots[2]: has no value
                1:53: trust.extra_roots[3]: "/garbage.pem" is not a file of PEM certificates: \#
                malformed certificate (wrong tag; nested asn1 error)
                """#),
    ]
}
