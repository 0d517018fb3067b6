import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/client/android-vectors.json`: what other implementations test themselves with.
@Suite("The test vectors for Android", .enabled(if: BuiltProgram.isBuilt))
struct PublishedVectorTests {}

extension PublishedVectorTests {
    private static func read() throws -> JSONValue {
        try JSONValue.parse(Repository.text(of: "docs/client/android-vectors.json"))
    }

    private static func key(_ document: JSONValue) throws -> P256PublicKey {
        let text = try #require(document["key"]?["public_point"]?.stringValue)
        let point = try #require(Base64.decode(text))
        let key = P256PublicKey(x963: point.span)
        return try #require(key)
    }

    /// The verdict of the library about a request, if its challenge is one of the gateway's.
    private static func verdict(_ vector: JSONValue, _ key: P256PublicKey) throws -> String {
        func text(_ name: String) -> String { vector[name]?.stringValue ?? "" }
        let headers = try #require(vector["headers"])
        func header(_ name: String) throws -> [UInt8]? {
            try headers["X-App-Attest-" + name]?.stringValue.map {
                try #require(Base64.decode($0), "\(name)")
            }
        }
        #expect(headers["X-App-Attest-Key-Id"]?.stringValue == KeyID(of: key).base64)
        let signature = try #require(try header("Assertion"))
        #expect(Hex.encode(signature) == text("signature"))
        let body = Array(text("body").utf8)
        let clientData = try header("Client-Data") ?? body
        #expect(clientData == Array(text("client_data").utf8))
        let check = AndroidSignature.check(
            signature, clientDataHash: SHA256.hash(clientData), key: key)
        var verifier = try P256Verifier()
        guard let check,
            verifier.isValid(
                signature: check.bytes.span.extracting(check.signature), digest: check.digest,
                key: check.key)
        else { return "assertion_invalid" }
        guard text("shape") == "header" else { return "ok" }
        let signed = try RequestClientData(parsing: clientData, byteCountMax: 4096)
        #expect(signed.challenge?.array == Array(text("challenge").utf8))
        let mismatch = signed.check(
            method: Array(text("method").utf8).span, target: Array(text("target").utf8).span,
            bodyDigest: SHA256.hash(body))
        switch mismatch {
        case nil: return "ok"
        case .body: return "body_mismatch"
        case .method, .path, .query: return "request_mismatch"
        }
    }

    private static func expectVerdicts(_ document: JSONValue) throws {
        let key = try key(document)
        var verdicts: Set<String> = []
        for vector in try #require(document["vectors"]?.arrayValue) {
            let verdict = try verdict(vector, key)
            #expect(verdict == vector["expected"]?.stringValue, "\(vector)")
            verdicts.insert(verdict)
        }
        #expect(verdicts == ["ok", "assertion_invalid", "body_mismatch", "request_mismatch"])
    }

    @Test("get the verdicts that the file says")
    func committed() throws { try Self.expectVerdicts(try Self.read()) }

    @Test("have the key whose secret number and seed are published")
    func key() throws {
        let document = try Self.read()
        let key = try #require(document["key"])
        let seed = try #require(key["seed"]?.stringValue)
        let scalar = SHA256.hash(Array(seed.utf8))
        #expect(key["secret_number"]?.stringValue == Hex.encode(scalar.array))
        let published = try Self.key(document)
        #expect(try P256PrivateKey(scalar: scalar).publicKey == published)
        #expect(key["key_id"]?.stringValue == KeyID(of: published).base64)
    }

    @Test("have the bytes with which a key is attested for each challenge")
    func challenges() throws {
        let challenges = try #require(try Self.read()["attestation_challenges"]?.arrayValue)
        for challenge in challenges {
            let token = Array(try #require(challenge["challenge"]?.stringValue).utf8)
            let hex = try #require(challenge["attestation_challenge"]?.stringValue)
            let bytes = try #require(Hex.decode(hex))
            // A phone that cuts a long one short has another.
            for attested in [bytes, Array(token.prefix(72))] {
                var enrolment = try Enrolment()
                enrolment.challenge = token
                enrolment.chain = try enrolment.phone.attestation(
                    challenge: attested, by: AndroidWorld.google, at: androidNow)
                #expect(
                    try enrolment.code() == (attested == bytes ? "ok" : "challenge_mismatch"))
            }
        }
        let counts = challenges.map { $0["challenge"]?.stringValue?.utf8.count }
        #expect(counts == [72, 128, 129])
    }

    @Test("can be made anew, and differ in signatures alone")
    func anew() throws {
        let directory = try ScratchDirectory()
        let path = directory.path(of: "vectors.json")
        let outcome = try ChildProcess.run(
            BuiltProgram.lab, ["vectors", "--platform", "android", "--out", path])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let made = try JSONValue.parse(try String(contentsOfFile: path, encoding: .utf8))
        try Self.expectVerdicts(made)
        let committed = try Self.read()
        #expect(made["key"] == committed["key"])
        #expect(made["attestation_challenges"] == committed["attestation_challenges"])
        #expect(try Self.stripped(made) == Self.stripped(committed))
    }

    /// The vectors without signatures.
    private static func stripped(_ document: JSONValue) throws -> [[String: JSONValue]] {
        try #require(document["vectors"]?.arrayValue).map { vector in
            (vector.objectValue ?? [:]).filter { !["headers", "signature"].contains($0.key) }
        }
    }
}
