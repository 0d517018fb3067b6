import Attestation
import Bytes
import EventLoop
import HTTP
import Judgement
import Policy

extension Judge {
    /// The request's cohort if the judgement depends on it; otherwise 0.
    var judgedCohort: Int { state.judgement.asksForCohort ? cohort : 0 }

    /// The cohort of the key, or else of the address. It is a hash of the key, which never changes,
    /// so a fault found before the evidence is complete is judged in the same cohort as a later
    /// one.
    private var cohort: Int {
        if let keyID = prover.proofFacts.keyID ?? keyIDBesideAssertion {
            return Rollout.cohort(of: keyID.digest)
        }
        return addressCohort
    }

    /// The key that the header names, if the proof is an assertion.
    private var keyIDBesideAssertion: KeyID? {
        guard prover.proofFacts.kind == .assertion else { return nil }
        return (try? assertions.headerKeyID()) ?? nil
    }

    /// The cohort of the client's address as trusted proxies name it. For IPv6 it is the cohort of
    /// the network, because a household has a whole network.
    var addressCohort: Int {
        let network = intake.origin?.address.ipv6Form?.limitedNetwork
        let bytes = network?.array ?? []
        return Rollout.cohort(ofAddress: bytes.span)
    }

    /// True if a request without a proof looks like one of an app on Apple's systems: it names a
    /// key, or has the user agent that the system writes for apps. The answer is only counted.
    var seemsToBeApp: Bool {
        if !intake.uniqueField(site.fieldNames.keyID).isAbsent { return true }
        let bytes = headBytes.span
        for field in head.fields where field.known == .userAgent {
            if Self.isOfSystem(agent: bytes.extracting(field.value)) { return true }
        }
        return false
    }

    /// True for an agent such as `Example/1 CFNetwork/1490.0.4 Darwin/23.2.0`.
    private static func isOfSystem(agent: Span<UInt8>) -> Bool {
        let agent = agent.extracting(first: agentByteCountMax)
        guard agent.count >= systemAgent.count else { return false }
        for start in 0...(agent.count - systemAgent.count)
        where ASCII.equals(agent.extracting(start..<(start + systemAgent.count)), systemAgent) {
            return true
        }
        return false
    }

    /// The app's name comes before the system's.
    private static let agentByteCountMax = 256
    private static let systemAgent = Array("CFNetwork/".utf8)
}
