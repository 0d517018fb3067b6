import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Judgement
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// Identity tokens, read as an upstream reads them: by Python's `cryptography` and the published
/// keys, nothing of ours.
@Suite("Identity tokens", .timeLimit(.minutes(30)))
struct IdentityTests {}

extension IdentityTests {
    private static func key() throws -> IdentitySettings.KeyFile {
        IdentitySettings.KeyFile(path: "key.pem", key: try P256PrivateKey.generate())
    }

    private static func gateway(
        keys: [IdentitySettings.KeyFile], _ configure: (inout Settings) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest { settings in
            settings.identity.keys = keys
            settings.identity.issuer = "https://gateway.example.com"
            settings.upstreams[0].identity = UpstreamIdentity(audience: ["payments", "ledger"])
            settings.routes.append(
                GatewayUnderTest.route("both", "/both/") {
                    $0.mode = .enforce
                    $0.accept = [.assertion, .token]
                })
            configure(&settings)
        }
    }

    private static let script = """
        import base64, json, sys
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        given = json.load(sys.stdin)
        def decode(text): return base64.urlsafe_b64decode(text + '=' * (-len(text) % 4))
        def number(text): return int.from_bytes(decode(text), 'big')
        head, claims, signature = given['token'].split('.')
        header = json.loads(decode(head))
        assert header['alg'] == 'ES256' and header['typ'] == 'JWT', header
        found = [key for key in given['keys'] if key['kid'] == header['kid']]
        assert len(found) == 1, 'no such key'
        key = found[0]
        assert key['kty'] == 'EC' and key['crv'] == 'P-256' and key['use'] == 'sig'
        public = ec.EllipticCurvePublicNumbers(
            number(key['x']), number(key['y']), ec.SECP256R1()).public_key()
        raw = decode(signature)
        assert len(raw) == 64
        der = utils.encode_dss_signature(
            int.from_bytes(raw[:32], 'big'), int.from_bytes(raw[32:], 'big'))
        public.verify(der, (head + '.' + claims).encode(), ec.ECDSA(hashes.SHA256()))
        digest = hashes.Hash(hashes.SHA256())
        digest.update(json.dumps(
            {name: key[name] for name in ('crv', 'kty', 'x', 'y')},
            separators=(',', ':'), sort_keys=True).encode())
        assert decode(key['kid']) == digest.finalize(), 'not the thumbprint of RFC 7638'
        print(decode(claims).decode())
        """

    /// The claims of `token`, once Python has verified it by the keys that `path` publishes.
    private func verified(
        _ token: String, _ gateway: GatewayUnderTest, keysFrom port: UInt16? = nil
    ) throws -> JSONValue {
        let outcome = try read(token, keysFrom: port ?? gateway.port)
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        return try JSONValue.parse(
            Array(outcome.standardOutput.utf8).span, byteCountMax: 1 << 16, depthMax: 4)
    }

    private func read(_ token: String, keysFrom port: UInt16) throws -> ChildProcess.Outcome {
        let page = try RawClient(port: port).exchange("GET", "/identity/jwks.json")
        #expect(page.status == 200)
        #expect(page["Content-Type"] == "application/jwk-set+json")
        #expect(page["Cache-Control"] == "public, max-age=300")
        let input = page.bodyText.dropLast() + #","token":"\#(token)"}"#
        return try ChildProcess.run(
            PythonInterpreter.debian.path, ["-c", Self.script], standardInput: Array(input.utf8))
    }

    private func shown(_ gateway: GatewayUnderTest) -> String? {
        gateway.upstream.requests.last?["X-Attest-Identity"]
    }

    @Test("what is said to the upstream is signed, and others than verified requests have nothing")
    func claims() throws {
        let gateway = try Self.gateway(keys: [Self.key()])
        let device = try EnrolledDevice(gateway, system: .iOS27)
        let lie = [("X-Attest-Identity", "a.b.c"), ("x_attest_identity", "a.b.c")]
        let fields = try device.signedFields("GET", "/attested/x") + lie
        #expect(try device.send("GET", "/attested/x", fields: fields).status == 200)
        let request = try #require(gateway.upstream.requests.last)
        #expect(request.message.values(of: "X-Attest-Identity").count == 1)
        #expect(request["x_attest_identity"] == nil)
        let token = try #require(shown(gateway))
        let before = Int64(Date().timeIntervalSince1970)
        for port in [gateway.port, gateway.adminPort] {
            let claims = try verified(token, gateway, keysFrom: port)
            #expect(claims["iss"] == .string("https://gateway.example.com"))
            #expect(claims["aud"] == .array([.string("payments"), .string("ledger")]))
            let keyID = Base64.encodeURL(device.device.keyID.digest.array)
            #expect(claims["sub"] == .string(keyID))
            #expect(claims["cnf"]?["kid"] == .string(keyID))
            #expect(claims["app"] == .string(GatewayUnderTest.appID))
            #expect(claims["env"] == .string("production"))
            #expect(claims["tier"] == .string(try #require(request["X-Attest-Tier"])))
            #expect(claims["ver"]?.stringValue == request["X-Attest-Version"])
            guard case .integer(let issued)? = claims["iat"],
                case .integer(let end)? = claims["exp"]
            else {
                Issue.record("\(claims)")
                return
            }
            #expect(end == issued + 300 && (before - 60...before + 60).contains(issued))
        }
        for path in ["/observed/x", "/open"] {
            #expect(try device.send("GET", path, fields: lie).status == 200)
            #expect(shown(gateway) == nil, "\(path)")
        }
    }

    @Test("a token is signed once for a key and sent again, until what it says is another thing")
    func reuse() throws {
        let gateway = try Self.gateway(keys: [Self.key()])
        let device = try EnrolledDevice(gateway)
        var tokens: Set<String> = []
        for _ in 0..<5 {
            #expect(try device.request("GET", "/attested/x").status == 200)
            tokens.insert(try #require(shown(gateway)))
        }
        #expect(tokens.count == 1)
        let other = try EnrolledDevice(gateway)
        #expect(try other.request("GET", "/attested/x").status == 200)
        tokens.insert(try #require(shown(gateway)))
        #expect(tokens.count == 2)
        let fields = try device.signedFields("POST", "/assert/token")
        let answer = try device.send("POST", "/assert/token", fields: fields)
        let session = [("X-App-Attest-Token", try #require(answer.member("token")))]
        #expect(try device.send("GET", "/both/x", fields: session).status == 200)
        let token = try #require(shown(gateway))
        #expect(!tokens.contains(token))
        #expect(try verified(token, gateway)["tier"] == .string("token"))
        let meter = gateway.hub.meters[0]
        #expect(meter.value(.identitiesSigned) == 3 && meter.value(.identitiesReused) == 4)
    }

    @Test("a token of a clock that was ahead is not sent again once it is right")
    func clockAhead() throws {
        let gateway = try Self.gateway(keys: [Self.key()])
        let issuer = try #require(IdentityIssuer(gateway.settings))
        let pseudonyms = try #require(Pseudonyms(secrets: [GatewayUnderTest.challengeKey]))
        let claims = IdentityClaims(
            IdentityFacts(
                keyID: KeyID(digest: .zero),
                installation: InstallationID(firstKey: KeyID(digest: .zero)),
                appID: GatewayUnderTest.appID, environment: .production),
            tier: .attested, isOutdated: false)
        func isSigned(_ seconds: Int64) throws -> Bool {
            try issuer.token(
                of: claims, upstream: 0, request: nil, seconds: seconds, pseudonyms: pseudonyms
            ).isSigned
        }
        let (now, ahead): (Int64, Int64) = (1_790_000_000, 1_820_000_000)
        #expect(try isSigned(ahead))
        #expect(try !isSigned(ahead + 1))
        #expect(try isSigned(now))
        #expect(try !isSigned(now + 1))
        #expect(try isSigned(now + 3600))
    }

    @Test("a token for one request names it, and is signed for it")
    func perRequest() throws {
        let gateway = try Self.gateway(keys: [Self.key()]) {
            $0.upstreams[0].identity?.scope = .request
            $0.upstreams[0].identity?.header = "x-attest-voucher"
            $0.identity.subject = .pseudonym
        }
        let device = try EnrolledDevice(gateway)
        var tokens: Set<String> = []
        for _ in 0..<2 {
            #expect(try device.request("GET", "/attested/x").status == 200)
            let request = try #require(gateway.upstream.requests.last)
            let token = try #require(request["X-Attest-Voucher"])
            tokens.insert(token)
            let claims = try verified(token, gateway)
            #expect(claims["jti"]?.stringValue == request["X-Request-Id"])
            #expect(claims["route"] == .string("attested"))
            #expect(claims["sub"]?.stringValue?.utf8.count == 16)
            #expect(claims["cnf"] == nil)
        }
        #expect(tokens.count == 2)
    }

    @Test(
        "keys rotate with overlap: a new one is published first, then signs, then the old one goes")
    func rotation() throws {
        let (old, new) = (try Self.key(), try Self.key())
        let gateway = try Self.gateway(keys: [old])
        let device = try EnrolledDevice(gateway)
        func token() throws -> String {
            #expect(try device.request("GET", "/attested/x").status == 200)
            return try #require(shown(gateway))
        }
        let first = try token()
        try gateway.reload { $0.identity.keys = [old, new] }
        let published = try token()
        #expect(first.prefix { $0 != "." } == published.prefix { $0 != "." })
        try gateway.reload { $0.identity.keys = [new, old] }
        let second = try token()
        #expect(first.prefix { $0 != "." } != second.prefix { $0 != "." })
        for token in [first, published, second] { _ = try verified(token, gateway) }
        try gateway.reload { $0.identity.keys = [new] }
        _ = try verified(second, gateway)
        let refused = try read(first, keysFrom: gateway.port)
        #expect(refused.status == .exited(1) && refused.standardError.contains("no such key"))
    }

    @Test("without keys there is nothing to fetch, and upstreams without identity get no token")
    func off() throws {
        let none = try GatewayUnderTest()
        // The path is like any other: a route's.
        #expect(try none.client().exchange("GET", "/identity/jwks.json").bodyText == "hello\n")
        let admin = try RawClient(port: none.adminPort)
        #expect(try admin.exchange("GET", "/identity/jwks.json").status == 404)
        let gateway = try Self.gateway(keys: [Self.key()]) { $0.upstreams[0].identity = nil }
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/x").status == 200)
        #expect(shown(gateway) == nil)
        #expect(try gateway.client().exchange("POST", "/identity/jwks.json").status == 405)
        #expect(try gateway.client().exchange("HEAD", "/identity/jwks.json").status == 200)
    }
}
