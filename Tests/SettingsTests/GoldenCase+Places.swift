extension GoldenCase {
    static let places: [GoldenCase] = [
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
            "limits that contradict each other",
            #"""
            limits: { head: 4KiB, target: 8KiB }
            """#,
            expects: #"""
                1:9: limits: target is larger than head, of which the target is a part
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
                3:19: challenge.ttl: "30" has no unit: write 30s (units: ms, s, m, h)
                7:15: routes[0].upstream: no upstream is named "apu": did you mean "api"?
                8:41: routes[0].attest.challenge: challenge: off needs replay: durable, because \#
                without a challenge only the registry's counter outlives a restart
                9:16: log.access: environment variable LOG is not set, and ${LOG} has no default: \#
                write ${LOG:-value} for one
                """#),
    ]
}
