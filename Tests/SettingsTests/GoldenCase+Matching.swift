extension GoldenCase {
    static let matching: [GoldenCase] = [
        GoldenCase(
            "hosts that no client sends",
            #"""
            routes:
              - name: a
                path: /a
                hosts: ['a.org:80', 'https://a.org', 'a b', '*', A.org, a.org., ü.de, '::1']
                upstream: api
                attest: { mode: off }
              - { name: b, path: /b, hosts: [], upstream: api, attest: { mode: off } }
              - { name: c, path: /c, host: a, upstream: api, attest: { mode: off } }
            """#,
            expects: #"""
                4:13: routes[0].hosts[0]: "a.org:80" has a port, which makes no difference: leave \#
                it out
                4:25: routes[0].hosts[1]: "https://a.org" is not a host: leave out everything but \#
                the name
                4:42: routes[0].hosts[2]: "a b" is not a host: labels are 1 to 63 letters, \#
                digits, hyphens, underscores
                4:49: routes[0].hosts[3]: "*" has a * other than in a leading *.
                4:61: routes[0].hosts[5]: listed twice
                4:69: routes[0].hosts[6]: "ü.de" is not ASCII: write it as browsers send it, \#
                xn--...
                4:75: routes[0].hosts[7]: "::1" is an IPv6 address without brackets: write \#
                "[::1]"
                7:33: routes[1].hosts: is empty: leave it out to take every host
                8:26: unknown key "host" in routes[2]: did you mean "hosts"?
                """#),
        GoldenCase(
            "headers that no route can ask for",
            #"""
            routes:
              - name: a
                path: /a
                headers:
                  Host: a.org
                  'a b': c
                  Connection: close
                  X-Attest-Key: present
                  X-A: { equal: b }
                  X-B: "é"
                  X-C: [a]
                  x-d: 1
                  X-D: 2
                upstream: api
                attest: { mode: off }
              - { name: b, path: /b, headers: {}, upstream: api, attest: { mode: off } }
            """#,
            expects: #"""
                5:7: routes[0].headers.Host: is what hosts is for
                6:7: routes[0].headers.a b: "a b" is not a header name (RFC 9110 section 5.1)
                7:7: routes[0].headers.Connection: is about the connection, and no route can ask \#
                for it
                8:7: routes[0].headers.X-Attest-Key: is removed from every request: no route can \#
                ask for it
                9:12: routes[0].headers.X-A: required key "equals" is missing
                9:14: unknown key "equal" in routes[0].headers.X-A: did you mean "equals"?
                10:12: routes[0].headers.X-B: "é" is not a header value: printable ASCII, without \#
                spaces around it, at most 4096 bytes
                11:12: routes[0].headers.X-C: expected a single value, found a list
                13:7: routes[0].headers.X-D: named twice, in another case
                16:35: routes[1].headers: is empty: leave it out to take every request
                """#),
        GoldenCase(
            "routes with hosts and headers that never match, or could either way",
            #"""
            routes:
              - { name: a, path: /x, hosts: [a.org, b.org], upstream: api, attest: { mode: off } }
              - { name: b, path: /x, hosts: [B.org.], upstream: api, attest: { mode: off } }
              - { name: c, path: /y, headers: { X-A: 1 }, upstream: api, attest: { mode: off } }
              - { name: d, path: /y, headers: { X-B: 1 }, upstream: api, attest: { mode: off } }
              - { name: e, path: /z, headers: { A: absent }, upstream: api, attest: { mode: off } }
              - { name: f, path: /z, headers: { a: present }, upstream: api, attest: { mode: off } }
              - { name: g, path: /z, upstream: api, attest: { mode: off } }
            """#,
            expects: #"""
                3:22: routes[1].path: has the path, hosts and headers of the route at 2:5, and \#
                both take every method: remove one, or tell them apart by methods, hosts or headers
                5:22: routes[3].path: a request may meet its headers and those of the route at \#
                4:5, and neither asks for more: add a header to one of them
                8:22: routes[6].path: never matches in full: routes that ask for more headers, \#
                that at 6:5 among them, take every request
                """#),
        GoldenCase(
            "routes that lead around a stricter one",
            #"""
            upstreams:
              api: { servers: ['127.0.0.1:9001', '127.0.0.1:9002'] }
              same: { servers: [{ address: '127.0.0.1:9002', weight: 9 }] }
              other: { servers: ['127.0.0.1:9003'] }
            routes:
              - name: transfer
                path: /transfer
                hosts: [api.example.com]
                upstream: api
                attest: { mode: enforce }
              - { name: rest, path: /*, upstream: same, attest: { mode: off } }
              - name: permitted
                path: /*
                hosts: ['*.example.com']
                upstream: api
                allow_weaker: true
                attest: { mode: off }
              - { name: c, path: /*, hosts: [c.org], upstream: other, attest: { mode: off } }
              - name: debug
                path: /transfer
                hosts: [api.example.com]
                headers: { X-Debug: present }
                upstream: api
                attest: { mode: observe }
                allow_weaker: yes
            """#,
            expects: #"""
                11:61: routes[1].attest.mode: weaker than that of the route at 6:5: with another \#
                Host, header or path the same request for "/transfer" of the upstream comes \#
                through here (allow_weaker: true permits it)
                24:21: routes[4].attest.mode: weaker than that of the route at 6:5: with another \#
                Host, header or path the same request for "/transfer" of the upstream comes \#
                through here (allow_weaker: true permits it)
                25:19: routes[4].allow_weaker: "yes" is not one of true, false
                """#),
    ]
}
