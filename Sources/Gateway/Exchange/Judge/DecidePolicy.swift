import Bytes
import Crypto
import HTTP
import JSON
import Judgement
import Policy
import Settings
import Telemetry

extension Judge {
    /// Decides what the route demands, and refuses what can be refused before the body is read.
    func decidePolicy() throws(Refusal) -> Step {
        if let report = head.failureReport, match.endpoint != .attestFailure { intake.hear(report) }
        try limiter.limitRate()
        // A route with an answer of its own need not read the body.
        if policy.mode == .off, checkCall.question == nil, let step = rewriter.answerRoute() {
            return step
        }
        if case .length(let byteCount) = head.framing, byteCount > UInt64(intake.bodyByteCountMax) {
            throw Refusal(.bodyTooLarge, explanation: "The body is longer than this route allows.")
        }
        if match.endpoint == .assertToken {
            try endpoints.checkTokenExchange()
        } else if match.endpoint != nil {
            let takesPost = match.endpoint == .attestVerify || match.endpoint == .attestFailure
            if takesPost, head.methodKind != .post {
                throw Refusal(.methodNotAllowed, .endpoint)
            }
            return .next
        }
        if let rules = match.handling?.bodyRules { intake.expectBody(keeping: rules) }
        guard policy.mode != .off else {
            state.judgement.pass()
            return .next
        }
        // A request without a proof is refused before its body is read, so that a stranger cannot
        // make the gateway take an upload.
        prover.readAnnouncement()
        guard let kind = prover.proofFacts.kind else {
            try refuseOrObserve(prover.missingProof)
            return .next
        }
        state.judgement.begin(kind)
        if kind == .assertion { try expectClientData() }
        return .next
    }

    /// Prepares for the body: its digest and, in the `body` shape, the search for client data.
    private func expectClientData() throws(Refusal) {
        guard policy.clientData == .body else {
            return intake.expectDigest()
        }
        do throws(Refusal) {
            try assertions.checkProofHeaders()
            intake.expectDigest(scanning: JSONScanner(assertions.bodySearch))
        } catch {
            try refuseOrObserve(error)
        }
    }
}
