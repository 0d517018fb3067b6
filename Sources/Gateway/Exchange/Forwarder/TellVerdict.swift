import AppAttest
import Bytes
import GatewayTokens
import Judgement
import Policy

/// The verdict in the upstream's request head: `X-Attest-Result` and the fields next to it.
extension HeadRewriter {
    func append(_ verdict: borrowing Verdict) throws(Refusal) {
        switch verdict.identity {
        case .unasked: break
        case .unproved(let result):
            upstreamHead.append("X-Attest-Result: ")
            upstreamHead.append(result)
            upstreamHead.append("\r\nX-Attest-Tier: none\r\n")
        case .developer(let name):
            // The result is never `verified`, because no app is behind the token.
            upstreamHead.append("X-Attest-Result: developer\r\n")
            append(verdict.tier)
            upstreamHead.append("X-Attest-Developer: ")
            upstreamHead.append(name)
            upstreamHead.append("\r\n")
        case .foreign(let name):
            // This result is never `verified` either, because Apple has said nothing about the
            // sender.
            upstreamHead.append("X-Attest-Result: foreign\r\n")
            append(verdict.tier)
            upstreamHead.append("X-Attest-Proof: ")
            upstreamHead.append(name)
            upstreamHead.append("\r\n")
        case .device(let environment):
            upstreamHead.append("X-Attest-Result: verified\r\n")
            append(environment)
            append(verdict.tier)
        case .key(let facts):
            append(facts, verdict)
            if let signals = verdict.signals { append(signals, of: verdict) }
            if site.identity != nil { try appendIdentity(facts, verdict) }
        }
    }

    private func append(_ facts: IdentityFacts, _ verdict: borrowing Verdict) {
        upstreamHead.append("X-Attest-Result: verified\r\nX-Attest-Key: ")
        facts.keyID.appendBase64(to: &upstreamHead)
        upstreamHead.append("\r\nX-Attest-App: ")
        upstreamHead.append(facts.appID)
        upstreamHead.append("\r\n")
        append(facts.environment)
        append(verdict.tier)
        if verdict.isOutdated { upstreamHead.append("X-Attest-Outdated: true\r\n") }
        if let metric = facts.riskMetric {
            upstreamHead.append("X-Attest-Risk: ")
            upstreamHead.append(decimal: UInt64(metric))
            upstreamHead.append("\r\n")
        }
        if let version = facts.bundleVersion,
            version.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        {
            upstreamHead.append("X-Attest-Version: ")
            upstreamHead.append(version)
            upstreamHead.append("\r\n")
        }
        if let category = facts.validationCategory {
            upstreamHead.append("X-Attest-Category: ")
            upstreamHead.append(decimal: UInt64(category))
            upstreamHead.append("\r\n")
        }
    }

    private func append(_ environment: AttestEnvironment) {
        upstreamHead.append("X-Attest-Environment: ")
        upstreamHead.append(environment.rawValue)
        upstreamHead.append("\r\n")
    }

    private func append(_ tier: TrustTier) {
        upstreamHead.append("X-Attest-Tier: ")
        upstreamHead.append(tier.name)
        upstreamHead.append("\r\n")
    }
}
