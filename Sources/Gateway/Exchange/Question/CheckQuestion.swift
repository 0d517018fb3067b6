import Bytes
import HTTP
import Judgement
import Policy
import Settings

/// A proxy's question about a request.
struct CheckQuestion {
    enum Body: Equatable {
        /// The request has no body, or the call has all of it.
        case shown
        /// The request has a body or may have one, and the call has at most a part of it.
        case hidden
        /// The body is hidden, and the route leaves the comparison to the upstream.
        case claimed
        /// The body is hidden, and the proxy has sent its SHA-256.
        case hashed(Bytes32)
    }

    /// The form of the answer.
    enum Form {
        /// The answer to an HTTP call, as it is.
        case asItIs
        /// A JSON object in the body of the answer to the call.
        case inJSON
        /// A message that the sink writes.
        case inMessages
    }

    var body: Body
    var form = Form.asItIs
    /// True if the answer is that the request may pass.
    var isAllowed = false
    /// True if the proxy's own call was a HEAD.
    let isHead: Bool
    /// The digest of the body that the app signed. The gateway has not compared it with the body.
    var signedDigest: Bytes32?

    init(body: Body, isHead: Bool) {
        self.body = body
        self.isHead = isHead
    }
}

extension CheckCall {
    /// True if the answer must not have a body. That depends on the method of the call, which is
    /// the proxy's if a proxy asks.
    var isAnswerBodiless: Bool { state.question?.isHead ?? (head.methodKind == .head) }

    /// Notes the digest that the app has signed of a body which was not compared.
    func noteSigned(_ digest: Bytes32) { state.question?.signedDigest = digest }

    /// Takes what the proxy says about a body that the call does not have.
    func takeWord(for body: CheckQuestion.Body) throws(Refusal) {
        switch body {
        case .shown, .claimed: break
        case .hidden: try expectNoBody()
        // Client data that is the body cannot be read from its digest.
        case .hashed(let digest) where policy.clientData == .header: intake.take(digest)
        case .hashed: try expectNoBody()
        }
    }

    /// Refuses an assertion whose body is hidden, unless the route leaves the comparison to the
    /// upstream. Other proofs do not cover the body.
    private func expectNoBody() throws(Refusal) {
        guard prover.proofFacts.kind == .assertion else { return }
        if policy.body == .claimed, policy.clientData == .header {
            state.question?.body = .claimed
            return
        }
        try judge.refuseOrObserve(
            Refusal(
                .bodyUnavailable, .bodyHidden,
                explanation: """
                    The proxy in front does not show the body that was signed, or does not say \
                    that there is none, as it can if the request has Content-Length: 0.
                    """))
    }

    /// Answers that the request may pass, with the fields that its upstream is to get.
    func allow(
        _ question: CheckQuestion, _ verdict: borrowing Verdict
    ) throws(Refusal) -> Step {
        if let step = try answerOfRoute() { return step }
        try rewriter.append(verdict)
        if match.handling?.quotas != nil { rewriter.appendQuotas() }
        if judge.state.judgement.tier == .attested {
            switch question.body {
            case .shown, .hashed: rewriter.state.upstreamHead.append("X-Attest-Body: verified\r\n")
            case .claimed:
                rewriter.state.upstreamHead.append("X-Attest-Body: claimed\r\n")
                if let digest = question.signedDigest {
                    rewriter.state.upstreamHead.append("X-Attest-Body-SHA256: ")
                    rewriter.state.upstreamHead.append(Base64.encodeBytes(digest.array))
                    rewriter.state.upstreamHead.append("\r\n")
                }
            // The request was only observed, so the answer says nothing about the body.
            case .hidden: break
            }
        }
        var response = LocalResponse(status: 200)
        let head = rewriter.state
        response.verdict = Self.fields(head.upstreamHead.readable.array)
        if client.listener.settings.check?.dialect == .envoy {
            let removed = namesForEnvoyToRemove(besides: response.verdict.map(\.name))
            response.fields.append(
                ("X-Envoy-Auth-Headers-To-Remove", Array(removed.joined(separator: [0x2C]))))
        }
        state.question?.isAllowed = true
        return exchange.answer(response)
    }

    /// The answer of a route that has no upstream. Allowing the request would send it to the server
    /// that the proxy has there. A proxy cannot relay a successful answer, so the gateway refuses
    /// instead.
    private func answerOfRoute() throws(Refusal) -> Step? {
        guard let answer = match.handling?.answer else { return nil }
        if case .respond(let fixed) = answer, fixed.status < 300 {
            throw Refusal(
                .notFound, .checkOwn,
                explanation: "The route responds by itself, and forwards nothing.")
        }
        return rewriter.answerRoute()
    }

    private static func fields(_ lines: [UInt8]) -> [(name: [UInt8], value: [UInt8])] {
        lines.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == 0x20 }
            return (Array(line[..<colon]), Array(value.dropLast()))
        }
    }
}
