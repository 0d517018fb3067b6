extension GoldenCase {
    static let identity: [GoldenCase] = [
        GoldenCase(
            "keys that are no keys",
            #"""
            identity: { keys: [/nowhere.pem, /garbage.pem, /secret], issuer: 'a b', subject: user }
            """#,
            expects: #"""
                1:20: identity.keys[0]: "/nowhere.pem" cannot be read: No such file or directory
                1:34: identity.keys[1]: "/garbage.pem" is not an unencrypted private key on P-256 \#
                in PEM
                1:48: identity.keys[2]: "/secret" is not an unencrypted private key on P-256 in PEM
                1:66: identity.issuer: "a b" is not 1 to 256 printable characters without spaces
                1:82: identity.subject: "user" is not one of key, pseudonym
                """#),
        GoldenCase(
            "no keys",
            #"""
            identity: { keys: [], tokens: 1, isuer: x }
            """#,
            expects: #"""
                1:19: identity.keys: is empty: the first key signs
                1:31: identity.tokens: "1" is outside 1024 to 1000000: each token that is kept \#
                takes about 1KiB
                1:34: unknown key "isuer" in identity: did you mean "issuer"?
                """#),
        GoldenCase(
            "what an upstream gets",
            #"""
            upstreams:
              a: { servers: ['h:1'], identity: { audience: [], header: X-Attest-Key, ttl: 1s } }
              b: { servers: ['h:1'], identity: { header: Authorization, per: connection } }
              api: { servers: ['h:1'], identity: { audience: [x, x] } }
            """#,
            expects: #"""
                2:48: upstreams.a.identity.audience: is empty: a token needs an audience
                2:60: upstreams.a.identity.header: "X-Attest-Key" is not a name of its own that \#
                begins with X-Attest-: only such headers are removed from what clients send
                2:79: upstreams.a.identity.ttl: "1s" is outside 10s to 1h: until then anyone who \#
                holds a token can show it to this upstream
                3:36: upstreams.b.identity: required key "audience" is missing
                3:46: upstreams.b.identity.header: "Authorization" is not a name of its own that \#
                begins with X-Attest-: only such headers are removed from what clients send
                3:66: upstreams.b.identity.per: "connection" is not one of key, request
                4:54: upstreams.api.identity.audience[1]: listed twice
                """#),
        GoldenCase(
            "a token that nobody signs",
            #"""
            upstreams:
              api: { servers: ['h:1'], identity: { audience: [x] } }
            """#,
            expects: #"""
                2:3: upstreams.api.identity: needs identity: { keys: [...] }, by which it is signed
                """#),
    ]
}
