import Bytes
import GatewayTesting
import JWT
import Testing

@Suite("An issuer's keys", .timeLimit(.minutes(30)))
struct JSONWebKeySetTests {
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }

    /// The number of keys that can be used, or why there are none.
    private func read(_ document: String) -> String {
        let bytes = Array(document.utf8)
        do throws(JSONWebKeySetError) {
            let set = try JSONWebKeySet(parsing: bytes.span)
            return "\(set.count) and \(set.ignoredCount)"
        } catch {
            return "\(error)"
        }
    }

    @Test("those that cannot be used are left out")
    func unusable() throws {
        let key = try IssuerKey("ES256", in: directory)
        let rsa = try IssuerKey("RS256", id: "r", in: directory)
        let small = try IssuerKey("RS256", id: "s", bitCount: 1024, in: directory)
        let others = [
            small.jwk(), rsa.jwk(["e": "AQ", "kid": "a"]), rsa.jwk(["e": "Ag", "kid": "b"]),
            rsa.jwk(["n": "AQAB", "kid": "c"]), rsa.jwk(["n": nil, "kid": "d"]),
            key.jwk(["use": "enc", "kid": "e"]), key.jwk(["crv": "P-521", "kid": "f"]),
            key.jwk(["y": "AAAA", "kid": "g"]), key.jwk(["d": "AAAA", "kid": "h"]),
            key.jwk(["alg": "RS256", "kid": "i"]), key.jwk(["alg": "none", "kid": "j"]),
            key.jwk(["alg": "HS256", "kid": "k"]), key.jwk(["kty": "oct", "kid": "l"]),
            key.jwk(["x": "=", "kid": "m"]), #"{"kty":"oct","k":"AAAA","kid":"n"}"#, "7", "null",
            "[]", "{}", #"{"kid":7}"#,
        ]
        for other in others {
            let read = read(IssuerKey.document([other]))
            #expect(read == "none of its 1 keys can be used", "\(other)")
        }
        #expect(
            read(IssuerKey.document(others + [key.jwk(), rsa.jwk()])) == "2 and \(others.count)")
    }

    @Test("one key for each kid and algorithm, or none at all")
    func sameIDs() throws {
        let key = try IssuerKey("ES256", in: directory)
        let rsa = try IssuerKey("RS256", in: directory)
        #expect(
            read(IssuerKey.document([key.jwk(), key.jwk()]))
                == "two keys of the same kid for the same algorithm")
        // No token can be for both.
        #expect(read(IssuerKey.document([key.jwk(), rsa.jwk()])) == "2 and 0")
        let keys = ["RS256", "PS256"].map { rsa.jwk(["alg": $0]) }
        #expect(read(IssuerKey.document(keys)) == "2 and 0")
        #expect(
            read(IssuerKey.document(keys + [rsa.jwk()]))
                == "two keys of the same kid for the same algorithm")
    }

    @Test("a few keys for each algorithm may have no kid")
    func unnamed() throws {
        let key = try IssuerKey("ES256", id: nil, in: directory)
        let rsa = try IssuerKey("RS256", id: nil, in: directory)
        let few = Array(repeating: key.jwk(), count: JSONWebKeySet.unnamedCountMax)
        #expect(read(IssuerKey.document(few + [rsa.jwk()])) == "5 and 0")
        #expect(
            read(IssuerKey.document(few + [key.jwk()]))
                == "more than 4 keys without a kid for the same algorithm")
        let named = (0..<8).map { key.jwk(["kid": "\($0)"]) }
        #expect(read(IssuerKey.document(few + named)) == "12 and 0")
    }

    @Test(
        "a document that is none, is too long or too deep has no keys",
        arguments: [
            "", "<html>", "[]", "7", "{}", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"keys":[]} x"#,
            #"{"keys":[],"keys":[]}"#, "{\"keys\":[\"\u{0}\"]}",
            "{\"keys\":" + String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
                + "}",
            IssuerKey.document(Array(repeating: "{}", count: JSONWebKeySet.keyCountMax + 1)),
            IssuerKey.document(["\"" + String(repeating: "x", count: 70_000) + "\""]),
        ])
    func hostile(document: String) {
        #expect(Int(read(document).prefix { $0 != " " }) == nil)
    }
}
