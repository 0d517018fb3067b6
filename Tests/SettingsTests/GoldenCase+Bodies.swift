extension GoldenCase {
    /// Rules for bodies, and headers with texts of files.
    static let bodies: [GoldenCase] = [
        GoldenCase(
            "rules for bodies that say nothing, or too much",
            #"""
            routes:
              - name: a
                path: /a
                upstream: api
                request_body: stream
                body_rules:
                  - { json: model, in: [x] }
                  - { json: '/a~', in: [x] }
                  - { json: '', in: [x] }
                  - { json: /b }
                  - { json: /c, in: [x], max: 1 }
                  - { json: /d, in: [] }
                  - { json: /e, in: [x, 1.5, -1, true, x] }
                  - { json: /f, min: 3, max: 2 }
                  - { json: /g, max: 1k, requird: true }
                  - { in: [x] }
                  - { json: /h, max: 1 }
                  - { json: /h, max: 2 }
                attest: { mode: off }
              - { name: b, path: /b, upstream: api, body_rules: [], attest: { mode: off } }
            """#,
            expects: #"""
                7:17: routes[0].body_rules[0].json: "model" is not a JSON Pointer to a member: \#
                write one like /model
                8:17: routes[0].body_rules[1].json: "/a~" is not a JSON Pointer to a member: \#
                write one like /model
                9:17: routes[0].body_rules[2].json: has no value
                10:9: routes[0].body_rules[3]: needs in, or min and max
                11:30: routes[0].body_rules[4].max: is used without in only
                12:25: routes[0].body_rules[5].in: is empty
                13:29: routes[0].body_rules[6].in[1]: "1.5" is not a text or whole number: quote \#
                it if it is a text
                13:34: routes[0].body_rules[6].in[2]: "-1" is not a text or whole number: quote \#
                it if it is a text
                13:38: routes[0].body_rules[6].in[3]: "true" is not a text or whole number: quote \#
                it if it is a text
                13:44: routes[0].body_rules[6].in[4]: listed twice
                14:34: routes[0].body_rules[7].max: is less than min
                15:26: routes[0].body_rules[8].max: "1k" is not a whole number without unit
                15:30: unknown key "requird" in routes[0].body_rules[8]: did you mean "required"?
                16:9: routes[0].body_rules[9]: required key "json" is missing
                18:9: routes[0].body_rules[11]: there is a rule for /h already
                20:53: routes[1].body_rules: is empty: leave it out
                """#),
        GoldenCase(
            "rules for bodies that go on as they come",
            #"""
            routes:
              - name: a
                path: /a
                upstream: api
                request_body: stream
                body_rules: [{ json: /model, in: [x] }]
                attest: { mode: off }
            """#,
            expects: #"""
                5:19: routes[0].request_body: body_rules need hold: a rule is kept only by a body \#
                that is complete
                """#),
        GoldenCase(
            "a route around rules for bodies",
            #"""
            routes:
              - name: a
                path: /a
                hosts: [x.example]
                upstream: api
                body_rules: [{ json: /model, in: [x] }]
                attest: { mode: off }
              - { name: b, path: /a, upstream: api, attest: { mode: off } }
            """#,
            expects: #"""
                8:57: routes[1].attest.mode: weaker than that of the route at 2:5 in body_rules: \#
                with another Host, header or path the same request for "/a" of the upstream comes \#
                through here (allow_weaker: true permits it)
                """#),
        GoldenCase(
            "headers with texts of files that are no keys",
            #"""
            routes:
              - name: a
                path: /a
                upstream: api
                request_headers:
                  set: { A: "Bearer ${file:/two-lines}", B: "${file:/empty.pem}" }
                  add: { C: "${file:/none}", D: "${file:/secret}" }
                  keep: [Authorization, Cookie]
                attest: { mode: enforce }
              - name: b
                path: /b
                upstream: api
                request_headers: { set: { A: x }, keep: [Authorization] }
                response_headers: { set: { A: x }, keep: [Authorization] }
                attest: { mode: enforce }
            """#,
            expects: #"""
                6:17: routes[0].request_headers.set.A: ${file:/two-lines} is not one line of \#
                printable ASCII without spaces around it
                6:49: routes[0].request_headers.set.B: ${file:/empty.pem} is empty
                7:17: routes[0].request_headers.add.C: ${file:/none} cannot be read: No such file \#
                or directory
                8:29: routes[0].request_headers.keep[1]: "cookie" is no header that would be \#
                removed: those are authorization, api-key, x-api-key, x-goog-api-key
                13:39: routes[1].request_headers.keep: is used beside a value with ${file:PATH} only
                14:40: unknown key "keep" in routes[1].response_headers; known: remove, set, add
                """#),
    ]
}
