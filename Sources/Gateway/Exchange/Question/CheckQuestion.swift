import Bytes
import HTTP
import Judgement
import Policy
import Settings

/// What a proxy has shown of the request that it asks about.
struct CheckQuestion {
    enum Body: Equatable {
        /// There is none, or all of it is here.
        case shown
        /// There is one, or there may be, and none or only a part of it is here.
        case hidden
        /// It is hidden, and its route leaves the comparison to the upstream.
        case claimed
        /// It is hidden, and whoever asks has hashed it.
        case hashed(Bytes32)
    }

    /// How the answer is told.
    enum Form {
        /// As that of an HTTP call.
        case asItIs
        /// As an object in the body of one.
        case inJSON
        /// In messages, which its sink writes.
        case inMessages
    }

    var body: Body
    var form = Form.asItIs
    /// The answer is that the request may pass.
    var isAllowed = false
    /// The proxy's own call was a HEAD.
    let isHead: Bool
    /// The digest of the body that the app has signed and nobody here has compared.
    var signedDigest: Bytes32?

    init(body: Body, isHead: Bool) {
        self.body = body
        self.isHead = isHead
    }
}

extension CheckCall {
    /// Whether the answer must not have a body: by the method of whoever called, which is a proxy
    /// where one asks about a request.
    var isAnswerBodiless: Bool { question?.isHead ?? (head.methodKind == .head) }

    /// Takes what the proxy has said in place of the body, where it shows none.
    func takeWord(for body: CheckQuestion.Body) throws(Refusal) {
        switch body {
        case .shown, .claimed: break
        case .hidden: try expectNoBody()
        // Client data in a body cannot be read from its digest.
        case .hashed(let digest) where policy.clientData == .header: intake.take(digest)
        case .hashed: try expectNoBody()
        }
    }

    /// The body is hidden. No assertion can be checked without it, unless the route leaves that to
    /// the upstream; other proofs do not cover it.
    private func expectNoBody() throws(Refusal) {
        guard prover.proofFacts.kind == .assertion else { return }
        if policy.body == .claimed, policy.clientData == .header {
            question?.body = .claimed
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

    /// Answers that the request may pass, with what its upstream is to be told.
    func allow(
        _ question: CheckQuestion, _ verdict: borrowing Verdict
    ) throws(Refusal) -> Step {
        if let step = try answerOfRoute() { return step }
        try rewriter.append(verdict)
        if judge.judgement.tier == .attested {
            switch question.body {
            case .shown, .hashed: rewriter.upstreamHead.append("X-Attest-Body: verified\r\n")
            case .claimed:
                rewriter.upstreamHead.append("X-Attest-Body: claimed\r\n")
                if let digest = question.signedDigest {
                    rewriter.upstreamHead.append("X-Attest-Body-SHA256: ")
                    rewriter.upstreamHead.append(Base64.encodeBytes(digest.array))
                    rewriter.upstreamHead.append("\r\n")
                }
            // Only observed: nothing is said of what was not looked at.
            case .hidden: break
            }
        }
        var response = LocalResponse(status: 200)
        response.verdict = Self.fields(rewriter.upstreamHead.readable)
        if client.listener.settings.check?.dialect == .envoy {
            let removed = namesForEnvoyToRemove(besides: response.verdict.map(\.name))
            response.fields.append(
                ("X-Envoy-Auth-Headers-To-Remove", Array(removed.joined(separator: [0x2C]))))
        }
        self.question?.isAllowed = true
        return exchange.answer(response)
    }

    /// The answer of a route that has no upstream: to allow would send the request to whatever the
    /// proxy has in its place. Nobody can hand on a good answer, so that is refused.
    private func answerOfRoute() throws(Refusal) -> Step? {
        guard let answer = match.handling?.answer else { return nil }
        if case .respond(let fixed) = answer, fixed.status < 300 {
            throw Refusal(
                .notFound, .checkOwn,
                explanation: "The route responds by itself, and forwards nothing.")
        }
        return rewriter.answerRoute()
    }

    private static func fields(
        _ lines: Span<UInt8>
    ) -> [(name: [UInt8], value: [UInt8])] {
        lines.array.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == 0x20 }
            return (Array(line[..<colon]), Array(value.dropLast()))
        }
    }
}
