import AppAttest
import Bytes
import Crypto
import EventLoop
import HTTP
import JSON
import Policy
import Settings

extension Exchange {
    /// Decides what the route demands, and refuses what needs no body to be refused.
    func decidePolicy() throws(Refusal) -> Step {
        try limitRate()
        // A route that answers whatever comes need not read the body.
        if policy.mode == .off, let step = answerRoute() { return step }
        if case .length(let byteCount) = head.framing, byteCount > UInt64(bodyByteCountMax) {
            throw Refusal(.bodyTooLarge, explanation: "The body is longer than this route takes.")
        }
        if endpoint == .assertToken {
            try checkTokenExchange()
        } else if endpoint != nil {
            if endpoint == .attestVerify, head.methodKind != .post {
                throw Refusal(.methodNotAllowed, .endpoint)
            }
            return .next
        }
        guard policy.mode != .off else {
            decision = .passed
            return .next
        }
        // A bare request is refused before its body is read: an upload costs a stranger's time.
        if policy.accept.contains(.assertion), !uniqueField(site.fieldNames.assertion).isAbsent {
            try expectClientData()
        } else if !policy.accept.isDisjoint(with: [.token, .developer]),
            !uniqueField(site.fieldNames.token).isAbsent
        {
            bringsToken = true
        } else if policy.accept.contains(.deviceCheck),
            !uniqueField(site.fieldNames.deviceCheck).isAbsent
        {
            device = DeviceProof()
        } else {
            let accepts = policy.accept
            try refuseOrObserve(
                accepts.contains(.assertion)
                    ? Refusal(.assertionRequired)
                    : Refusal(
                        accepts.isDisjoint(with: [.token, .developer])
                            ? .deviceTokenInvalid : .tokenInvalid,
                        .tokenMissing))
        }
        return .next
    }

    /// Gets ready for the body: its digest, and in the `body` shape what is to be found in it.
    private func expectClientData() throws(Refusal) {
        guard policy.clientData == .body else {
            bodyHash = SHA256Stream()
            return
        }
        do throws(Refusal) {
            try checkProofHeaders()
            bodyHash = SHA256Stream()
            bodyScan = JSONScanner(bodySearch)
        } catch {
            try refuseOrObserve(error)
        }
    }

    /// The longest body this request may have.
    var bodyByteCountMax: Int {
        if endpoint != nil { return site.settings.endpoints.bodyByteCountMax }
        if inquiry != nil { return Self.deviceActionByteCountMax }
        guard let routeIndex else { return site.settings.limits.bodyByteCountMax }
        return site.settings.routes[routeIndex].bodyByteCountMax
    }

    /// Throws where the route enforces and does not let such requests pass; otherwise notes what
    /// is wrong with it.
    func refuseOrObserve(_ found: Refusal) throws(Refusal) {
        let refusal = refusalInRollout(found)
        if !isBeyondShortfall { bucket = bucket(of: refusal) }
        if isOnlyObserved {
            decision = .observed
            reason = refusal.reason
            cause = refusal.cause
        } else if policy.onStoreFailure == .tokensOnly, found.reason == .storeUnavailable,
            let token
        {
            return try acceptUnrevoked(token)
        } else {
            try tolerate(refusal)
        }
        verified = nil
        tier = .none
        isOutdated = false
    }

    /// Nothing is refused: what is wrong is noted.
    var isOnlyObserved: Bool { policy.mode == .observe || !isInRollout }

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
