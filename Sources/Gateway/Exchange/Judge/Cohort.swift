import AppAttest
import Bytes
import EventLoop
import HTTP
import Judgement
import Policy

extension Judge {
    /// The cohort where the judgement depends on it.
    var judgedCohort: Int { judgement.asksForCohort ? cohort : 0 }

    /// What is hashed of a key never changes, nor does its cohort: a fault that is found before the
    /// evidence is whole is judged in the same cohort as any later one.
    private var cohort: Int {
        if let keyID = prover.proofFacts.keyID ?? keyIDBesideAssertion {
            return Rollout.cohort(of: keyID.digest)
        }
        return addressCohort
    }

    /// The key that the header names, where an assertion comes with it.
    private var keyIDBesideAssertion: KeyID? {
        guard prover.proofFacts.kind == .assertion else { return nil }
        return (try? assertions.headerKeyID()) ?? nil
    }

    /// The cohort of the client as trusted proxies name it; for IPv6 that of its network, which a
    /// household has.
    var addressCohort: Int {
        let network = intake.origin?.address.ipv6Form?.limitedNetwork
        let bytes = network?.array ?? []
        return Rollout.cohort(ofAddress: bytes.span)
    }

    /// Whether a request without a proof has the looks of an app on Apple's systems: it names a
    /// key, or its agent is the one that the system writes for apps. Only ever counted.
    var seemsToBeApp: Bool {
        if !intake.uniqueField(site.fieldNames.keyID).isAbsent { return true }
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
