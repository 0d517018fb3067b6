import Attestation
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

/// `POST /attest/verify`: enrols a key that a platform vouches for.
extension EndpointDesk {
    /// Verifies, then waits for the registry's commit: 200 means that the key is durable.
    func verifyAttestation() throws(Refusal) -> Step {
        let enrolment = try verifiedEnrolment()
        state.enrolment = enrolment
        guard !enrolment.isLate else {
            try services.lookUpKey(for: exchange, enrolment.keyID, as: .enrolledKey)
            return .wait
        }
        // Only Apple's devices have such bits.
        let asksForBits = site.signals?.deviceBits != nil && enrolmentPlatform == .apple
        return asksForBits ? try enrolling(readDeviceBits) : try enrol(nil)
    }

    /// Has the registry keep the key, with the bits of its device as far as they are known.
    func enrol(_ reading: DeviceReading?) throws(Refusal) -> Step {
        guard var enrolment = enrolment else { return .next }
        if let reading {
            services.meter.enrols(reading.outcome, reading.bits)
            if let bits = reading.bits { try judge.judgeEnrolment(bits) }
            enrolment.record.deviceBits = reading.bits
            state.enrolment = enrolment
        }
        try services.enrol(
            exchange, enrolment.record, challenge: enrolment.challenge,
            succeeding: enrolment.ticket.claim)
        return .wait
    }

    /// Answers an enrolment whose challenge is too old: a client repeats it, if its answer was lost
    /// and the network was away for longer. The key would otherwise have to be made anew.
    func enrolAgain(_ known: Result<CachedKey?, StoreError>) {
        exchange.resume { () throws(Refusal) in
            switch known {
            case .success(nil): throw Refusal(.challengeExpired, .age)
            case .success: return try enrol(nil)
            case .failure(let error): throw Refusal(error)
            }
        }
    }

    private func verifiedEnrolment() throws(Refusal) -> PendingEnrolment {
        let body = try enrolmentBody()
        state.enrolmentPlatform = body.platform.name
        let (challenge, used, other) = try attestationChallenge(body.challenge, keyID: body.keyID)
        try judge.judgeAttestation()
        let verified = try verify(
            EnrolmentRequest(
                keyID: body.keyID, evidence: body.evidence, challenge: used,
                otherChallenge: other), on: body.platform)
        try judge.judgeEnrolment(under: verified.attestationCertificate)
        if let flaw = verified.flaw { judge.note(.enrolmentFlawed(flaw)) }
        var record = KeyRecord(
            keyID: verified.keyID, publicKey: verified.publicKey, appID: verified.app.id,
            environment: verified.environment, enrolledAt: services.wallMilliseconds / 1000,
            platform: body.platform.name, securityLevel: verified.securityLevel,
            bundleVersion: verified.bundleVersion,
            validationCategory: verified.validationCategory)
        record.certificates = verified.certificates
        if let receipt = verified.receipt {
            record.receipt = receipt.bytes
            record.receiptState = ReceiptState(
                receipt.dates, dueAt: site.receiptSchedule.dueAt(receipt.dates, of: verified.keyID))
        }
        let ticket = broughtTicket(body.ticket, for: record)
        if let claim = ticket.claim { try judge.judgeSuccession(claim) }
        return PendingEnrolment(
            record: record, challenge: challenge.id,
            isLate: challenge.remainingMilliseconds(at: services.wallMilliseconds) == nil,
            attestationCertificate: verified.attestationCertificate, details: verified.details,
            ticket: ticket)
    }

    /// What the body says, decoded.
    private struct EnrolmentBody {
        let platform: any Platform
        let keyID: KeyID
        let challenge: [UInt8]
        let evidence: EnrolmentEvidence
        /// The member `installation`; nil if there is none.
        let ticket: [UInt8]?
    }

    /// Reads `key_id`, `challenge`, `platform` and `installation`, and what the platform has beside
    /// them.
    private func enrolmentBody() throws(Refusal) -> EnrolmentBody {
        let limit = intake.bodyByteCountMax
        let platforms = site.platforms
        return try intake.state.body.withMemory { json throws(Refusal) in
            do throws(JSONError) {
                let members = try JSONObjectReader(parsing: json, byteCountMax: limit)
                return Self.body(members, platforms)
            } catch {
                return .failure(
                    Refusal(
                        .badRequest, .bodyNotJSON, explanation: "The body is not one JSON object."))
            }
        }.get()
    }

    private static func body(
        _ members: borrowing JSONObjectReader, _ platforms: PlatformTable
    ) -> Result<EnrolmentBody, Refusal> {
        func refusal(
            _ check: Cause.Check, _ explanation: StaticString
        ) -> Result<EnrolmentBody, Refusal> {
            .failure(Refusal(.badRequest, check, explanation: explanation))
        }
        guard let keyText = members.string("key_id"), let challenge = members.string("challenge")
        else { return refusal(.members, "key_id and challenge must be strings.") }
        var name = PlatformName.apple
        if members.has("platform") {
            name = PlatformName(
                members.string("platform").map { String(decoding: $0, as: UTF8.self) } ?? "")
        }
        guard let platform = platforms[name] else {
            return refusal(.members, "platform names none that is known here.")
        }
        let ticket = members.string("installation")
        guard ticket != nil || !members.has("installation") else {
            return refusal(.members, "installation must be a string.")
        }
        let evidence: EnrolmentEvidence
        do throws(EnrolmentFormFailure) {
            evidence = try platform.evidence(in: members)
        } catch {
            switch error {
            case .members(let text): return refusal(.members, text)
            case .base64(let text): return refusal(.attestationBase64, text)
            }
        }
        guard let keyID = KeyID(base64: keyText.span) else {
            return refusal(.keyIDBase64, "key_id is not base64 of 32 bytes.")
        }
        return .success(
            EnrolmentBody(
                platform: platform, keyID: keyID, challenge: challenge, evidence: evidence,
                ticket: ticket))
    }

    /// The challenge, the bytes that the app used for it, and the other bytes that it may have
    /// used.
    ///
    /// `text` is the token itself, the base64 of the token's characters, or (if the app decoded the
    /// token as base64) the base64 of the decoded bytes.
    private func attestationChallenge(
        _ text: [UInt8], keyID: KeyID
    ) throws(Refusal) -> (Challenge, used: [UInt8], other: [UInt8]?) {
        let decoded = Base64.decode(text.span)
        let challenge: Challenge
        var (used, other) = (text, decoded)
        if let opened = site.sealer.open(text.span) {
            challenge = opened
        } else if let decoded, let opened = site.sealer.open(decoded.span) {
            challenge = opened
            (used, other) = (decoded, nil)
        } else {
            throw Refusal(.challengeExpired, .notOurs)
        }
        guard challenge.purpose == .attestation else {
            throw Refusal(.challengeExpired, .purpose)
        }
        guard challenge.keyID == nil || challenge.keyID == keyID else {
            throw Refusal(.challengeExpired, .otherKey)
        }
        return (challenge, used, other)
    }

    private func verify(
        _ request: EnrolmentRequest, on platform: any Platform
    ) throws(Refusal) -> VerifiedEnrolment {
        do throws(PlatformFailure) {
            return try platform.verify(request, at: services.wallMilliseconds / 1000)
        } catch {
            if error.kind == .unavailable {
                throw Refusal(.storeUnavailable, .enrolmentFailed(error))
            }
            throw Refusal(
                .attestationInvalid, .enrolmentFailed(error),
                action: error.kind == .deviceRefused ? Reason.Action.none : nil)
        }
    }

    /// Takes the registry's answer, after the commit.
    func enrolmentEnded(_ result: Result<EnrolmentOutcome, StoreError>) {
        guard let enrolment else { return }
        services.meter.resumed(exchange.phase)
        switch result {
        case .success(.enrolled):
            judge.count(enrolment)
            finish(nil)
        case .success(.succeeded(let installation)):
            judge.count(enrolment)
            finish(installation)
        case .success(.alreadyEnrolled): finish(nil)
        case .success(.alreadySucceeded(let installation)): finish(installation)
        case .success(.installationRevoked): exchange.refuse(Refusal(.installationRevoked))
        case .success(.revoked): exchange.refuse(Refusal(.keyRevoked))
        case .success(.erased): exchange.refuse(Refusal(.attestationInvalid, .erased))
        case .success(.challengeSpent): exchange.refuse(Refusal(.challengeExpired, .spent))
        case .failure(let error):
            services.log.repeatedEvent("registry_failed", error.description)
            exchange.refuse(Refusal(error))
        }
    }

    /// Answers that the key is enrolled. `inherited`: the installation that it belongs to, if that
    /// has had another key.
    private func finish(_ inherited: InstallationID?) {
        let outcome = succession(inherited)
        if let outcome {
            state.enrolment?.details.append(
                EnrolmentDetail(name: SuccessionOutcome.detailName, value: .word(outcome.rawValue)))
        }
        guard let enrolment else { return }
        services.keyCache.invalidate([enrolment.keyID])
        for detail in enrolment.details {
            guard case .word(let word) = detail.value else { continue }
            services.meter.enrolmentDetails.add("\(detail.name)=\(word)")
        }
        let ticket = SuccessionTicket(
            keyID: enrolment.keyID,
            installation: inherited ?? InstallationID(firstKey: enrolment.keyID))
        _ = exchange.answer(attested(enrolment, ticket, outcome))
        exchange.phase = .recordAccess
        exchange.advance()
    }

    private func attested(
        _ enrolment: PendingEnrolment, _ ticket: SuccessionTicket, _ outcome: SuccessionOutcome?
    ) -> LocalResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("status", constant: "attested")
        writer.member("key_id", string: enrolment.keyID.base64)
        writer.member("environment", string: enrolment.record.environment.rawValue)
        let holder = TicketHolder(of: enrolment.record)
        writer.member("installation", string: site.tickets.text(of: ticket, for: holder))
        outcome?.write(to: &writer)
        writer.endObject()
        var response = LocalResponse(
            status: 200, contentType: "application/json", body: writer.finish().readable.array)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return response
    }
}
