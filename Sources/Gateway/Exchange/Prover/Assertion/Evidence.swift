import AppAttest
import Bytes
import Crypto
import EventLoop
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// What a request brings to prove itself, decoded and not yet believed.
struct Evidence {
    var assertion: [UInt8]
    /// SHA-256 of the client data, the exact bytes received.
    var clientDataHash: Bytes32
    /// Authentic, but perhaps expired.
    var challenge: Challenge?
    var keyID: KeyID
}

/// The memory that the proofs of an exchange's requests are decoded into, one after another.
///
/// ``Evidence`` shares it while it is looked at. By the next request nothing does.
struct EvidenceStorage {
    var assertion: [UInt8] = []
    var clientData: [UInt8] = []

    /// Forgets what was decoded; larger memory than `byteCountMax` is given back.
    mutating func forget(keepingAtMost byteCountMax: Int) {
        assertion.removeAll(keepingCapacity: assertion.capacity <= byteCountMax)
        clientData.removeAll(keepingCapacity: clientData.capacity <= byteCountMax)
    }
}

extension AssertionProver {
    /// Refuses what headers alone show to be no proof, before the body is read for the rest of it.
    func checkProofHeaders() throws(Refusal) {
        let assertion = try decodedAssertion()
        do throws(AssertionFailure) {
            _ = try UnverifiedAssertion(parsing: assertion.span)
        } catch {
            throw Refusal(.assertionMalformed, .assertionFailed(error))
        }
        _ = try headerKeyID()
        _ = try signedBodyDigest()
    }

    /// Reads assertion, client data, challenge and key id from where the route says they are. In
    /// the `header` shape the client data says something of the request, too.
    func gatherEvidence() throws(Refusal) -> (Evidence, RequestClientData?) {
        let assertion = try decodedAssertion()
        switch policy.clientData {
        case .header:
            let (evidence, clientData) = try evidenceInHeader(assertion)
            return (evidence, clientData)
        case .body: return (try evidenceInBody(assertion), nil)
        }
    }

    private func decodedAssertion() throws(Refusal) -> [UInt8] {
        let isThere = try decodeField(
            site.fieldNames.assertion, byteCountMax: Limits.assertionByteCountMax,
            into: &evidenceStorage.assertion, refusing: (.assertionRepeated, .assertionBase64))
        guard isThere else { throw Refusal(.assertionRequired) }
        return evidenceStorage.assertion
    }

    private func evidenceInHeader(
        _ assertion: [UInt8]
    ) throws(Refusal) -> (Evidence, RequestClientData) {
        let limit = site.settings.limits.clientDataByteCountMax
        let isThere = try decodeField(
            site.fieldNames.clientData, byteCountMax: limit, into: &evidenceStorage.clientData,
            refusing: (.clientDataRepeated, .clientDataBase64))
        guard isThere else {
            throw Refusal(.assertionMalformed, .clientDataMissing)
        }
        let encoded = evidenceStorage.clientData
        let clientData: RequestClientData
        do {
            clientData = try RequestClientData(parsing: encoded, byteCountMax: limit)
        } catch {
            throw Refusal(.assertionMalformed, .clientDataFailed(error))
        }
        let challenge = try challenge(clientData.challenge)
        let evidence = Evidence(
            assertion: assertion, clientDataHash: SHA256.hash(encoded.span), challenge: challenge,
            keyID: try keyID(signed: clientData.keyID, challenge: challenge))
        return (evidence, clientData)
    }

    /// The client data is the body: older samples, which sign neither method nor path.
    private func evidenceInBody(_ assertion: [UInt8]) throws(Refusal) -> Evidence {
        if let hash = try signedBodyDigest(), Bytes32(hash) != intake.digest {
            throw Refusal(.bodyMismatch, .clientDataHash)
        }
        let members = try bodyMembers()
        let challenge = try challenge(members.challenge?.span)
        return Evidence(
            assertion: assertion, clientDataHash: intake.digest, challenge: challenge,
            keyID: try keyID(signed: members.keyID, challenge: challenge))
    }

    /// The digest of the body where the header has it in place of the client data.
    private func signedBodyDigest() throws(Refusal) -> [UInt8]? {
        let isThere = try decodeField(
            site.fieldNames.clientData, byteCountMax: 32, into: &evidenceStorage.clientData,
            refusing: (.clientDataRepeated, .clientDataBase64))
        return isThere ? evidenceStorage.clientData : nil
    }

    /// Opens the challenge in `text`, which is the token or the base64 of its characters.
    private func challenge(_ text: Span<UInt8>?) throws(Refusal) -> Challenge? {
        guard let text else {
            if policy.challenge == .off { return nil }
            throw Refusal(.challengeRequired)
        }
        if let opened = Self.open(text, site.sealer) { return opened }
        // Sealed with a key that is gone, it may have been spent; other words are the app's own.
        if policy.challenge == .off, !Self.looksLikeChallenge(text) { return nil }
        throw Refusal(.challengeExpired, .notOurs)
    }

    static func open(_ text: Span<UInt8>, _ sealer: ChallengeSealer) -> Challenge? {
        guard text.count <= challengeByteCountMax else { return nil }
        return sealer.open(text) ?? Base64.withDecoded(text) { sealer.open($0) }
    }

    static func looksLikeChallenge(_ text: Span<UInt8>) -> Bool {
        guard text.count <= challengeByteCountMax else { return false }
        if ChallengeSealer.hasTokenForm(text) { return true }
        return Base64.withDecoded(text) { ChallengeSealer.hasTokenForm($0) } ?? false
    }

    /// The base64 of the longest token.
    static let challengeByteCountMax = ChallengeSealer.tokenByteCountMax * 4 / 3 + 4

    /// The key id: signed inside the client data, else from its header, else the challenge's.
    private func keyID(signed: KeyID?, challenge: Challenge?) throws(Refusal) -> KeyID {
        let header = try headerKeyID()
        if let signed, let header, signed != header {
            throw Refusal(.assertionMalformed, .keyIDsDiffer)
        }
        guard let keyID = signed ?? header ?? challenge?.keyID else {
            throw Refusal(.assertionMalformed, .keyIDMissing)
        }
        return keyID
    }

    /// The key that the request names in the header for it; nil where there is none.
    func headerKeyID() throws(Refusal) -> KeyID? {
        let text: Span<UInt8>
        let bytes = headBytes
        switch intake.uniqueField(site.fieldNames.keyID) {
        case .absent: return nil
        case .repeated: throw Refusal(.assertionMalformed, .keyIDRepeated)
        case .value(let range): text = bytes.span.extracting(range)
        }
        if let keyID = KeyID(base64: text) { return keyID }
        let decoded = text.count <= 44 ? Base64.decode(text) : nil
        let isTooShort = decoded.map { $0.count < Bytes32.byteCount } ?? false
        throw Refusal(.assertionMalformed, isTooShort ? .keyIDLength : .keyIDFieldBase64)
    }

    /// Decodes the base64 value of the one field in `names` into `storage`; false where there is
    /// none.
    private func decodeField(
        _ names: FieldNameSet, byteCountMax: Int, into storage: inout [UInt8],
        refusing checks: (repeated: Cause.Check, base64: Cause.Check)
    ) throws(Refusal) -> Bool {
        switch intake.uniqueField(names) {
        case .absent: return false
        case .repeated: throw Refusal(.assertionMalformed, checks.repeated)
        case .value(let range):
            let text = headBytes.span.extracting(range)
            guard Base64.decode(text, atMost: byteCountMax, into: &storage) else {
                throw Refusal(.assertionMalformed, checks.base64)
            }
            return true
        }
    }
}
