import AppAttest
import Bytes
import EventLoop
import HTTP
import Policy

extension Exchange {
    /// Whether the rollout has reached the cohort of this key (of this address, without a key).
    /// Where nobody knows how far it has come, it has.
    var isInRollout: Bool {
        guard let percent = rolloutPercent, percent < 100 else { return true }
        return Rollout.includes(cohort: cohort, percent: percent)
    }

    /// `refusal`, or that the registry has not said yet whether this cohort is refused: the same as
    /// any other question that a store did not answer. A bound holds for every cohort.
    func refusalInRollout(_ refusal: Refusal) -> Refusal {
        guard policy.mode == .enforce, rolloutPercent == nil, !refusal.reason.isBound else {
            return refusal
        }
        return Refusal(.storeUnavailable, .rollout)
    }

    /// What is hashed of a key never changes, nor does its cohort.
    var cohort: Int {
        if let keyID = claimedKeyID { return Rollout.cohort(of: keyID.digest) }
        return addressCohort
    }

    /// Of the client as trusted proxies name it; of IPv6 its network, which a household has.
    var addressCohort: Int {
        let network = origin?.address.ipv6Form?.limitedNetwork
        let bytes = network?.array ?? []
        return Rollout.cohort(ofAddress: bytes.span)
    }

    // MARK: counting

    /// On which side of the rollout it was judged.
    var rolloutSide: RolloutSide {
        if policy.mode == .observe || decision == .observed { return .observed }
        return isInRollout ? .enforced : .observed
    }

    /// What the request amounts to; nil where its route asks for no proof, or nobody looked at it.
    var requestBucket: RequestBucket? {
        guard routeIndex != nil, policy.mode != .off else { return nil }
        if decision == .verified { return .verified }
        if let bucket { return bucket }
        if let bucket = bucket(of: Refusal(reason, cause)) { return bucket }
        // What became of it later is not its proof's fault.
        return verified != nil || token != nil ? .verified : nil
    }

    /// What its proof was worth, also where that was not enough.
    var provedTier: TrustTier {
        guard tier == .none else { return tier }
        return switch Refusal(reason, cause).shortfall {
        case .missing, .invalid, .unjudged: .none
        case .lowerTier, nil: worth
        }
    }

    func bucket(of refusal: Refusal) -> RequestBucket? {
        RequestBucket(
            refusal, seemsToBeApp: refusal.shortfall == .missing && seemsToBeApp)
    }

    /// Whether it was refused for what its proof is worth, also by the limit for such requests.
    var isRefusedByProof: Bool {
        guard decision == .refused else { return false }
        return isBeyondShortfall || bucket(of: Refusal(reason, cause)) != nil
    }

    /// Whether a request without a proof has the looks of an app on Apple's systems: it names a
    /// key, or its agent is the one that the system writes for apps. Only ever counted.
    private var seemsToBeApp: Bool {
        if !uniqueField(site.fieldNames.keyID).isAbsent { return true }
        let bytes = headBytes.span
        for field in head.fields where field.known == .userAgent {
            if Self.isOfSystem(agent: bytes.extracting(field.value)) { return true }
        }
        return false
    }

    /// `Example/1 CFNetwork/1490.0.4 Darwin/23.2.0`.
    private static func isOfSystem(agent: Span<UInt8>) -> Bool {
        let agent = agent.extracting(first: agentByteCountMax)
        guard agent.count >= systemAgent.count else { return false }
        for start in 0...(agent.count - systemAgent.count)
        where ASCII.equals(agent.extracting(start..<(start + systemAgent.count)), systemAgent) {
            return true
        }
        return false
    }

    /// The name of the app comes before it.
    private static let agentByteCountMax = 256
    private static let systemAgent = Array("CFNetwork/".utf8)
}
