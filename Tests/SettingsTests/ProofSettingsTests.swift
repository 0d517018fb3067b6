import Bytes
import HTTPSClient
import JWT
import Policy
import Settings
import Testing

@Suite("proofs")
struct ProofSettingsTests {
    private static let keys = #"""
        {"keys":[{"kty":"EC","crv":"P-256","kid":"e",
        "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
        """#
    /// 2048 bits that are no product of two primes anybody knows: nothing is checked by them here.
    private static let rsa =
        #"{"keys":[{"kty":"RSA","e":"AQAB","n":""#
        + Base64.encodeURL([UInt8](repeating: 0xFF, count: 256)) + #""}]}"#
    private let configuration: Configuration

    init() throws {
        var configuration = Configuration()
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        configuration.files["/keys.json"] = Self.keys
        configuration.files["/rsa.json"] = Self.rsa
        configuration.files["/html"] = "<html>"
        configuration.files["/secret"] = Base64.encode([UInt8](repeating: 1, count: 32)) + "\n"
        configuration.files["/short"] = "AAAA\n"
        configuration.files["/many"] = String(repeating: "AAAA\n", count: 5)
        self.configuration = configuration
    }
}

extension ProofSettingsTests {
    private func proof(_ text: String) throws -> ProofSettings {
        try #require(try configuration.settings("proofs: { p: { \(text) } }").proofs.first)
    }

    @Test("presets know what need not be written")
    func presets() throws {
        let firebase = try proof("preset: firebase_app_check, project: '12', ca: /root.pem")
        #expect(firebase.issuer == "https://firebaseappcheck.googleapis.com/12")
        #expect(firebase.audiences == ["projects/12"] && firebase.algorithms == [.rs256])
        #expect(firebase.url == "https://firebaseappcheck.googleapis.com/v1/jwks")
        #expect(firebase.header == "x-firebase-appcheck" && firebase.tier == .foreign)
        #expect(firebase.name == "p" && firebase.configuration.authorities != nil)
        let pinned = try proof(
            "preset: firebase_app_check, project: '12', jwks: /rsa.json, header: X-Other")
        #expect(pinned.url == nil && pinned.header == "x-other")
        let approov = try proof("preset: approov, secret_file: /secret, tier: token")
        #expect(approov.algorithms == [.hs256] && approov.header == "approov-token")
        #expect(approov.issuer == nil && approov.audiences.isEmpty && approov.tier == .token)
        let asymmetric = try proof("preset: approov, jwks: /keys.json, algorithms: [ES256]")
        #expect(asymmetric.algorithms == [.es256] && asymmetric.keys != nil)
    }

    @Test(
        "what lets others in, or nobody, is refused",
        arguments: [
            ("preset: firebase_app_check, ca: /root.pem", "required key \"project\" is missing"),
            ("preset: firebase_app_check, project: name, ca: /root.pem", "not the number"),
            (
                "preset: firebase_app_check, project: '1', ca: /root.pem, issuer: x",
                "is what preset: firebase_app_check knows"
            ),
            (
                "preset: approov, secret_file: /secret, subjects: [a, any]",
                "\"any\" has another meaning in metrics"
            ),
            (
                "preset: approov, secret_file: /secret, subjects: [none]",
                "\"none\" has another meaning in metrics"
            ),
            ("preset: approov, secret_file: /secret, subjects: ['a b']", "is not 1 to 256"),
            ("preset: approov", "has no keys: write jwks or secret_file"),
            ("preset: approov, secret_file: /short", "a secret of 3 bytes: 32 are needed"),
            ("preset: approov, secret_file: /many", "has 5 secrets: 1 to 4 are needed"),
            ("preset: approov, secret_file: /html", "line 1 is not base64"),
            ("preset: approov, secret_file: /secret, algorithms: [RS256]", "for HS256 alone"),
            ("preset: approov, secret_file: /secret, jwks: /keys.json", "of no use beside"),
            ("preset: approov, jwks: /keys.json, algorithms: [HS256]", "HS256 needs secret_file"),
            ("preset: approov, secret_file: /secret, header: Authorization", "of its own"),
            ("preset: approov, secret_file: /secret, header: X_Attest_Key", "of its own"),
            ("preset: approov, secret_file: /secret, header: X-App-Attest-Token", "of its own"),
            ("preset: approov, secret_file: /secret, tier: attested", "is not one of"),
            ("audience: [a], jwks: /rsa.json, header: x", "required key \"issuer\" is missing"),
            ("issuer: i, jwks: /rsa.json, header: x", "required key \"audience\" is missing"),
            ("issuer: i, audience: [a], jwks: /rsa.json", "required key \"header\" is missing"),
            ("issuer: i, audience: [a], jwks: /html, header: x", "has no set of keys"),
            (
                "preset: firebase_app_check, project: '1', jwks: /keys.json",
                "/keys.json has no key for RS256: no token would be taken; left out: 1 (1 for none "
                    + "of the algorithms)"
            ),
            ("preset: approov, jwks: /keys.json, algorithms: [ES384]", "has no key for ES384"),
            (
                "issuer: i, audience: [a], jwks: /keys.json, header: x, algorithms: [none]",
                "\"none\" is not one of"
            ),
            (
                "issuer: i, audience: [a], jwks: 'http://issuer.example/', header: x",
                "is reached without TLS"
            ),
            (
                "issuer: i, audience: [a], jwks: 'https://u:p@issuer.example/', header: x",
                "is not a URL of keys"
            ),
            ("issuer: i, audience: [a], jwks: 'file:///keys', header: x", "is not a URL of keys"),
            ("issuer: i, audience: [a], jwks: /rsa.json, header: x, ca: /root.pem", "https URL"),
            ("preset: firebase, project: '1'", "did you mean \"firebase_app_check\"?"),
            (
                "issuer: i, audience: [a], jwks: issuer.example.com/keys, header: x",
                "No such file or directory; if it is a URL, begin with https://"
            ),
            (
                "issuer: i, audience: [a], jwks: https//issuer.example.com/keys, header: x",
                "No such file or directory; if it is a URL, begin with https://"
            ),
        ])
    func faults(text: String, message: String) {
        let problems = configuration.problems("proofs: { p: { \(text) } }")
        #expect(problems.count == 1 && problems[0].contains(message), "\(problems)")
    }

    private static let two =
        "proofs: { a: { preset: approov, secret_file: /secret }, "
        + "b: { preset: approov, secret_file: /secret, tier: token } }\n"

    private func routes(_ attest: String) -> String {
        Self.two + "routes: [{ name: r, path: '/*', upstream: api, attest: { \(attest) } }]"
    }

    @Test("routes name them, one for each header, and none that is not there")
    func routes() throws {
        let route = try #require(
            try configuration.settings(routes("mode: enforce, accept: [assertion, 'proof:b']"))
                .routes.first)
        #expect(route.attest.accept == [.assertion, .foreign])
        #expect(route.attest.proofs == [ForeignProof(index: 1, name: "b", tier: .token)])
        for (attest, message) in [
            ("mode: enforce, accept: ['proof:c']", "proofs has no \"c\""),
            ("mode: enforce, accept: ['proof:']", "proofs has no \"\""),
            ("mode: enforce, accept: [b]", "or proof:NAME: did you mean \"proof:b\"?"),
            ("mode: enforce, accept: [partner]", "device_check, developer or proof:NAME"),
            ("mode: enforce, accept: [proof: b]", "write proof:b without a space"),
            ("mode: enforce, accept: ['proof:a', 'proof:b']", "have the same header"),
            ("mode: enforce, accept: ['proof:a', 'proof:a']", "listed twice"),
            ("mode: enforce, accept: ['proof:a'], min_tier: token", "no proof that accept names"),
        ] {
            let problems = configuration.problems(routes(attest))
            #expect(problems.count == 1 && problems[0].contains(message), "\(problems)")
        }
        #expect(
            configuration.problems(routes("mode: enforce, accept: ['proof:b'], min_tier: token"))
                .isEmpty)
        // A faulty one is reported once.
        #expect(
            configuration.problems(
                "proofs: { a: { preset: approov } }\nroutes: [{ name: r, path: '/*', "
                    + "upstream: api, attest: { mode: enforce, accept: ['proof:a'] } }]"
            ).count == 1)
    }

    @Test("without any, what to add is said")
    func none() {
        for (name, message) in [
            (
                "firebase",
                "there is no proofs.firebase: add \"proofs: { firebase: { preset: "
                    + "firebase_app_check, project: NUMBER } }\""
            ),
            ("approov", "{ approov: { preset: approov, secret_file: PATH } }"),
            ("other", "{ other: { issuer: ISSUER, audience: [AUDIENCE], jwks: URL, header: HEA"),
        ] {
            let problems = configuration.problems(
                "routes: [{ name: r, path: '/*', upstream: api, attest: { mode: enforce, "
                    + "accept: [assertion, 'proof:\(name)'] } }]")
            #expect(problems.count == 1 && problems[0].contains(message), "\(problems)")
        }
    }

    @Test("one that no route accepts is warned of")
    func ignored() throws {
        let found = try configuration.warnings(routes("mode: enforce, accept: ['proof:b']"))
        let words = "proofs.a: no route accepts it, so its tokens are ignored"
        #expect(found.count == 1 && found[0].contains(words), "\(found)")
    }

    @Test("a route that takes them is weaker than one that does not")
    func weaker() {
        func problems(_ first: String, _ second: String) -> [String] {
            configuration.problems(
                Self.two + """
                    routes:
                      - { name: a, path: '/*', upstream: api, attest: { mode: enforce\(first) } }
                      - { name: b, path: '/*', hosts: [b.org], upstream: api,
                          attest: { mode: enforce\(second) } }
                    """)
        }
        let both = ", accept: [assertion, 'proof:a']"
        #expect(problems(both, both).isEmpty)
        #expect(problems(both, "").count == 1)
        #expect(problems("", both).first?.contains("in accept") == true)
        let lower = problems(both, both + ", min_tier: attested")
        #expect(lower.first?.contains("in min_tier") == true)
    }
}
