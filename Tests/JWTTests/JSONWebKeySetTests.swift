import Bytes
import GatewayTesting
import JWT
import Testing

@Suite("An issuer's keys", .timeLimit(.minutes(30)))
struct JSONWebKeySetTests {
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension JSONWebKeySetTests {
    /// The number of keys that can be used, or why there are none.
    private func read(_ document: String) -> String {
        let bytes = Array(document.utf8)
        do throws(JSONWebKeySetError) {
            let set = try JSONWebKeySet(parsing: bytes.span)
            let tally = set.tally(for: Set(TokenAlgorithm.allCases))
            return "\(tally.usedCount) and \(tally.leftOutCount)"
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
            "malformed, or too short or long": [
                small.jwk(), rsa.jwk(["e": "AQ", "kid": "a"]), rsa.jwk(["e": "Ag", "kid": "b"]),
                rsa.jwk(["n": "AQAB", "kid": "c"]), rsa.jwk(["n": nil, "kid": "d"]),
                key.jwk(["y": "AAAA", "kid": "g"]), key.jwk(["x": "=", "kid": "m"]),
            ],
            "not for signatures": [key.jwk(["use": "enc", "kid": "e"])],
            "of an unknown kind": [key.jwk(["crv": "P-521", "kid": "f"]), "{}"],
            "not public": [
                key.jwk(["d": "AAAA", "kid": "h"]), key.jwk(["kty": "oct", "kid": "l"]),
                #"{"kty":"oct","k":"AAAA","kid":"n"}"#,
            ],
            "for none of the algorithms": [
                key.jwk(["alg": "RS256", "kid": "i"]), key.jwk(["alg": "none", "kid": "j"]),
                key.jwk(["alg": "HS256", "kid": "k"]),
            ],
            "no JWK": ["7", "null", "[]", #"{"kid":7}"#],
        ]
        for (words, documents) in others {
            for other in documents {
                let read = read(IssuerKey.document([other]))
                #expect(read == "no key can be used; left out: 1 (1 \(words))", "\(other)")
            }
        }
        let all = others.values.flatMap(\.self)
        #expect(read(IssuerKey.document(all + [key.jwk(), rsa.jwk()])) == "2 and \(all.count)")
    }

    @Test("are counted where an algorithm that was agreed on can use them")
    func tally() throws {
        let key = try IssuerKey("ES256", in: directory)
        let rsa = try IssuerKey("RS256", in: directory)
        let keys = [
            key.jwk(), rsa.jwk(), rsa.jwk(["alg": "PS256", "kid": "p"]),
            rsa.jwk(["use": "enc", "kid": "e"]),
        ]
        let document = Array(IssuerKey.document(keys).utf8)
        let set = try JSONWebKeySet(parsing: document.span)
        let tally = set.tally(for: [.rs256])
        #expect(
            tally.text
                == "1, left out: 3 (2 for none of the algorithms, 1 not for signatures)")
        #expect(set.tally(for: [.es384]).usedCount == 0)
        #expect(set.tally(for: [.rs256, .es256, .ps256]).usedCount == 3)
    }

    @Test("are written as they can be used, and nothing else of the document is")
    func written() throws {
        let key = try IssuerKey("ES256", id: "k\u{E9}", in: directory)
        let rsa = try IssuerKey("RS256", id: nil, in: directory)
        let edwards = try IssuerKey("EdDSA", in: directory)
        let keys = [
            key.jwk(["use": "sig"]), rsa.jwk(["alg": "PS384", "x5c": "secret"]), edwards.jwk(),
            rsa.jwk(["use": "enc", "kid": "secret"]), key.jwk(["d": "secret"]),
            #"{"kty":"oct","k":"secret"}"#,
        ]
        let document = Array(IssuerKey.document(keys).utf8)
        let written = try JSONWebKeySet(parsing: document.span).document
        let again = try JSONWebKeySet(parsing: written.span)
        #expect(again.tally(for: Set(TokenAlgorithm.allCases)).text == "3")
        #expect(again.tally(for: [.ps384]).usedCount == 1)
        #expect(again.document == written)
        let text = String(decoding: written, as: UTF8.self)
        #expect(!text.contains("secret"))
        #expect(text.contains("\"kid\":\"k\u{E9}\"") && text.contains("\"alg\":\"PS384\""))
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
