import Attestation
import Bytes
import Crypto
import EventLoop
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// The decoded parts of an assertion's request, before any of them is checked.
struct Evidence {
    var assertion: [UInt8]
    /// SHA-256 of the client data, over the exact bytes received.
    var clientDataHash: Bytes32
    /// The challenge. It is authentic, but may have expired.
    var challenge: Challenge?
    var keyID: KeyID
}

/// The memory that the assertions of an exchange's requests are decoded into, one after another.
///
/// ``Evidence`` shares it while it is read. No value shares it when the next request begins.
struct EvidenceStorage {
    var assertion: [UInt8] = []
    var clientData: [UInt8] = []

    /// Forgets the decoded bytes. Memory of more than `byteCountMax` bytes is given back.
    mutating func forget(keepingAtMost byteCountMax: Int) {
        // Most requests bring none, and removing nothing costs more than to look.
        if !assertion.isEmpty {
            assertion.removeAll(keepingCapacity: assertion.capacity <= byteCountMax)
        }
        if !clientData.isEmpty {
            clientData.removeAll(keepingCapacity: clientData.capacity <= byteCountMax)
        }
    }
}

extension AssertionProver {
    /// Refuses an assertion that its headers alone show to be malformed, before the body is read.
    func checkProofHeaders() throws(Refusal) {
        let assertion = try decodedAssertion()
        do throws(PlatformFailure) {
            try site.platforms.checkForm(of: assertion.span)
        } catch {
            throw Refusal(.assertionMalformed, .evidenceFailed(error))
        }
        _ = try headerKeyID()
        _ = try signedBodyDigest()
    }

    /// Reads the assertion, client data, challenge and key id from the places that the route names.
    /// In the `header` shape, the client data also describes the request.
    func gatherEvidence() throws(Refusal) -> (Evidence, RequestClientData?) {
        let assertion = try decodedAssertion()
        switch policy.clientData {
        case .header:
            let (evidence, clientData) = try evidenceInHeader(assertion)
            return (evidence, clientData)
        case .body: return (try evidenceInBody(assertion), nil)
        }
    }

    /// The assertion, which is decoded the first time.
    private func decodedAssertion() throws(Refusal) -> [UInt8] {
        if !state.evidenceStorage.assertion.isEmpty { return state.evidenceStorage.assertion }
        let isThere = try decodeField(
            site.fieldNames.assertion, byteCountMax: Limits.assertionByteCountMax,
            into: &state.evidenceStorage.assertion, refusing: (.assertionRepeated, .assertionBase64)
        )
        guard isThere else { throw Refusal(.assertionRequired) }
        return state.evidenceStorage.assertion
    }

    private func evidenceInHeader(
        _ assertion: [UInt8]
    ) throws(Refusal) -> (Evidence, RequestClientData) {
        let limit = site.settings.limits.clientDataByteCountMax
        let isThere = try decodeField(
            site.fieldNames.clientData, byteCountMax: limit,
            into: &state.evidenceStorage.clientData,
            refusing: (.clientDataRepeated, .clientDataBase64))
        guard isThere else {
            throw Refusal(.assertionMalformed, .clientDataMissing)
        }
        let encoded = state.evidenceStorage.clientData
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

    /// Reads client data that is the body itself. Older sample apps use it, and sign no method and
    /// path.
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

    /// The body's digest, if the client data header has it instead of client data.
    private func signedBodyDigest() throws(Refusal) -> [UInt8]? {
        let isThere = try decodeField(
            site.fieldNames.clientData, byteCountMax: 32, into: &state.evidenceStorage.clientData,
            refusing: (.clientDataRepeated, .clientDataBase64))
        return isThere ? state.evidenceStorage.clientData : nil
    }

    /// Opens the challenge in `text`, which is a token or the base64 of one.
    private func challenge(_ text: Span<UInt8>?) throws(Refusal) -> Challenge? {
        guard let text else {
            if policy.challenge == .off { return nil }
            throw Refusal(.challengeRequired)
        }
        if let opened = Self.open(text, site.sealer) { return opened }
        // A token sealed with a lost key may have been spent. Other text is the app's own.
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

    /// The length of the longest token in base64.
    static let challengeByteCountMax = ChallengeSealer.tokenByteCountMax * 4 / 3 + 4

    /// The signed key id, or else the header's, or else the challenge's.
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

    /// The key id in its header; nil without the header.
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

    /// Decodes the base64 value of the only field in `names` into `storage`. False without the
    /// field.
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
