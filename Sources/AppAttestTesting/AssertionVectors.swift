import AppAttest
import Attestation
public import AttestationTesting
import Bytes
import Crypto
public import JSON

/// Test vectors for clients and verifiers: requests signed with a published key, correct or with
/// one fault, and the answer that a gateway must give to each.
///
/// Their challenges come from no gateway and do not expire. Routes that accept them have
/// `challenge: off, replay: durable`. Signatures differ each time, as ECDSA's do; everything else
/// stays the same.
public enum AssertionVectors {
    public static let appID = "ABCDE12345.com.example.app"

    /// The words whose SHA-256 is the key's secret number.
    private static let seed = "Sallyport assertion test vectors"

    /// Makes the vectors, in the order in which they have to be sent, because their counters rise.
    public static func make() throws(SimulationError) -> JSONValue {
        let scalar = SHA256.hash(Array(seed.utf8))
        let key = try SimulationError.wrap { () throws(CryptoError) in
            try P256PrivateKey(scalar: scalar)
        }
        var minter = VectorMinter(key: key)
        var vectors: [JSONValue] = []
        for plan in plans { vectors.append(try minter.mint(plan)) }
        let device = try SimulatedDevice(appID: appID, key: key)
        return .object([
            "app_id": .string(appID), "environment": .string(device.environment.rawValue),
            "key": .object([
                "seed": .string(seed),
                "secret_number": .string(Hex.encode(scalar.array)),
                "public_point": .string(Base64.encode(key.publicKey.x963)),
                "key_id": .string(device.keyID.base64),
            ]),
            "vectors": .array(vectors),
        ])
    }

    private static let plans: [VectorPlan] = [
        VectorPlan("get", "GET", "/header/profile"),
        VectorPlan("post", "POST", "/header/transfer", body: #"{"amount":1}"#),
        VectorPlan("query", "GET", "/header/profile?fields=name", signedQuery: "fields=name"),
        VectorPlan("extensions", "GET", "/header/profile", system: .iOS27),
        VectorPlan(
            "body", "POST", "/body/transfer",
            body: #"{"amount":1,"challenge":"vector-challenge-5"}"#),
        VectorPlan(
            "counter-not-higher", "GET", "/header/profile", expected: "assertion_replayed",
            counter: 2),
        VectorPlan(
            "body-changed", "POST", "/header/transfer", body: #"{"amount":1}"#,
            sentBody: #"{"amount":9}"#, expected: "body_mismatch"),
        VectorPlan(
            "path-changed", "GET", "/header/other", signedPath: "/header/profile",
            expected: "request_mismatch"),
        VectorPlan(
            "query-changed", "GET", "/header/profile?fields=all", signedQuery: "fields=name",
            expected: "request_mismatch"),
        VectorPlan(
            "client-data-changed", "GET", "/header/profile", fault: .otherClientData,
            expected: "assertion_invalid"),
        VectorPlan(
            "other-key", "GET", "/header/profile", fault: .otherKey,
            expected: "assertion_invalid"),
        VectorPlan(
            "nonce-hashed-once", "GET", "/header/profile", fault: .nonceAsDigest,
            expected: "assertion_invalid"),
        VectorPlan(
            "counter-changed", "GET", "/header/profile", fault: .counterChangedAfterSigning,
            expected: "assertion_invalid"),
        VectorPlan(
            "raw-signature", "GET", "/header/profile", fault: .rawSignature,
            expected: "assertion_invalid"),
        VectorPlan(
            "other-app", "GET", "/header/profile", fault: .otherApp,
            expected: "assertion_invalid"),
        VectorPlan(
            "trailing-byte", "GET", "/header/profile", fault: .trailingByte,
            expected: "assertion_malformed"),
        VectorPlan(
            "body-in-header-shape", "POST", "/body/transfer",
            body: #"{"bodySHA256":"x","challenge":"x","method":"POST","path":"/header/x"}"#,
            expected: "assertion_malformed"),
        // The counter of a refused request is not spent: this one goes on from the fifth.
        VectorPlan("after-refusals", "GET", "/header/profile"),
    ]
}

/// The plan of one vector.
private struct VectorPlan {
    let name: String
    let method: String
    let target: String
    var signedPath: String?
    var signedQuery: String?
    var body: String
    var sentBody: String
    var system: SimulatedSystem
    var fault: AssertionFault?
    var expected: String
    /// The counter of the assertion; nil for the next one.
    var counter: UInt32?

    init(
        _ name: String, _ method: String, _ target: String, signedPath: String? = nil,
        signedQuery: String? = nil, body: String = "", sentBody: String? = nil,
        system: SimulatedSystem = .iOS26, fault: AssertionFault? = nil, expected: String = "ok",
        counter: UInt32? = nil
    ) {
        (self.name, self.method, self.target) = (name, method, target)
        (self.signedPath, self.signedQuery) = (signedPath, signedQuery)
        self.body = body
        self.sentBody = sentBody ?? body
        (self.system, self.fault) = (system, fault)
        (self.expected, self.counter) = (expected, counter)
    }
}

/// Signs the requests of the plans, one after another.
private struct VectorMinter {
    let key: P256PrivateKey
    private var counter: UInt32 = 0

    init(key: P256PrivateKey) { self.key = key }

    mutating func mint(_ plan: VectorPlan) throws(SimulationError) -> JSONValue {
        let counter = plan.counter ?? self.counter + 1
        if plan.counter == nil { self.counter = counter }
        let device = try SimulatedDevice(
            appID: AssertionVectors.appID, system: plan.system, key: key, counter: counter - 1)
        let challenge = "vector-challenge-\(counter)"
        let isBody = plan.target.hasPrefix("/body/")
        let signed: SignedRequest
        if isBody {
            signed = try device.sign(body: Array(plan.body.utf8), fault: plan.fault)
        } else {
            signed = try device.sign(
                method: plan.method,
                path: plan.signedPath ?? String(plan.target.prefix { $0 != "?" }),
                query: plan.signedQuery, body: Array(plan.body.utf8), challenge: challenge,
                fault: plan.fault)
        }
        var members: [String: JSONValue] = [
            "name": .string(plan.name), "shape": .string(isBody ? "body" : "header"),
            "method": .string(plan.method), "target": .string(plan.target),
            "body": .string(plan.sentBody),
            "client_data": .string(String(decoding: signed.clientData, as: UTF8.self)),
            "client_data_sha256": .string(Hex.encode(SHA256.hash(signed.clientData).array)),
            "counter": .integer(Int64(counter)),
            "assertion": .string(Base64.encode(signed.assertion)),
            "headers": .object(
                Dictionary(
                    uniqueKeysWithValues: signed.headers.map { ($0.name, .string($0.value)) })),
            "expected": .string(plan.expected),
        ]
        if !isBody { members["challenge"] = .string(challenge) }
        if let parts = Self.parts(of: signed.assertion) {
            let clientDataHash = SHA256.hash(signed.clientData).array
            let nonce = SHA256.hash(parts.authenticatorData + clientDataHash)
            members["authenticator_data"] = .string(Hex.encode(parts.authenticatorData))
            members["signature"] = .string(Hex.encode(parts.signature))
            members["nonce"] = .string(Hex.encode(nonce.array))
        }
        return .object(members)
    }

    private static func parts(
        of assertion: [UInt8]
    ) -> (signature: [UInt8], authenticatorData: [UInt8])? {
        guard let parsed = try? UnverifiedAssertion(parsing: assertion.span) else { return nil }
        return (parsed.signature.array, parsed.authenticatorData.array)
    }
}
