extension GoldenCase {
    /// Headers with texts of files.
    static let bodies: [GoldenCase] = [
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
