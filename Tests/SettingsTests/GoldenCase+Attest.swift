extension GoldenCase {
    static let attest: [GoldenCase] = [
        GoldenCase(
            "bad answers to requests that fall short",
            #"""
            rate_limits: { slow: { by: address, rate: 1/m }, each: { by: key, rate: 1/m } }
            routes:
              - name: a
                path: /a
                upstream: api
                attest: { mode: enforce, on_missing: limit, on_invalid: allow }
              - name: b
                path: /b
                upstream: api
                attest: { mode: enforce, on_missing: { limit: slwo }, on_invalid: { limits: slow } }
              - name: c
                path: /c
                upstream: api
                attest: { mode: enforce, on_missing: { limit: each }, on_store_failure: limit }
              - name: d
                path: /d
                upstream: api
                attest: { mode: enforce, on_store_failure: { limit: each }, on_lower_tier: pass }
              - name: e
                path: /e
                upstream: api
                attest: { mode: enforce, accept: [token], min_tier: attested }
              - name: f
                path: /f
                upstream: api
                attest: { mode: enforce, min_tier: high, on_lower_tier: { limit: each } }
            """#,
            expects: #"""
                6:42: routes[0].attest.on_missing: limit needs the name of a rate limit: write \#
                { limit: NAME }
                6:61: routes[0].attest.on_invalid: "allow" is not one of deny, pass
                10:51: routes[1].attest.on_missing.limit: no rate limit is named "slwo": did you \#
                mean "slow"?
                10:71: routes[1].attest.on_invalid: required key "limit" is missing
                10:73: unknown key "limits" in routes[1].attest.on_invalid: did you mean "limit"?
                14:51: routes[2].attest.on_missing.limit: "each" counts by key, and here no key \#
                is verified
                14:77: routes[2].attest.on_store_failure: limit needs the name of a rate limit: \#
                write { limit: NAME }
                18:57: routes[3].attest.on_store_failure.limit: "each" counts by key, and here no \#
                key is verified
                18:65: routes[3].attest.on_lower_tier: is used with min_tier only
                22:57: routes[4].attest.min_tier: no proof that accept names is worth attested: \#
                each request would fall short
                26:40: routes[5].attest.min_tier: "high" is not one of attested, device_check, \#
                token, foreign, none
                """#),
        GoldenCase(
            "bad environments and categories",
            #"""
            apps: [{ id: ABCDE12345.com.example.app, environments: [production] }]
            routes:
              - name: a
                path: /a
                upstream: api
                attest: { mode: enforce, environments: [], categories: [app_store] }
              - name: b
                path: /b
                upstream: api
                attest: { mode: enforce, environments: [development], categories: {} }
              - name: c
                path: /c
                upstream: api
                attest: { mode: off, environments: [prod], categories: { only: [] } }
              - name: d
                path: /d
                upstream: api
                attest:
                  mode: enforce
                  categories: { only: [appstore, 4], only_or_missing: [os] }
              - name: e
                path: /e
                upstream: api
                attest: { mode: enforce, categories: { only: [appstore, 4, os, os] } }
            """#,
            expects: #"""
                6:44: routes[0].attest.environments: is empty: no request would pass
                6:60: routes[0].attest.categories: expected a mapping, found a list; known: only, \#
                only_or_missing
                10:44: routes[1].attest.environments: no app takes keys of these environments: no \#
                request would pass
                10:71: routes[1].attest.categories: needs one of only, only_or_missing
                14:26: routes[2].attest.environments: is used with mode observe or enforce: off \#
                looks at nothing
                14:41: routes[2].attest.environments[0]: "prod" is not one of production, \#
                development: did you mean "production"?
                14:48: routes[2].attest.categories: is used with mode observe or enforce: off \#
                looks at nothing
                14:68: routes[2].attest.categories.only: is empty: name the categories that are \#
                let in
                20:19: routes[3].attest.categories: needs one of only, only_or_missing
                20:28: routes[3].attest.categories.only[0]: "appstore" is not one of os, \#
                testflight, development, app_store, enterprise, developer_id, other: did you \#
                mean "app_store"?
                20:38: routes[3].attest.categories.only[1]: "4" is not one of os, testflight, \#
                development, app_store, enterprise, developer_id, other
                24:51: routes[4].attest.categories.only[0]: "appstore" is not one of os, \#
                testflight, development, app_store, enterprise, developer_id, other: did you \#
                mean "app_store"?
                24:61: routes[4].attest.categories.only[1]: "4" is not one of os, testflight, \#
                development, app_store, enterprise, developer_id, other
                24:68: routes[4].attest.categories.only[3]: listed twice
                """#),
        GoldenCase(
            "apps that routes do not name, or name wrongly",
            #"""
            apps: [{ id: ABCDE12345.com.example.app }, { id: ABCDE12345.com.example.b }]
            routes:
              - name: a
                path: /a
                upstream: api
                attest: { mode: enforce }
              - name: b
                path: /b
                upstream: api
                attest: { mode: observe, apps: [] }
              - name: c
                path: /c
                upstream: api
                attest: { mode: enforce, apps: [ABCDE12345.com.exmple.b, any] }
              - name: d
                path: /d
                upstream: api
                attest: { mode: off, apps: any }
              - name: f
                path: /f
                upstream: api
                attest: { mode: enforce, apps: all }
              - name: g
                path: /g
                upstream: api
                attest: { mode: off }
              - name: h
                path: /h
                upstream: api
                attest:
                  mode: enforce
                  apps: [ABCDE12345.com.example.b]
                  min_bundle_version: { apps: { ABCDE12345.com.example.b: 2 } }
            """#,
            expects: #"""
                6:21: routes[0].attest.mode: with several apps configured, apps is needed too: \#
                the ids of those whose requests this route takes, or any
                10:36: routes[1].attest.apps: is empty: no request would pass
                14:37: routes[2].attest.apps[0]: "ABCDE12345.com.exmple.b": no app has this id: \#
                did you mean "ABCDE12345.com.example.b"?
                14:62: routes[2].attest.apps[1]: "any": no app has this id; known: \#
                ABCDE12345.com.example.app, ABCDE12345.com.example.b
                18:26: routes[3].attest.apps: is used with mode observe or enforce: off looks at \#
                nothing
                22:36: routes[4].attest.apps: expected a list, found the text "all": write apps: \#
                [all]
                """#),
        GoldenCase(
            "bad versions",
            #"""
            apps: [{ id: ABCDE12345.com.example.app }, { id: ABCDE12345.com.example.b }]
            routes:
              - name: a
                path: /a
                upstream: api
                attest: { mode: enforce, min_bundle_version: v4, apps: any }
              - name: b
                path: /b
                upstream: api
                attest: { mode: enforce, min_bundle_version: { min: '4.2', grace: '4.10' }, \#
            apps: any }
              - name: c
                path: /c
                upstream: api
                attest: { mode: enforce, min_bundle_version: { grace: 1, missing: allow }, \#
            apps: any }
              - name: d
                path: /d
                upstream: api
                attest:
                  mode: enforce
                  min_bundle_version:
                    apps: { ABCDE12345.com.example.app: 1.2.3.4.5.6.7.8.9, \#
            ABCDE12345.com.exmple.b: 1 }
                  apps: any
              - name: e
                path: /e
                upstream: api
                attest:
                  mode: enforce
                  min_bundle_version: { apps: { ABCDE12345.com.example.b: { grace: 1 } } }
                  apps: any
              - name: f
                path: /f
                upstream: api
                attest:
                  mode: enforce
                  min_bundle_version: { apps: { ABCDE12345.com.example.b: 2 } }
                  apps: any
            """#,
            expects: #"""
                6:50: routes[0].attest.min_bundle_version: "v4" is not a version: 1 to 8 numbers \#
                with periods between them, as 4.2.1
                10:71: routes[1].attest.min_bundle_version.grace: "4.10" is not before min: leave \#
                it out
                14:50: routes[2].attest.min_bundle_version: needs min, or apps with a version for \#
                each
                14:52: routes[2].attest.min_bundle_version.grace: is used with min only
                14:71: routes[2].attest.min_bundle_version.missing: "allow" is not one of deny, \#
                outdated, pass
                21:45: routes[3].attest.min_bundle_version.apps.ABCDE12345.com.example.app: \#
                "1.2.3.4.5.6.7.8.9" is not a version: 1 to 8 numbers with periods between them, \#
                as 4.2.1
                21:64: routes[3].attest.min_bundle_version.apps.ABCDE12345.com.exmple.b: no app \#
                has this id: did you mean "ABCDE12345.com.example.b"?
                28:63: routes[4].attest.min_bundle_version.apps.ABCDE12345.com.example.b: \#
                required key "min" is missing
                28:65: routes[4].attest.min_bundle_version.apps.ABCDE12345.com.example.b.grace: \#
                is used with min only
                35:27: routes[5].attest.min_bundle_version: has no version for \#
                "ABCDE12345.com.example.app": add it to apps, or min for all others
                """#),
        GoldenCase(
            "paths that upstreams read in ways that are none, or in two",
            #"""
            upstreams:
              api: { servers: [h:1], paths: { case: fold, suffixes: yes, decode: 2, x: y } }
              bpi: { servers: [h:1, h:2], paths: { case: ignore } }
            routes:
              - { name: a, path: /a, upstream: api, attest: { mode: enforce } }
              - { name: b, path: /b.c, upstream: bpi, attest: { mode: enforce } }
              - { name: c, path: /B.c, upstream: bpi, attest: { mode: off } }
            """#,
            expects: #"""
                2:41: upstreams.api.paths.case: "fold" is not one of exact, ignore
                2:57: upstreams.api.paths.suffixes: "yes" is not one of exact, ignore
                2:70: upstreams.api.paths.decode: "2" is not one of once, twice
                2:73: unknown key "x" in upstreams.api.paths; known: case, suffixes, decode
                6:5: routes[1].upstream: "bpi" shares a server with "api", and their paths say \#
                that it reads differently
                7:22: routes[2].path: has the path of the route at 6:5 for an upstream that reads \#
                it by its paths, and both take every method: remove one, or tell them apart by \#
                methods, hosts or headers
                """#),
        GoldenCase(
            "bad session tokens",
            #"""
            session_tokens: { ttl: 5s, bound: Authorization, bind_to: "X User" }
            """#,
            expects: #"""
                1:24: session_tokens.ttl: "5s" is outside 10s to 1h: until then anyone who holds \#
                a token can use it, as often as they like
                1:28: unknown key "bound" in session_tokens; known: ttl, bind_to
                1:59: session_tokens.bind_to: "X User" is not a header name (RFC 9110 section 5.1)
                """#),
        GoldenCase(
            "session tokens bound to what brings them",
            #"""
            headers: { assertion: X-Proof }
            session_tokens: { bind_to: X_Proof }
            """#,
            expects: #"""
                2:28: session_tokens.bind_to: "X_Proof" tells no user from another: name what \#
                your API knows them by, as Authorization or Cookie
                """#),
        GoldenCase(
            "session tokens bound to the gateway's word",
            #"""
            session_tokens: { bind_to: X-Attest-Key }
            """#,
            expects: #"""
                1:28: session_tokens.bind_to: "X-Attest-Key" tells no user from another: name \#
                what your API knows them by, as Authorization or Cookie
                """#),
        GoldenCase(
            "session tokens bound to the connection",
            #"""
            session_tokens: { bind_to: Content-Length }
            """#,
            expects: #"""
                1:28: session_tokens.bind_to: "Content-Length" tells no user from another: name \#
                what your API knows them by, as Authorization or Cookie
                """#),
        GoldenCase(
            "a mode that nobody knows, of which nothing is concluded",
            #"""
            apps: [{ id: ABCDE12345.com.example.app }]
            rate_limits: { each: { by: key, rate: 1/m } }
            routes:
              - name: a
                path: /a
                hosts: [a.example]
                upstream: api
                rate_limit: each
                attest: { mode: enfore, environments: [production], risk: { max: 3 } }
              - name: b
                path: /*
                upstream: api
                attest: { mode: enforce }
              - name: c
                path: /c
                upstream: api
                request_body: stream
                attest: {}
            """#,
            expects: #"""
                9:21: routes[0].attest.mode: "enfore" is not one of off, observe, enforce: did \#
                you mean "enforce"?
                18:13: routes[2].attest: required key "mode" is missing
                """#),
        GoldenCase(
            "bad risk thresholds, developer tokens, Macs",
            #"""
            apps: [{ id: ABCDE12345.com.example.app, macos: { require_full_security: on, sip: 1 } }]
            developer_tokens: { max_ttl: 375d, revoked: [ci, a b, ci], ttl: 1h }
            routes:
              - name: a
                path: /a
                upstream: api
                attest: { mode: enforce, risk: { action: limit } }
              - name: b
                path: /b
                upstream: api
                attest: { mode: off, risk: { max: -1, action: { limit: fast } } }
              - name: c
                path: /c
                upstream: api
                attest: { mode: enforce, risk: 3, accept: [developers] }
              - name: d
                path: /d
                upstream: api
                attest: { mode: enforce, accept: [developer], min_tier: device_check }
              - name: e
                path: /e
                upstream: api
                attest: { mode: enforce, risk: { max: 1, action: { tier: attested, limit: x } } }
            """#,
            expects: #"""
                1:74: apps[0].macos.require_full_security: "on" is not one of true, false
                1:78: unknown key "sip" in apps[0].macos; known: require_full_security
                2:30: developer_tokens.max_ttl: "375d" is outside 1m to 365d: a forgotten \#
                token must expire by itself
                2:50: developer_tokens.revoked[1]: "a b" is not a name: 1 to 64 letters, digits, \#
                periods, hyphens and underscores
                2:55: developer_tokens.revoked[2]: listed twice
                2:60: unknown key "ttl" in developer_tokens; known: max_ttl, revoked
                7:36: routes[0].attest.risk: required key "max" is missing
                7:46: routes[0].attest.risk.action: limit needs the name of a rate limit: write \#
                { limit: NAME }
                11:26: routes[1].attest.risk: is used with mode observe or enforce: off looks at \#
                nothing
                11:39: routes[1].attest.risk.max: "-1" is not a whole number without unit
                11:60: routes[1].attest.risk.action.limit: no rate limit is named "fast"; known: \#
                attestation, challenge
                15:36: routes[2].attest.risk: expected a mapping, found the text "3": write risk: \#
                { max: 3 }
                15:48: routes[2].attest.accept[0]: "developers" is not one of assertion, token, \#
                device_check, developer or proof:NAME: did you mean "developer"?
                19:61: routes[3].attest.min_tier: no proof that accept names is worth \#
                device_check: each request would fall short
                23:62: routes[4].attest.risk.action.tier: "attested" is not one of device_check, \#
                token
                23:72: unknown key "limit" in routes[4].attest.risk.action; known: tier
                """#),
        GoldenCase(
            "routes that demand different things of the same request",
            #"""
            routes:
              - { name: a, path: /*, upstream: api, attest: { mode: enforce, on_missing: pass } }
              - name: b
                path: /*
                hosts: [b.org]
                upstream: api
                attest: { mode: enforce, environments: [production] }
            """#,
            expects: #"""
                2:57: routes[0].attest.mode: weaker than that of the route at 3:5 in on_missing, \#
                environments: with another Host, header or path the same request for "/" of the \#
                upstream comes through here (allow_weaker: true permits it)
                """#),
    ]
}
