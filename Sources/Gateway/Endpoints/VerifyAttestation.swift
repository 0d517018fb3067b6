import AppAttest
import Background
import Bytes
import Crypto
import GatewayTokens
import HTTP
import JSON
import Judgement
import KeyStore
import Policy
import Settings

/// `POST /attest/verify`: enrols a key that Apple vouches for.
extension EndpointDesk {
    /// Verifies, then waits for the registry's commit: 200 means that the key is durable.
    func verifyAttestation() throws(Refusal) -> Step {
        state.enrolment = try verifiedEnrolment()
        return site.signals?.deviceBits == nil
            ? try enrol(nil) : try enrolling(readDeviceBits)
    }

    /// Has the registry keep the key, with the bits of its device as far as they are known.
    func enrol(_ reading: DeviceReading?) throws(Refusal) -> Step {
        guard var enrolment = enrolment else { return .next }
        if let reading {
            worker.meter.enrols(reading.outcome, reading.bits)
            if let bits = reading.bits { try judge.judgeEnrolment(bits) }
            enrolment.record.deviceBits = reading.bits
            state.enrolment = enrolment
        }
        try worker.enrol(exchange, enrolment.record, challenge: enrolment.challenge)
        return .wait
    }

    private func verifiedEnrolment() throws(Refusal) -> PendingEnrolment {
        let request = try attestationRequest()
        let (challenge, hashed, other) = try attestationChallenge(
            request.challenge, keyID: request.keyID)
        try judge.judgeAttestation()
        let verified = try verify(request, hashed: hashed, other: other)
        var record = KeyRecord(
            keyID: verified.keyID, publicKey: verified.publicKey, appID: verified.app.id,
            environment: verified.environment, enrolledAt: worker.wallMilliseconds / 1000,
            bundleVersion: verified.extensions.bundleVersion,
            validationCategory: verified.extensions.validationCategory)
        if let (receipt, fields) = usableReceipt(of: verified) {
            record.receipt = receipt
            record.receiptState = ReceiptState(
                fields, dueAt: site.receiptSchedule.dueAt(fields, of: verified.keyID))
        }
        return PendingEnrolment(
            record: record, challenge: challenge.id, macSecurity: verified.macSecurity)
    }

    /// The receipt, if it is valid by itself: the attestation's nonce does not cover it, so a
    /// genuine attestation may carry a damaged one. The key is enrolled either way.
    private func usableReceipt(
        of attestation: VerifiedAttestation
    ) -> ([UInt8], ReceiptFields)? {
        guard let receipt = attestation.receipt else { return nil }
        do {
            let verified = try site.receipts.verify(
                receipt, appID: attestation.app.id, publicKey: attestation.publicKey,
                environment: attestation.environment,
                creation: attestation.receiptCreation(
                    upTo: worker.wallMilliseconds / 1000,
                    skewSeconds: site.settings.trust.clockSkew.components.seconds))
            guard verified.fields.kind == .attest else {
                judge.note(.check(.receiptType))
                return nil
            }
            return (receipt, verified.fields)
        } catch {
            judge.note(.receiptFailed(error))
            return nil
        }
    }

    private struct AttestationRequest {
        let keyID: KeyID
        let attestation: [UInt8]
        let challenge: [UInt8]
    }

    /// The members of the body: `key_id`, `attestation`, `challenge`, all base64 text.
    private func attestationRequest() throws(Refusal) -> AttestationRequest {
        let limit = intake.bodyByteCountMax
        let members = intake.state.body.withMemory { json in
            Self.members(of: json, byteCountMax: limit)
        }
        guard let members else {
            throw Refusal(
                .badRequest, .bodyNotJSON, explanation: "The body is not one JSON object.")
        }
        guard let keyText = members[0], let attestationText = members[1],
            let challenge = members[2]
        else {
            throw Refusal(
                .badRequest, .members,
                explanation: "key_id, attestation and challenge must be strings.")
        }
        guard let keyID = KeyID(base64: keyText.span) else {
            throw Refusal(
                .badRequest, .keyIDBase64, explanation: "key_id is not base64 of 32 bytes.")
        }
        guard let attestation = Base64.decode(attestationText.span) else {
            throw Refusal(
                .badRequest, .attestationBase64, explanation: "attestation is not base64.")
        }
        return AttestationRequest(keyID: keyID, attestation: attestation, challenge: challenge)
    }

    /// The members of the object, or nil if `json` is not one object.
    private static func members(of json: Span<UInt8>, byteCountMax: Int) -> [[UInt8]?]? {
        do throws(JSONError) {
            let reader = try JSONObjectReader(parsing: json, byteCountMax: byteCountMax)
            return ["key_id", "attestation", "challenge"].map { reader.string(named: $0) }
        } catch {
            return nil
        }
    }

    /// The challenge, the bytes that the app hashed for it, and the other bytes that it may have
    /// hashed.
    ///
    /// `text` is the token itself, the base64 of the token's characters, or (if the app decoded the
    /// token as base64) the base64 of the decoded bytes.
    private func attestationChallenge(
        _ text: [UInt8], keyID: KeyID
    ) throws(Refusal) -> (Challenge, hashed: [UInt8], other: [UInt8]?) {
        let decoded = Base64.decode(text.span)
        let challenge: Challenge
        var (hashed, other) = (text, decoded)
        if let opened = site.sealer.open(text.span) {
            challenge = opened
        } else if let decoded, let opened = site.sealer.open(decoded.span) {
            challenge = opened
            (hashed, other) = (decoded, nil)
        } else {
            throw Refusal(.challengeExpired, .notOurs)
        }
        guard challenge.purpose == .attestation else {
            throw Refusal(.challengeExpired, .purpose)
        }
        guard challenge.keyID == nil || challenge.keyID == keyID else {
            throw Refusal(.challengeExpired, .otherKey)
        }
        guard challenge.remainingMilliseconds(at: worker.wallMilliseconds) != nil else {
            throw Refusal(.challengeExpired, .age)
        }
        return (challenge, hashed, other)
    }

    private func verify(
        _ request: AttestationRequest, hashed: [UInt8], other: [UInt8]?
    ) throws(Refusal) -> VerifiedAttestation {
        do throws(AttestationFailure) {
            return try site.attestation.verify(
                request.attestation.span, clientDataHash: SHA256.hash(hashed.span).array,
                otherHash: { other.map { SHA256.hash($0.span).array } }, keyID: request.keyID,
                at: worker.wallMilliseconds / 1000)
        } catch {
            // Another key of the same Mac would be refused as well.
            throw Refusal(
                .attestationInvalid, .attestationFailed(error),
                action: error == .macSecurityReduced ? Reason.Action.none : nil)
        }
    }

    /// Takes the registry's answer, after the commit.
    func enrolmentEnded(_ result: Result<EnrolmentOutcome, StoreError>, number: UInt64) {
        guard number == exchange.number, let enrolment = enrolment else { return }
        worker.meter.resumed(exchange.phase)
        switch result {
        case .success(.enrolled), .success(.alreadyEnrolled):
            if case .success(.enrolled) = result {
                judge.countAttestation(enrolment.record.deviceBits)
            }
            worker.keyCache.invalidate([enrolment.keyID])
            switch enrolment.macSecurity {
            case .notMac: break
            case .full: worker.meter.add(.macsWithFullSecurity)
            case .reduced: worker.meter.add(.macsWithReducedSecurity)
            }
            _ = exchange.answer(attested(enrolment))
            exchange.phase = .recordAccess
            exchange.advance()
        case .success(.revoked): exchange.refuse(Refusal(.keyRevoked))
        case .success(.erased): exchange.refuse(Refusal(.attestationInvalid, .erased))
        case .success(.challengeSpent): exchange.refuse(Refusal(.challengeExpired, .spent))
        case .failure(let error):
            worker.log.repeatedEvent("registry_failed", error.description)
            exchange.refuse(Refusal(error))
        }
    }

    private func attested(_ enrolment: PendingEnrolment) -> LocalResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("status", constant: "attested")
        writer.member("key_id", string: enrolment.keyID.base64)
        writer.member("environment", string: enrolment.record.environment.rawValue)
        writer.endObject()
        var response = LocalResponse(
            status: 200, contentType: "application/json", body: writer.finish().readable.array)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return response
    }
}
