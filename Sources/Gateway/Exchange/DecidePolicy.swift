import Bytes
import Crypto
import HTTP
import JSON
import Judgement
import Policy
import Settings
import Telemetry

extension Exchange {
    /// Decides what the route demands, and refuses what needs no body to be refused.
    func decidePolicy() throws(Refusal) -> Step {
        if let report = head.failureReport, match.endpoint != .attestFailure { hear(report) }
        try limitRate()
        // A route that answers whatever comes need not read the body.
        if policy.mode == .off, arrival.question == nil, let step = answerRoute() { return step }
        if case .length(let byteCount) = head.framing, byteCount > UInt64(bodyByteCountMax) {
            throw Refusal(.bodyTooLarge, explanation: "The body is longer than this route allows.")
        }
        if match.endpoint == .assertToken {
            try checkTokenExchange()
        } else if match.endpoint != nil {
            let takesPost = match.endpoint == .attestVerify || match.endpoint == .attestFailure
            if takesPost, head.methodKind != .post {
                throw Refusal(.methodNotAllowed, .endpoint)
            }
            return .next
        }
        guard policy.mode != .off else {
            judgement.pass()
            return .next
        }
        // A bare request is refused before its body is read: an upload costs a stranger's time.
        proof = announcedProof()
        guard let kind = proofFacts.kind else {
            try refuseOrObserve(missingProof)
            return .next
        }
        judgement.begin(kind)
        if kind == .assertion { try expectClientData() }
        return .next
    }

    /// Gets ready for the body: its digest, and in the `body` shape what is to be found in it.
    private func expectClientData() throws(Refusal) {
        guard policy.clientData == .body else {
            intake.hash = SHA256Stream()
            return
        }
        do throws(Refusal) {
            try checkProofHeaders()
            intake.hash = SHA256Stream()
            intake.scan = JSONScanner(bodySearch)
        } catch {
            try refuseOrObserve(error)
        }
    }

    /// The longest body this request may have.
    var bodyByteCountMax: Int {
        if match.endpoint == .attestFailure { return FailureReport.byteCountMax }
        if match.endpoint != nil { return site.settings.endpoints.bodyByteCountMax }
        if own.inquiry != nil { return Self.deviceActionByteCountMax }
        if own.administration != nil { return Self.administrationByteCountMax }
        guard let routeIndex = match.routeIndex else {
            return site.settings.limits.bodyByteCountMax
        }
        return site.settings.routes[routeIndex].bodyByteCountMax
    }

    /// What a header that must not be repeated holds.
    enum UniqueField {
        case absent
        case value(Range32)
        case repeated

        var isAbsent: Bool { if case .absent = self { true } else { false } }
    }

    /// Looks for the one field whose name is in `names`.
    func uniqueField(_ names: FieldNameSet) -> UniqueField {
        var found = UniqueField.absent
        let bytes = headBytes.span
        for field in head.fields where field.known == .other {
            let name = bytes.extracting(field.name)
            guard names.contains(name) else { continue }
            guard found.isAbsent else { return .repeated }
            found = .value(field.value)
        }
        return found
    }
}
