extension GoldenCase {
    static let redis: [GoldenCase] = [
        GoldenCase(
            "a Redis without a place",
            #"""
            counters: { redis: { database: 1 } }
            """#,
            expects: #"""
                1:20: counters.redis: names no server: write address, sentinel or cluster
                """#),
        GoldenCase(
            "a Redis with two places",
            #"""
            counters:
              redis:
                address: h:1
                cluster: { addresses: [h:2] }
              username: u
            """#,
            expects: #"""
                4:5: counters.redis.cluster: stands beside counters.redis.address: one of them \#
                is enough
                5:3: unknown key "username" in counters; known: redis, floors_directory, \#
                on_floors_unkept
                """#),
        GoldenCase(
            "options of Redis, in the long form",
            #"""
            counters:
              redis:
                address: h:0
                username: u
                database: 99999
                client_name: a b
                password_fil: x
                key_lifetime: 1m
                wait: { replicas: 0, timeout: 2s, replica: 1 }
            """#,
            expects: #"""
                3:14: counters.redis.address: port 0 cannot be connected to
                4:15: counters.redis.username: a user without a password: Redis logs in with both
                5:15: counters.redis.database: "99999" is outside 0 to 65535: Redis has 16 by \#
                default
                6:18: counters.redis.client_name: "a b" holds characters other than visible ASCII
                7:5: unknown key "password_fil" in counters.redis: did you mean "password_file"?
                8:19: counters.redis.key_lifetime: "1m" is outside 2h to 3660d: a copy of a key \#
                is recognized by its counter for as long
                9:23: counters.redis.wait.replicas: "0" is outside 1 to 16: each request waits \#
                for them
                9:35: counters.redis.wait.timeout: is not shorter than command_timeout, 500ms: \#
                Redis would be taken for dead
                9:39: unknown key "replica" in counters.redis.wait: did you mean "replicas"?
                """#),
        GoldenCase(
            "Sentinels and clusters",
            #"""
            counters:
              redis:
                sentinel: { addresses: [], username: u }
                database: 3
            """#,
            expects: #"""
                3:15: counters.redis.sentinel: required key "master" is missing
                3:28: counters.redis.sentinel.addresses: names no server
                3:42: counters.redis.sentinel.username: a user without a password: Redis logs in \#
                with both
                """#),
        GoldenCase(
            "a cluster's addresses and database",
            #"""
            counters:
              redis:
                cluster: { addresses: ["unix:/r", "h:1", "h:1"] }
                database: 3
            """#,
            expects: #"""
                3:28: counters.redis.cluster.addresses[0]: a unix socket cannot be named to \#
                others: write host:port
                3:46: counters.redis.cluster.addresses[2]: listed twice
                """#),
        GoldenCase(
            "a cluster with another database",
            #"""
            counters: { redis: { cluster: { addresses: ["h:1"] }, database: 3 } }
            """#,
            expects: #"""
                1:65: counters.redis.database: a cluster has database 0 only
                """#),
        GoldenCase(
            "TLS where there is none",
            #"""
            counters: { redis: 'unix:///r', tls: { verify: off } }
            """#,
            expects: #"""
                1:33: counters.tls: Redis has no TLS at a unix socket
                """#),
        GoldenCase(
            "TLS beside a URL without it, and a password twice",
            #"""
            counters:
              redis: redis://:p@h
              tls: { verify: off }
              password_file: /secret
              database: 1
            """#,
            expects: #"""
                3:3: counters.tls: the URL is one without TLS: write rediss://
                4:18: counters.password_file: a password is given as well: leave one out
                """#),
        GoldenCase(
            "a password file that holds none",
            #"""
            counters: { redis: redis://h, password_file: /two-lines }
            """#,
            expects: #"""
                1:46: counters.password_file: "/two-lines" does not hold a password: one line of \#
                text, at most 4096 bytes
                """#),
    ]
}
