import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import JSON

/// Test vectors for Android clients and for verifiers: challenges for the Keystore, and requests
/// signed with a published key, correct or with one fault.
///
/// Their challenges come from no gateway. Signatures differ each time, as ECDSA's do; everything
/// else stays the same.
enum PhoneVectors {
    /// The words whose SHA-256 is the key's secret number.
    private static let seed = "Sallyport Android test vectors"
    private static let profile = PhoneProfile(package: "com.example.app", signingDigest: .zero)

    static func make() throws -> JSONValue {
        let scalar = SHA256.hash(Array(seed.utf8))
        let phone = try SimulatedPhone(profile, key: try P256PrivateKey(scalar: scalar))
        var vectors: [JSONValue] = []
        for (index, plan) in plans.enumerated() {
            vectors.append(try plan.vector(by: phone, challenge: "vector-challenge-\(index + 1)"))
        }
        return .object([
            "key": .object([
                "seed": .string(seed), "secret_number": .string(Hex.encode(scalar.array)),
                "public_point": .string(Base64.encode(phone.publicKey.x963)),
                "key_id": .string(phone.keyID.base64),
            ]),
            "attestation_challenges": .array([72, 128, 129].map(attestationChallenge)),
            "vectors": .array(vectors),
        ])
    }

    /// A challenge of this many characters, and the bytes for `setAttestationChallenge`.
    private static func attestationChallenge(characterCount: Int) -> JSONValue {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        let token = String(String(repeating: letters, count: 3).prefix(characterCount))
        let bytes = SimulatedPhone.attestationChallenge(of: Array(token.utf8))
        return .object([
            "challenge": .string(token), "attestation_challenge": .string(Hex.encode(bytes)),
        ])
    }

    private static let plans: [Plan] = [
        Plan("get", "GET", "/header/profile"),
        Plan("post", "POST", "/header/transfer", body: #"{"amount":1}"#),
        Plan("query", "GET", "/header/profile?fields=name&from=%2F"),
        Plan(
            "body", "POST", "/body/transfer",
            body: #"{"challenge":"vector-challenge-4","amount":1}"#),
        Plan(
            "body-changed", "POST", "/header/transfer", body: #"{"amount":1}"#,
            sentBody: #"{"amount":9}"#, expected: "body_mismatch"),
        Plan(
            "path-changed", "GET", "/header/profile", sentTarget: "/header/other",
            expected: "request_mismatch"),
        Plan(
            "query-changed", "GET", "/header/profile?fields=name",
            sentTarget: "/header/profile?fields=all", expected: "request_mismatch"),
        Plan("other-key", "GET", "/header/profile", fault: .otherKey),
        Plan("client-data-changed", "GET", "/header/profile", fault: .otherClientData),
        Plan("client-data-hashed-twice", "GET", "/header/profile", fault: .hashedTwice),
        Plan("raw-signature", "GET", "/header/profile", fault: .rawSignature),
        Plan("trailing-byte", "GET", "/header/profile", fault: .signatureTrailingByte),
    ]
}

/// The plan of one vector.
private struct Plan {
    let name: String
    let method: String
    let target: String
    let body: String
    let sentTarget: String
    let sentBody: String
    let fault: PhoneSignatureFault?
    let expected: String

    init(
        _ name: String, _ method: String, _ target: String, body: String = "",
        sentTarget: String? = nil, sentBody: String? = nil, fault: PhoneSignatureFault? = nil,
        expected: String? = nil
    ) {
        (self.name, self.method, self.target, self.body) = (name, method, target, body)
        self.sentTarget = sentTarget ?? target
        self.sentBody = sentBody ?? body
        self.fault = fault
        self.expected = expected ?? (fault == nil ? "ok" : "assertion_invalid")
    }

    func vector(by phone: SimulatedPhone, challenge: String) throws -> JSONValue {
        let isBody = target.hasPrefix("/body/")
        let clientData =
            isBody ? Array(body.utf8) : headerClientData(challenge)
        let signature =
            try fault.map { try phone.sign(clientData: clientData, fault: $0) }
            ?? phone.sign(clientData: clientData)
        let names = RequestHeaderNames()
        var headers: [String: JSONValue] = [
            names.assertion: .string(Base64.encode(signature)),
            names.keyID: .string(phone.keyID.base64),
        ]
        if !isBody { headers[names.clientData] = .string(Base64.encode(clientData)) }
        return .object([
            "name": .string(name), "shape": .string(isBody ? "body" : "header"),
            "challenge": .string(challenge), "method": .string(method),
            "target": .string(sentTarget), "body": .string(sentBody),
            "client_data": .string(String(decoding: clientData, as: UTF8.self)),
            "signature": .string(Hex.encode(signature)), "headers": .object(headers),
            "expected": .string(expected),
        ])
    }

    private func headerClientData(_ challenge: String) -> [UInt8] {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        return SignedRequest.clientData(
            method: method, path: parts[0], query: parts.count > 1 ? parts[1] : "",
            body: Array(body.utf8), challenge: challenge)
    }
}
