import AppleServices
import Attestation
import Background
import Bytes
import Crypto
import HTTP
import Judgement
import KeyStore
import Settings

extension Refusal {
    /// The refusal if the gateway asks Apple no more questions for now.
    init(_ bound: DeviceBound, retryAfterSeconds: UInt64?) {
        switch bound {
        case .inFlight: self.init(.gatewayBusy, .deviceCheckBusy)
        case .rate: self.init(.rateLimited, .deviceCheckRate)
        case .apple(let label): self.init(.gatewayBusy, .deviceCheck(label: label))
        }
        self.retryAfterSeconds = retryAfterSeconds
    }
}

/// DeviceCheck tokens, which a device without App Attest can send. Each is good for one request.
extension Prover {
    /// Asks whether the token was used before. A sender who has seen a token may send it any number
    /// of times, and must not cost a question to Apple each time.
    func lookUpDeviceToken() throws(Refusal) -> Step {
        guard let isSpent = services.lookUpToken(for: exchange, try deviceTokenID()) else {
            return .wait
        }
        try checkLookup(isSpent)
        return .next
    }

    private func checkLookup(_ isSpent: Bool) throws(Refusal) {
        guard !isSpent else { throw Refusal(.deviceTokenInvalid, .deviceTokenSpent) }
        judge.met(.earlierUse)
    }

    /// Continues with the counter store's answer to ``WorkerServices/lookUpToken(for:_:)``.
    func tokenWasLookedUp(isSpent: Bool) {
        exchange.resume { () throws(Refusal) in
            try satisfyJudgement { () throws(Refusal) in
                try checkLookup(isSpent)
                return .next
            }
        }
    }

    /// Asks Apple, through the control thread, whether the token is from a genuine device with one
    /// of the operator's apps.
    func askApple() throws(Refusal) -> Step {
        try askApple(about: try readDeviceToken().bytes, withBits: false)
    }

    func askApple(about token: [UInt8], withBits: Bool) throws(Refusal) -> Step {
        try services.ask(.judge(withBits: withBits), Base64.encode(token), for: exchange)
        return .wait
    }

    /// Continues with Apple's answer.
    func deviceWasJudged(_ verdict: DeviceVerdict) {
        guard match.endpoint != .attestVerify else {
            return exchange.resume { () throws(Refusal) in
                try endpoints.enrolling { () throws(Refusal) in
                    try endpoints.spendForEnrolment(verdict)
                }
            }
        }
        exchange.resume { () throws(Refusal) in
            try satisfyJudgement { () throws(Refusal) in
                try know(verdict)
                judge.met(.device)
                return .next
            }
        }
    }

    private func deviceTokenID() throws(Refusal) -> Bytes16 {
        guard case .deviceToken(let token) = state.proof, let id = token.id else {
            throw Refusal(.internalFailure, .undecided)
        }
        return id
    }

    /// Decodes the token and derives its id.
    func readDeviceToken() throws(Refusal) -> (id: Bytes16, bytes: [UInt8]) {
        guard case .value(let range) = intake.uniqueField(site.fieldNames.deviceCheck) else {
            throw Refusal(.deviceTokenInvalid, .deviceTokenRepeated)
        }
        let text = headBytes.span.extracting(range)
        guard text.count <= DeviceCheck.tokenByteCountMax, let bytes = Base64.decode(text),
            !bytes.isEmpty
        else { throw Refusal(.deviceTokenInvalid, .deviceTokenMalformed) }
        // The digest is of the decoded bytes, because base64 has several spellings.
        let digest = SHA256.hash(bytes.span)
        let id = Bytes16(word0: digest.word0, word1: digest.word1)
        state.take(.deviceToken(.read(id)))
        return (id, bytes)
    }

    /// Throws unless Apple knows the device as a genuine one.
    ///
    /// - Returns: The token's id.
    @discardableResult
    func know(_ verdict: DeviceVerdict) throws(Refusal) -> Bytes16 {
        switch verdict {
        case .genuine(let environment, let bits):
            let id = try deviceTokenID()
            state.take(.deviceToken(.genuine(id, environment, bits)))
            return id
        case .badToken: throw Refusal(.deviceTokenInvalid, .deviceTokenBad)
        case .unjudged(let label):
            throw Refusal(.storeUnavailable, .deviceCheck(label: label))
        case .busy(let bound, let retryAfterSeconds):
            throw Refusal(bound, retryAfterSeconds: retryAfterSeconds)
        }
    }

    /// Spends the token.
    func spendDeviceToken() throws(Refusal) -> Step {
        guard let verdict = services.spendToken(for: exchange, try deviceTokenID()) else {
            return .wait
        }
        try checkSpending(verdict)
        judge.met(.spending)
        return .next
    }

    /// Continues with the counter store's answer to ``WorkerServices/spendToken(for:_:)``.
    func tokenWasSpent(_ verdict: CounterVerdict) {
        let check = { () throws(Refusal) -> Step in
            try self.checkSpending(verdict)
            judge.met(.spending)
            return .next
        }
        exchange.resume { () throws(Refusal) in
            match.endpoint == .attestVerify
                ? try endpoints.enrolling(check) : try satisfyJudgement(after: check)
        }
    }

    /// Throws if the token was spent before, or could not be spent.
    func checkSpending(_ verdict: CounterVerdict) throws(Refusal) {
        switch verdict {
        case .accepted: return
        case .replayed, .challengeSpent:
            throw Refusal(.deviceTokenInvalid, .deviceTokenSpent)
        case .full: throw Refusal(.gatewayBusy, .countersFull)
        default: throw Refusal(.storeUnavailable, .counters)
        }
    }
}
