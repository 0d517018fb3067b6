import Attestation
import Bytes
import Crypto
import EventLoop
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// The refusals that `capture` keeps.
extension Recorder {
    /// Hands on a proof whose cryptography or structure is invalid. This is the one exception to
    /// the rule that no proof is written anywhere, and it is off unless the operator asks for it.
    func captureRefusal() {
        // The decision comes first, so that accepted requests cost no more than this.
        guard exchange.decision == .refused || exchange.decision == .observed,
            let settings = site.settings.capture, let kind = capturedKind,
            let writer = services.hub.captureWriter.withLock({ $0 }),
            writer.admits(at: services.loop.now)
        else { return }
        writer.keep(captured(kind), settings)
    }

    private var capturedKind: CapturedRefusal.Kind? {
        switch (exchange.outcome.reason, exchange.outcome.cause) {
        case (.attestationInvalid, .enrolmentFailed): .attestation
        case (.assertionMalformed, _), (.assertionInvalid, _), (.requestMismatch, _),
            (.bodyMismatch, _):
            .assertion
        default: nil
        }
    }

    private func captured(_ kind: CapturedRefusal.Kind) -> CapturedRefusal {
        var captured = CapturedRefusal(
            kind, requestID: exchange.requestIDText, time: WallClock.now(),
            reason: exchange.outcome.reason.code.description, detail: exchange.outcome.cause?.text)
        captured.route = match.routeIndex.map { site.settings.routes[$0].name }
        guard kind == .assertion else {
            captured.requestBody = intake.state.body.withMemory { $0.array }
            return captured
        }
        captured.assertion = fieldText(site.fieldNames.assertion)
        captured.clientData = fieldText(site.fieldNames.clientData)
        captured.keyID = fieldText(site.fieldNames.keyID)
        if policy.clientData == .body, intake.isComplete { captured.bodySHA256 = intake.digest }
        captured.publicKey = prover.known.key?.publicKey.x963
        captured.appID = prover.known.app?.id
        captured.environment = prover.known.key?.environment.rawValue
        if case .some = prover.known.key, let keyID = prover.proofFacts.keyID {
            captured.installation = prover.installation(of: keyID).description
        }
        if exchange.outcome.reason == .requestMismatch {
            captured.method = headBytes.span.extracting(head.method).array
            captured.target = headBytes.span.extracting(head.originTarget).array
        }
        return captured
    }

    /// The only field's value as received. A value that is not base64 is worth a look as well.
    private func fieldText(_ names: FieldNameSet) -> [UInt8]? {
        guard case .value(let range) = intake.uniqueField(names) else { return nil }
        return headBytes.span.extracting(range).array
    }
}
