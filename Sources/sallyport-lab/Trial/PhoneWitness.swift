import AndroidAttestation
import Attestation
import Bytes
import Crypto
import EventLoop
import JSON

/// Looks at what an Android client sends during a trial, and names what a gateway would refuse.
///
/// The roots, the phone and the app are for the gateway to judge, which knows what it trusts.
final class PhoneWitness {
    /// The steps of an explanation that depend on the client alone.
    private static let stepsOfClients: Set<String> = [
        "certificates", "leaf_key", "names", "extension", "key_id", "key_description",
        "challenge", "device_identifiers", "origin", "key_parameters", "purpose", "digest",
        "all_applications",
    ]

    /// The keys that came with a chain, by their key ids.
    private var keys: [String: P256PublicKey] = [:]
    /// The key id that each enrolment's challenge came with.
    private var enrolments: [String: String] = [:]
    private var signedChallenges: Set<String> = []

    // MARK: enrolments

    /// The mistakes of a request to `attest/verify`.
    func mistakes(ofEnrolment request: HTTPRequest) -> [String] {
        let members = try? JSONValue.parse(request.body.span, byteCountMax: 64 * 1024)
        guard members?["platform"]?.stringValue == "android" else {
            return ["the enrolment does not say \"platform\":\"android\""]
        }
        guard let keyText = members?["key_id"]?.stringValue, let keyID = KeyID(base64: keyText)
        else { return ["the enrolment's key_id is not base64 of 32 bytes"] }
        guard let challenge = members?["challenge"]?.stringValue else {
            return ["the enrolment has no challenge"]
        }
        guard members?["chain"]?.arrayValue != nil,
            let chain = AndroidChainInput.chain(request.body)
        else { return ["the enrolment's chain is not an array of base64"] }
        var mistakes = mistakes(of: chain, keyID, challenge, of: keyText)
        if enrolments.updateValue(keyText, forKey: challenge) ?? keyText != keyText {
            mistakes.append("made two keys for one challenge")
        }
        return mistakes
    }

    private func mistakes(
        of chain: [[UInt8]], _ keyID: KeyID, _ challenge: String, of keyText: String
    ) -> [String] {
        var expected = AndroidExpectations(at: WallClock.now().seconds)
        expected.keyID = keyID
        expected.acceptsAnyBootState = true
        expected.challenge = Array(challenge.utf8)
        var explanation = Explanation.androidAttestation(chain, expecting: expected)
        // The other spelling that a gateway takes.
        if let decoded = Base64.decode(challenge) {
            expected.challenge = decoded
            let other = Explanation.androidAttestation(chain, expecting: expected)
            if other.steps.contains(where: { $0.name == "challenge" && $0.outcome == .passed }) {
                explanation = other
            }
        }
        if case .text(let text)? = explanation["public_key"], let point = Base64.decode(text),
            let key = P256PublicKey(x963: point.span)
        {
            keys[keyText] = key
        }
        return explanation.steps.filter {
            $0.outcome == .failed && Self.stepsOfClients.contains($0.name)
        }.map { "sent a chain that no gateway takes: \($0.detail)" }
    }

    // MARK: requests

    /// The mistakes of a request with a proof; none for one without.
    func mistakes(ofRequest request: HTTPRequest) -> [String] {
        guard let assertion = request["X-App-Attest-Assertion"] else { return [] }
        guard let signature = Base64.decode(assertion) else {
            return ["the signature is not base64"]
        }
        let header = request["X-App-Attest-Client-Data"]
        guard let clientData = header.map({ Base64.decode($0) }) ?? request.body else {
            return ["the client data is not base64"]
        }
        var mistakes: [String] = []
        if let challenge = request.signedChallenge {
            if !signedChallenges.insert(challenge).inserted {
                mistakes.append("signed one challenge twice")
            }
        } else {
            mistakes.append("signed no challenge, which alone protects a request from a replay")
        }
        if header != nil { mistakes += Self.mistakes(ofClientData: clientData, request) }
        if let key = request["X-App-Attest-Key-Id"].flatMap({ keys[$0] }) {
            mistakes += Self.mistake(ofSignature: signature, clientData, key)
        }
        return mistakes
    }

    private static func mistakes(
        ofClientData clientData: [UInt8], _ request: HTTPRequest
    ) -> [String] {
        guard let members = try? JSONValue.parse(clientData.span, byteCountMax: 64 * 1024) else {
            return ["the client data is not JSON"]
        }
        var expected = [
            "method": request.method,
            "bodySHA256": Base64.encode(SHA256.hash(request.body).array),
        ]
        // An app signs the decoded path.
        if !request.path.contains("%") { expected["path"] = String(request.path) }
        // It is optional.
        if members["query"] != nil { expected["query"] = request.query ?? "" }
        return expected.filter { members[$0.key]?.stringValue != $0.value }.keys.sorted().map {
            "the client data's \($0) is not the request's"
        }
    }

    private static func mistake(
        ofSignature signature: [UInt8], _ clientData: [UInt8], _ key: P256PublicKey
    ) -> [String] {
        guard var verifier = try? P256Verifier() else { return [] }
        func covers(_ message: [UInt8]) -> Bool {
            verifier.isValid(signature: signature.span, message: message.span, key: key)
        }
        if covers(clientData) { return [] }
        if covers(SHA256.hash(clientData).array) {
            return ["hashed the client data before the signature, which hashes it again"]
        }
        return P256Signature(der: signature) == nil
            ? ["the signature is not DER"]
            : ["the signature is not of the client data's bytes, or of another key"]
    }
}
