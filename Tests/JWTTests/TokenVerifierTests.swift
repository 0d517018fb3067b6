import Bytes
import Crypto
import GatewayTesting
import JWT
import Testing

@Suite("Tokens of other issuers", .timeLimit(.minutes(30)))
struct TokenVerifierTests {
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension TokenVerifierTests {
    private static let now: Int64 = 2_000_000_000
    private static let claims =
        #"{"iss":"https://issuer.example","aud":["us","others"],"exp":2000000060,"#
        + #""iat":1999999990,"sub":"app"}"#

    private func verifier(_ algorithms: TokenAlgorithm...) -> TokenVerifier {
        TokenVerifier(
            issuer: "https://issuer.example", audiences: ["us"], algorithms: Set(algorithms))
    }

    private func keys(_ keys: String...) throws -> TokenKeys {
        let document = Array(IssuerKey.document(keys).utf8)
        return .published(try JSONWebKeySet(parsing: document.span))
    }

    /// Nil for a token that holds.
    private func failure(
        _ token: String, _ keys: TokenKeys, _ verifier: TokenVerifier, at seconds: Int64 = now
    ) -> TokenFailure? {
        let bytes = Array(token.utf8)
        do throws(TokenFailure) {
            _ = try verifier.verify(bytes.span, keys: keys, at: seconds)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "hold by each algorithm and its own key, and by no other",
        arguments: TokenAlgorithm.allCases.filter { !$0.isSymmetric })
    func algorithms(algorithm: TokenAlgorithm) throws {
        let key = try IssuerKey(algorithm.rawValue, in: directory)
        let token = try key.token(Self.claims)
        let bytes = Array(token.utf8)
        let verified = try verifier(algorithm).verify(
            bytes.span, keys: try keys(key.jwk()), at: Self.now)
        #expect(verified.subject == "app" && verified.expiresAt == 2_000_000_060)
        let named = try keys(key.jwk(["alg": algorithm.rawValue, "use": "sig"]))
        #expect(failure(token, named, verifier(algorithm)) == nil)
        let other = try IssuerKey(algorithm.rawValue, id: "k2", in: directory)
        #expect(
            failure(token, try keys(other.jwk(["kid": "k"])), verifier(algorithm)) == .signature)
        for name in TokenAlgorithm.allCases where name != algorithm {
            #expect(failure(token, named, verifier(name)) == .algorithm)
            // Whatever the header says, the key is for what it is for.
            let lie = try key.token(Self.claims, header: #"{"alg":"\#(name.rawValue)","kid":"k"}"#)
            #expect(failure(lie, named, verifier(algorithm, name)) == .algorithm)
        }
        for index in [5, token.utf8.count / 2, token.utf8.count - 3] {
            var changed = bytes
            changed[index] = changed[index] == 0x41 ? 0x42 : 0x41
            let text = String(decoding: changed, as: UTF8.self)
            #expect(failure(text, named, verifier(algorithm)) != nil)
        }
    }

    @Test("a public key is nobody's secret, and none is no algorithm")
    func confusion() throws {
        let key = try IssuerKey("RS256", in: directory)
        let signed = IssuerKey.unsigned(#"{"alg":"HS256","kid":"k"}"#, Self.claims)
        let all = verifier(.rs256, .es256, .hs256)
        for secret in [try key.publicPEM, Array(key.jwk().utf8)] {
            let code = HMACSHA256.authenticate(Array(signed.utf8), key: HMACKey(secret))
            let token = "\(signed).\(Base64.encodeURL(code.array))"
            #expect(failure(token, try keys(key.jwk()), all) == .algorithm)
            #expect(failure(token, try keys(key.jwk()), verifier(.rs256)) == .algorithm)
        }
        let secrets = TokenKeys.secrets([HMACKey([UInt8](repeating: 1, count: 32))])
        #expect(failure(try key.token(Self.claims), secrets, all) == .algorithm)
        for name in ["none", "None", "NONE", "nOnE", ""] {
            let bare = IssuerKey.unsigned(#"{"alg":"\#(name)","kid":"k"}"#, Self.claims)
            #expect(failure(bare + ".", try keys(key.jwk()), all) == .malformed)
            #expect(failure(bare + ".AA", try keys(key.jwk()), all) == .algorithm)
        }
    }

    @Test("secrets: each counts, and none of another")
    func secrets() {
        let secrets = (1...3).map { HMACKey([UInt8](repeating: $0, count: 32)) }
        let signed = IssuerKey.unsigned(#"{"alg":"HS256","typ":"JWT"}"#, Self.claims)
        for (index, secret) in secrets.enumerated() {
            let code = HMACSHA256.authenticate(Array(signed.utf8), key: secret)
            let token = "\(signed).\(Base64.encodeURL(code.array))"
            #expect(failure(token, .secrets(secrets), verifier(.hs256)) == nil)
            #expect(failure(token, .secrets([secret]), verifier(.hs256)) == nil)
            let others = secrets.indices.filter { $0 != index }.map { secrets[$0] }
            #expect(failure(token, .secrets(others), verifier(.hs256)) == .signature)
            let short = "\(signed).\(Base64.encodeURL(Array(code.array.prefix(16))))"
            #expect(failure(short, .secrets(secrets), verifier(.hs256)) == .signature)
        }
    }

    @Test("name a key that is there, or need name none if there is one")
    func keyIDs() throws {
        let key = try IssuerKey("ES256", in: directory)
        let other = try IssuerKey("ES256", id: "k2", in: directory)
        let token = try key.token(Self.claims)
        let unnamed = try key.token(Self.claims, header: #"{"alg":"ES256"}"#)
        let verifier = verifier(.es256)
        #expect(failure(token, try keys(other.jwk(), key.jwk()), verifier) == nil)
        #expect(failure(token, try keys(other.jwk()), verifier) == .keyUnknown)
        #expect(failure(unnamed, try keys(other.jwk(), key.jwk()), verifier) == .keyUnknown)
        #expect(failure(unnamed, try keys(key.jwk()), verifier) == nil)
        #expect(failure(token, try keys(key.jwk(["kid": nil])), verifier) == nil)
        let odd = try key.token(Self.claims, header: #"{"alg":"ES256","kid":7}"#)
        #expect(failure(odd, try keys(key.jwk()), verifier) == .malformed)
        // As many as one likes: each is looked for among the keys, and that is all.
        for index in 0..<100 {
            let stranger = try #require(
                index == 0
                    ? key.token(Self.claims, header: #"{"alg":"ES256","kid":"x"}"#)
                    : IssuerKey.unsigned(#"{"alg":"ES256","kid":"\#(index)"}"#, "{}") + ".AA")
            #expect(failure(stranger, try keys(key.jwk()), verifier) == .keyUnknown)
        }
    }

    @Test("that name no key are tried by those without a kid, and by no other")
    func unnamedKeys() throws {
        let known = try (0..<3).map { _ in try IssuerKey("ES256", id: nil, in: directory) }
        let rsa = try IssuerKey("RS256", id: nil, in: directory)
        let named = try IssuerKey("ES256", in: directory)
        let stranger = try IssuerKey("ES256", id: nil, in: directory)
        let set = try keys(named.jwk(), known[0].jwk(), rsa.jwk(), known[1].jwk(), known[2].jwk())
        let verifier = verifier(.es256, .rs256)
        for key in known + [rsa] {
            #expect(failure(try key.token(Self.claims), set, verifier) == nil)
            // A token that names a key is that key's, whoever else has none.
            let token = try key.token(
                Self.claims, header: #"{"alg":"\#(key.algorithm)","kid":"x"}"#)
            #expect(failure(token, set, verifier) == .keyUnknown)
        }
        #expect(failure(try stranger.token(Self.claims), set, verifier) == .signature)
        #expect(failure(try named.token(Self.claims), set, verifier) == nil)
        let unnamed = try named.token(Self.claims, header: #"{"alg":"ES256"}"#)
        #expect(failure(unnamed, set, verifier) == .signature)
        #expect(
            failure(try rsa.token(Self.claims), try keys(known[0].jwk(), known[1].jwk()), verifier)
                == .algorithm)
    }

    @Test(
        "say for whom, by whom and until when",
        arguments: [
            (#""iss":"https://issuer.example/""#, TokenFailure?.some(.issuer)),
            (#""iss":["https://issuer.example"]"#, .issuer), (#""iss":null"#, .issuer),
            (#""aud":"us""#, nil), (#""aud":["x","us"]"#, nil), (#""aud":"usa""#, .audience),
            (#""aud":[]"#, .audience), (#""aud":{"us":1}"#, .audience),
            (#""exp":2000000000"#, .expired), (#""exp":2000000001"#, nil), (#""exp":-1"#, .expired),
            (#""exp":"2000000060""#, .malformed), (#""exp":null"#, .malformed),
            (#""exp":2000000060.5"#, .malformed), (#""exp":1e12"#, .malformed),
            (#""nbf":2000000060"#, nil), (#""nbf":2000000061"#, .notYetValid),
            (#""iat":2000000061"#, .notYetValid), (#""nbf":"soon""#, .malformed),
            (#""sub":"other""#, .subject), (#""sub":7"#, .subject),
            // U+212A is K to those who compare letters.
            ("\"sub\":\"\u{212A}\"", .subject),
        ])
    func claims(member: String, expected: TokenFailure?) throws {
        let name = String(member.dropFirst().prefix { $0 != "\"" })
        let usual = [
            "iss": #""iss":"https://issuer.example""#, "aud": #""aud":"us""#,
            "exp": #""exp":2000000060"#, "sub": #""sub":"K""#,
        ]
        let others = usual.filter { $0.key != name }.values.sorted()
        let secret = HMACKey([UInt8](repeating: 9, count: 32))
        func token(_ members: [String]) -> String {
            let signed = IssuerKey.unsigned(
                #"{"alg":"HS256"}"#, "{\(members.joined(separator: ","))}")
            let code = HMACSHA256.authenticate(Array(signed.utf8), key: secret)
            return "\(signed).\(Base64.encodeURL(code.array))"
        }
        var verifier = verifier(.hs256)
        verifier.subjects = ["K"]
        #expect(failure(token(others + [member]), .secrets([secret]), verifier) == expected)
        // The same member twice leaves open which counts.
        #expect(
            failure(token(others + [member, member]), .secrets([secret]), verifier) == .malformed)
        if name == "exp" {
            #expect(failure(token(others), .secrets([secret]), verifier) == .malformed)
        }
    }

    @Test("have one form, and a header that is understood whole")
    func form() throws {
        let key = try IssuerKey("ES256", in: directory)
        let set = try keys(key.jwk())
        let token = try key.token(Self.claims)
        let verifier = verifier(.es256)
        let parts = token.split(separator: ".").map(String.init)
        let broken = [
            "", ".", "..", "...", token + ".", token + ".AA", "." + token, token + "=", token + " ",
            " " + token, parts[0] + "." + parts[1], "Bearer " + token,
            parts[0] + "=." + parts[1] + "." + parts[2],
            parts[0] + "." + parts[1] + "\n." + parts[2],
            String(repeating: "A", count: TokenVerifier.byteCountMax) + token,
        ]
        for text in broken { #expect(failure(text, set, verifier) == .malformed, "\(text)") }
        let crit = #"{"alg":"ES256","kid":"k","crit":["exp"],"exp":1}"#
        #expect(failure(try key.token(Self.claims, header: crit), set, verifier) == .critical)
        for header in [
            "[]", "{}", #"{"alg":7}"#, #"{"alg":"none","alg":"ES256"}"#,
            #"{"alg":"ES256","alg":"ES256","kid":"k"}"#, #"{"alg":"ES256"} "# + "x",
        ] {
            #expect(
                failure(try key.token(Self.claims, header: header), set, verifier) == .malformed)
        }
        for claims in ["[]", "7", "{", "", #"{"exp":1}{"exp":2}"#] {
            #expect(failure(try key.token(claims), set, verifier) == .malformed)
        }
        // Nothing of a token that nobody signed is read, and so nothing is told about it.
        let forged = IssuerKey.unsigned(#"{"alg":"ES256","kid":"k"}"#, "no JSON")
        #expect(failure("\(forged).\(parts[2])", set, verifier) == .signature)
    }

    @Test("a clock that steps back makes no token longer, nor one that is over valid by its start")
    func clocks() throws {
        let key = try IssuerKey("ES256", in: directory)
        let token = try key.token(Self.claims)
        let set = try keys(key.jwk())
        for (seconds, expected) in [
            (2_000_000_059, nil), (2_000_000_060, TokenFailure.expired),
            (2_000_000_059, nil), (1_999_999_930, nil), (1_999_999_929, .notYetValid),
            (0, .notYetValid),
            (.max / 2, .expired),
        ] as [(Int64, TokenFailure?)] {
            #expect(failure(token, set, verifier(.es256), at: seconds) == expected)
        }
    }
}
