extension GoldenCase {
    /// Quotas and the routes that name them.
    static let quotas: [GoldenCase] = [
        GoldenCase(
            "quotas that are none",
            #"""
            quotas:
              a: { by: phone, per: day, limit: 1 }
              b: { by: key, per: year, limit: 0 }
              c: { by: key, per: day, limit: 5KiB }
              d: { by: key, per: day, limit: 5k, of: response_bytes }
              e: { by: key, per: day, limit: 99999999999999999999, of: json }
              f: { by: key, per: day, limit: 1, of: { json: usage } }
              g: { by: key, per: day, limit: 1, missing: 1 }
              h: { by: key, per: day, limit: 1, zone: Europe/Berlin }
              i: { by: key, per: day, limit: 1, zone: '+14:01' }
              j: { by: key, per: day }
              k: { by: user, per: day, limit: 1 }
              l/m: { by: key, per: day, limit: 1 }
            """#,
            expects: #"""
                2:12: quotas.a.by: "phone" is not one of key, user, address, app, installation
                3:22: quotas.b.per: "year" is not one of hour, day, week, month
                3:35: quotas.b.limit: "0" is outside 1 to 999999999999999: fields of answers \#
                hold 15 digits (RFC 9651)
                4:34: quotas.c.limit: "5KiB" is not a number: write one like 200, 50k, 2M or 1G
                5:34: quotas.d.limit: "5k" is not a size: write one like 64KiB, 1MiB or 512B
                6:34: quotas.e.limit: "99999999999999999999" is outside 1 to 999999999999999: \#
                fields of answers hold 15 digits (RFC 9651)
                6:60: quotas.e.of: json needs its pointer: write { json: /usage/total_tokens }
                7:49: quotas.f.of.json: "usage" is not a JSON Pointer to a member: write one \#
                like /model
                8:37: quotas.g.missing: is used with of: { json: POINTER } only
                9:43: quotas.h.zone: "Europe/Berlin" is neither UTC nor an offset such as \#
                +01:00
                10:43: quotas.i.zone: "+14:01" is more than 14 hours
                11:6: quotas.j: required key "limit" is missing
                12:12: quotas.k.by: user needs signals.user: without it the user of a request \#
                is unknown
                13:3: "l/m" is not a name: 1 to 64 letters, digits, periods, hyphens and \#
                underscores
                """#),
        GoldenCase(
            "quotas of routes that cannot have them",
            #"""
            quotas:
              daily: { by: key, per: day, limit: 200 }
              phones: { by: installation, per: day, limit: 200 }
              apps: { by: app, per: day, limit: 200 }
              users: { by: user, per: day, limit: 200 }
              nets: { by: address, per: day, limit: 2GiB, of: response_bytes }
            signals:
              user: { header: X-User, from: client }
            routes:
              - { name: a, path: /a, upstream: api, quota: dayly, attest: { mode: enforce } }
              - name: b
                path: /b
                upstream: api
                quota: [daily, phones, apps, users]
                attest: { mode: off }
              - { name: c, path: /c, upstream: api, quota: [], attest: { mode: off } }
              - name: d
                path: /d
                upstream: api
                quota: [daily, daily]
                attest: { mode: enforce }
              - name: e
                path: /e
                upstream: api
                quota: nets
                upgrade: [websocket]
                attest: { mode: off }
              - name: f
                path: /f
                respond: { status: 200 }
                quota: nets
                attest: { mode: off }
              - { name: g, path: /g, upstream: api, tell_quota: true, attest: { mode: enforce } }
              - name: h
                path: /h
                upstream: api
                quota: [daily, phones, apps, users, nets]
                attest: { mode: enforce }
            """#,
            expects: #"""
                5:16: quotas.users.by: user needs signals.user: { from: response } or { from: \#
                proxy }: with from: client, a client could use up the quota of another user
                10:48: routes[0].quota: no quota is named "dayly": did you mean "daily"?
                14:12: routes[1].quota: "daily" counts by key, and with mode off no sender \#
                proves one
                14:12: routes[1].quota: "phones" counts by installation, and with mode off no \#
                sender proves one
                14:12: routes[1].quota: "apps" counts by app, and with mode off no sender \#
                proves one
                16:48: routes[2].quota: is empty: leave it out
                20:20: routes[3].quota[1]: listed twice
                25:12: routes[4].quota: "nets" counts answers, and a WebSocket has none that \#
                ends: use of: requests with upgrade
                31:5: routes[5].quota: is used with upstream only
                33:41: routes[6].tell_quota: is used with quota only
                37:12: routes[7].quota: has more than 4 quotas
                """#),
        GoldenCase(
            "a quota where none is declared",
            #"""
            routes:
              - { name: a, path: /a, upstream: api, quota: daily, attest: { mode: enforce } }
            """#,
            expects: #"""
                2:48: routes[0].quota: no quota is named "daily": declare it in quotas
                """#),
    ]
}
