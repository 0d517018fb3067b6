extension GoldenCase {
    static let signals: [GoldenCase] = [
        GoldenCase(
            "numbers, windows and words",
            #"""
            signals:
              user: { header: 'X User', from: server, retention: 1h }
              keys_per_user: { max: 0, window: 30w, action: reject }
              new_key_per_user: { max: 3, window: 59s }
              keys_per_address: { max: 1000001 }
              conflicts_per_key: 3
              subjects: 100
              keys_per_usr: {}
            """#,
            expects: #"""
                2:19: signals.user.header: "X User" is not a header name (RFC 9110 section 5.1)
                2:35: signals.user.from: "server" is not one of response, proxy, client
                2:54: signals.user.retention: "1h" is outside 1d to 731d: whose key it was is \#
                personal data, kept only while it is of use
                3:25: signals.keys_per_user.max: "0" is outside 1 to 1000000: only higher counts \#
                raise the signal
                3:36: signals.keys_per_user.window: "30w" is not a duration: write one like 30s, \#
                250ms, 5m, 24h or 30d
                3:49: signals.keys_per_user.action: "reject" is not one of observe, deny
                4:23: unknown key "max" in signals.new_key_per_user; known: window, action
                4:39: signals.new_key_per_user.window: "59s" is outside 1m to 366d: anything \#
                older does not count
                5:28: signals.keys_per_address.max: "1000001" is outside 1 to 1000000: only \#
                higher counts raise the signal
                6:22: signals.conflicts_per_key: expected a mapping, found the text "3"; known: \#
                max, window, action
                7:13: signals.subjects: "100" is outside 1024 to 1000000: each takes 600 bytes, \#
                100 if only events are counted
                8:3: unknown key "keys_per_usr" in signals: did you mean "keys_per_user"?
                """#),
        GoldenCase(
            "users that nobody names, or anybody",
            #"""
            signals:
              keys_per_user: {}
            """#,
            expects: #"""
                2:18: signals.keys_per_user: needs user: without it the user of a request is \#
                unknown
                """#),
        GoldenCase(
            "users of a key that nobody names, or that nothing tells apart",
            #"""
            signals: { users_per_key: { max: 5 } }
            """#,
            expects: #"""
                1:27: signals.users_per_key: needs header, cookie or user: without one the \#
                user of a request is unknown
                """#),
        GoldenCase(
            "marks of users that are none",
            #"""
            signals:
              users_per_key: { header: Authorization, cookie: session, max: 0 }
              addresses_per_key: { max: many, window: 1s }
              networks_per_key: { header: X-User }
              counter_gaps: { max: -1, action: refuse }
            """#,
            expects: #"""
                2:51: signals.users_per_key.cookie: excludes header: name the one that tells \#
                users apart
                2:65: signals.users_per_key.max: "0" is outside 1 to 1000000: only higher counts \#
                raise the signal
                3:29: signals.addresses_per_key.max: "many" is not a whole number without unit
                3:43: signals.addresses_per_key.window: "1s" is outside 1m to 366d: anything \#
                older does not count
                4:23: unknown key "header" in signals.networks_per_key; known: max, window, action
                5:24: signals.counter_gaps.max: "-1" is not a whole number without unit
                5:36: signals.counter_gaps.action: "refuse" is not one of observe, deny
                """#),
        GoldenCase(
            "headers and cookies that tell no user from another",
            #"""
            signals: { users_per_key: { header: Cookie } }
            """#,
            expects: #"""
                1:37: signals.users_per_key.header: "Cookie" tells no user from another: name \#
                what your API knows them by, as Authorization, or one cookie with cookie
                """#),
        GoldenCase(
            "a cookie without a name",
            #"""
            signals: { users_per_key: { cookie: 'my session' } }
            """#,
            expects: #"""
                1:37: signals.users_per_key.cookie: "my session" is not the name of a cookie (RFC \#
                6265)
                """#),
        GoldenCase(
            "a client that may have others refused",
            #"""
            signals:
              user: { header: X-User, from: client }
              keys_per_user: { action: deny }
              new_key_per_user: { action: observe }
            """#,
            expects: #"""
                3:18: signals.keys_per_user: action: deny needs user: { from: response } or { \#
                from: proxy }: with from: client, a client could have another user \#
                refused
                """#),
        GoldenCase(
            "limits that are missing, unknown, or of a key that does not exist yet",
            #"""
            rate_limits: { by_key: { by: key, rate: 1/s } }
            signals:
              keys_per_address: { action: limit }
              attestations_per_address: { action: { limit: by_key } }
              keys_per_attestation_certificate: { action: { limit: by_key } }
              successions_per_installation: { action: { limit: by_key } }
              conflicts_per_key: { action: { limit: by_kee, of: 3 } }
            """#,
            expects: #"""
                3:31: signals.keys_per_address.action: limit needs the name of a rate limit: \#
                write { limit: NAME }
                4:48: signals.attestations_per_address.action.limit: "by_key" counts by key, and \#
                here no key is verified
                5:56: signals.keys_per_attestation_certificate.action.limit: "by_key" counts by \#
                key, and here no key is verified
                6:52: signals.successions_per_installation.action.limit: "by_key" counts by key, \#
                and here no key is verified
                7:41: signals.conflicts_per_key.action.limit: no rate limit is named "by_kee": \#
                did you mean "by_key"?
                7:49: unknown key "of" in signals.conflicts_per_key.action; known: limit
                """#),
        GoldenCase(
            "users whose names would change with the challenge keys",
            #"""
            registry: { postgres: 'postgresql://u@h/d?sslmode=verify-full' }
            secrets: { challenge_key_file: /keys }
            signals: { user: { header: X-User }, keys_per_user: {} }
            """#,
            expects: #"""
                1:11: registry: with PostgreSQL and signals.user, secrets.pseudonym_key_file is \#
                needed: it makes the names that users are kept by, and these must outlast the \#
                challenge keys
                """#),
        GoldenCase(
            "headers with a meaning of their own",
            #"""
            signals: { user: { header: X_Attest_Key } }
            """#,
            expects: #"""
                1:28: signals.user.header: "X_Attest_Key" has a meaning of its own
                """#),
    ]
}
