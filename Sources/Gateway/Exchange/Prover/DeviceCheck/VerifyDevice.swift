import AppAttest
import AppleServices
import Background
import Bytes
import Crypto
import HTTP
import Judgement
import KeyStore
import Settings

extension Refusal {
    /// Questions about devices are held back.
    init(_ bound: DeviceBound, retryAfterSeconds: UInt64?) {
        switch bound {
        case .inFlight: self.init(.gatewayBusy, .deviceCheckBusy)
        case .rate: self.init(.rateLimited, .deviceCheckRate)
        case .apple(let label): self.init(.gatewayBusy, .deviceCheck(label: label))
        }
        self.retryAfterSeconds = retryAfterSeconds
    }
}

/// Tokens of DeviceCheck: what a device without App Attest can show. One is good for one request.
extension Prover {
    /// Asks whether the token was shown before: whoever has seen one may send it as often as he
    /// likes, and that is not Apple's time.
    func lookUpDeviceToken() throws(Refusal) -> Step {
        guard let isSpent = worker.lookUpToken(for: exchange, try deviceTokenID()) else {
            return .wait
        }
        try checkLookup(isSpent)
        return .next
    }

    private func checkLookup(_ isSpent: Bool) throws(Refusal) {
        guard !isSpent else { throw Refusal(.deviceTokenInvalid, .deviceTokenSpent) }
        judge.met(.earlierUse)
    }

    /// The counter store's answer to ``Worker/lookUpToken(for:_:)``.
    func tokenWasLookedUp(isSpent: Bool) {
        exchange.resume { () throws(Refusal) in
            try satisfyJudgement { () throws(Refusal) in
                try checkLookup(isSpent)
                return .next
            }
        }
    }

    /// Asks Apple, through the control thread, whether the token is of a genuine device of ours.
    func askApple() throws(Refusal) -> Step {
        try askApple(about: try readDeviceToken().bytes, withBits: false)
    }

    func askApple(about token: [UInt8], withBits: Bool) throws(Refusal) -> Step {
        try worker.ask(.judge(withBits: withBits), Base64.encode(token), for: exchange)
        return .wait
    }

    /// Apple's answer to that.
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
        guard case .deviceToken(let token) = proof, let id = token.id else {
            throw Refusal(.internalFailure, .undecided)
        }
        return id
    }

    /// Decodes the token, by which it is remembered.
    func readDeviceToken() throws(Refusal) -> (id: Bytes16, bytes: [UInt8]) {
        guard case .value(let range) = intake.uniqueField(site.fieldNames.deviceCheck) else {
            throw Refusal(.deviceTokenInvalid, .deviceTokenRepeated)
        }
        let text = headBytes.span.extracting(range)
        guard text.count <= DeviceCheck.tokenByteCountMax, let bytes = Base64.decode(text),
            !bytes.isEmpty
        else { throw Refusal(.deviceTokenInvalid, .deviceTokenMalformed) }
        // Of what it stands for: base64 has several spellings.
        let digest = SHA256.hash(bytes.span)
        let id = Bytes16(word0: digest.word0, word1: digest.word1)
        proof = .deviceToken(.read(id))
        return (id, bytes)
    }

    /// Throws for a device that is not known as a genuine one.
    ///
    /// - Returns: the token's id.
    @discardableResult
    func know(_ verdict: DeviceVerdict) throws(Refusal) -> Bytes16 {
        switch verdict {
        case .genuine(let environment, let bits):
            let id = try deviceTokenID()
            proof = .deviceToken(.genuine(id, environment, bits))
            return id
        case .badToken: throw Refusal(.deviceTokenInvalid, .deviceTokenBad)
        case .unjudged(let label):
            throw Refusal(.storeUnavailable, .deviceCheck(label: label))
        case .busy(let bound, let retryAfterSeconds):
            throw Refusal(bound, retryAfterSeconds: retryAfterSeconds)
        }
    }

    /// Accepts the token, once and for good.
    func spendDeviceToken() throws(Refusal) -> Step {
        guard let verdict = worker.spendToken(for: exchange, try deviceTokenID()) else {
            return .wait
        }
        try checkSpending(verdict)
        judge.met(.spending)
        return .next
    }

    /// The counter store's answer to ``Worker/spendToken(for:_:)``.
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

    /// Throws where it was spent before.
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
