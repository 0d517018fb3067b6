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
    /// In the `header` shape: what the client data says of the request.
    var clientData: RequestClientData?
    /// Authentic, but perhaps expired.
    var challenge: Challenge?
    var keyID: KeyID
}

extension Exchange {
    /// Refuses what headers alone show to be no proof, before the body is read for the rest of it.
    func checkProofHeaders() throws(Refusal) {
        let assertion = try decodedField(
            site.fieldNames.assertion, byteCountMax: Limits.assertionByteCountMax,
            refusing: (.assertionRepeated, .assertionBase64))
        guard let assertion else { throw Refusal(.assertionRequired) }
        do throws(AssertionFailure) {
            _ = try UnverifiedAssertion(parsing: assertion.span)
        } catch {
            throw Refusal(.assertionMalformed, .assertionFailed(error))
        }
        _ = try headerKeyID()
        _ = try decodedField(
            site.fieldNames.clientData, byteCountMax: 32,
            refusing: (.clientDataRepeated, .clientDataBase64))
    }

    /// Reads assertion, client data, challenge and key id from where the route says they are.
    func gatherEvidence() throws(Refusal) -> Evidence {
        let assertion = try decodedField(
            site.fieldNames.assertion, byteCountMax: Limits.assertionByteCountMax,
            refusing: (.assertionRepeated, .assertionBase64))
        guard let assertion else { throw Refusal(.assertionRequired) }
        switch policy.clientData {
        case .header: return try evidenceInHeader(assertion)
        case .body: return try evidenceInBody(assertion)
        }
    }

    private func evidenceInHeader(_ assertion: [UInt8]) throws(Refusal) -> Evidence {
        let limit = site.settings.limits.clientDataByteCountMax
        let encoded = try decodedField(
            site.fieldNames.clientData, byteCountMax: limit,
            refusing: (.clientDataRepeated, .clientDataBase64))
        guard let encoded else {
            throw Refusal(.assertionMalformed, .clientDataMissing)
        }
        let clientData: RequestClientData
        do {
            clientData = try RequestClientData(parsing: encoded.span, byteCountMax: limit)
        } catch {
            throw Refusal(.assertionMalformed, .clientDataFailed(error))
        }
        let challenge = try challenge(clientData.challenge)
        return Evidence(
            assertion: assertion, clientDataHash: SHA256.hash(encoded.span),
            clientData: clientData, challenge: challenge,
            keyID: try keyID(signed: clientData.keyID, challenge: challenge))
    }

    /// The client data is the body: older samples, which sign neither method nor path.
    private func evidenceInBody(_ assertion: [UInt8]) throws(Refusal) -> Evidence {
        if let hash = try decodedField(
            site.fieldNames.clientData, byteCountMax: 32,
            refusing: (.clientDataRepeated, .clientDataBase64)),
            Bytes32(hash) != intake.digest
        {
            throw Refusal(.bodyMismatch, .clientDataHash)
        }
        let members = try bodyMembers()
        let challenge = try challenge(members.challenge?.span)
        return Evidence(
            assertion: assertion, clientDataHash: intake.digest, clientData: nil,
            challenge: challenge, keyID: try keyID(signed: members.keyID, challenge: challenge))
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
        return sealer.open(text) ?? Base64.decode(text).flatMap { sealer.open($0.span) }
    }

    static func looksLikeChallenge(_ text: Span<UInt8>) -> Bool {
        guard text.count <= challengeByteCountMax else { return false }
        if ChallengeSealer.hasTokenForm(text) { return true }
        return Base64.decode(text).map { ChallengeSealer.hasTokenForm($0.span) } ?? false
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

    private func headerKeyID() throws(Refusal) -> KeyID? {
        let named = try decodedField(
            site.fieldNames.keyID, byteCountMax: 32, refusing: (.keyIDRepeated, .keyIDFieldBase64))
        let header = named.flatMap { Bytes32($0) }.map(KeyID.init(digest:))
        if named != nil, header == nil {
            throw Refusal(.assertionMalformed, .keyIDLength)
        }
        return header
    }

    /// The base64 value of the one field in `names`; nil where there is none.
    private func decodedField(
        _ names: FieldNameSet, byteCountMax: Int,
        refusing checks: (repeated: Cause.Check, base64: Cause.Check)
    ) throws(Refusal) -> [UInt8]? {
        switch uniqueField(names) {
        case .absent: return nil
        case .repeated: throw Refusal(.assertionMalformed, checks.repeated)
        case .value(let range):
            let text = headBytes.span.extracting(range)
            let isShort = text.count <= (byteCountMax + 2) / 3 * 4
            guard isShort, let bytes = Base64.decode(text), bytes.count <= byteCountMax else {
                throw Refusal(.assertionMalformed, checks.base64)
            }
            return bytes
        }
    }
}
