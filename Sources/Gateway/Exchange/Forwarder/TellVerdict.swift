import Attestation
import Bytes
import GatewayTokens
import Judgement
import KeyStore
import Policy

/// The verdict in the upstream's request head: `X-Attest-Result` and the fields next to it.
extension HeadRewriter {
    func append(_ verdict: borrowing Verdict) throws(Refusal) {
        switch verdict.identity {
        case .unasked: break
        case .unproved(let result):
            state.upstreamHead.append("X-Attest-Result: ")
            state.upstreamHead.append(result)
            state.upstreamHead.append("\r\nX-Attest-Tier: none\r\n")
        case .developer(let name):
            // The result is never `verified`, because no app is behind the token.
            state.upstreamHead.append("X-Attest-Result: developer\r\n")
            append(verdict.tier)
            state.upstreamHead.append("X-Attest-Developer: ")
            state.upstreamHead.append(name)
            state.upstreamHead.append("\r\n")
        case .foreign(let name):
            // This result is never `verified` either, because Apple has said nothing about the
            // sender.
            state.upstreamHead.append("X-Attest-Result: foreign\r\n")
            append(verdict.tier)
            state.upstreamHead.append("X-Attest-Proof: ")
            state.upstreamHead.append(name)
            state.upstreamHead.append("\r\n")
        case .device(let environment):
            // Device tokens are DeviceCheck's.
            state.upstreamHead.append(
                "X-Attest-Result: verified\r\nX-Attest-Platform: apple\r\n")
            append(environment)
            append(verdict.tier)
        case .key(let facts):
            append(facts, verdict)
            if let signals = verdict.signals { append(signals, of: verdict) }
            if site.identity != nil { try appendIdentity(facts, verdict) }
        }
    }

    private func append(_ facts: IdentityFacts, _ verdict: borrowing Verdict) {
        state.upstreamHead.append("X-Attest-Result: verified\r\nX-Attest-Key: ")
        facts.keyID.appendBase64(to: &state.upstreamHead)
        state.upstreamHead.append("\r\nX-Attest-Installation: ")
        facts.installation.append(to: &state.upstreamHead)
        state.upstreamHead.append("\r\nX-Attest-App: ")
        state.upstreamHead.append(facts.appID)
        state.upstreamHead.append("\r\nX-Attest-Platform: ")
        state.upstreamHead.append(facts.platform.text)
        state.upstreamHead.append("\r\n")
        if let level = facts.securityLevel {
            state.upstreamHead.append("X-Attest-Security-Level: ")
            state.upstreamHead.append(level.rawValue)
            state.upstreamHead.append("\r\n")
        }
        append(facts.environment)
        append(verdict.tier)
        if verdict.isOutdated { state.upstreamHead.append("X-Attest-Outdated: true\r\n") }
        if let metric = facts.riskMetric {
            state.upstreamHead.append("X-Attest-Risk: ")
            state.upstreamHead.append(decimal: UInt64(metric))
            state.upstreamHead.append("\r\n")
        }
        if let version = facts.bundleVersion,
            version.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        {
            state.upstreamHead.append("X-Attest-Version: ")
            state.upstreamHead.append(version)
            state.upstreamHead.append("\r\n")
        }
        if let category = facts.validationCategory {
            state.upstreamHead.append("X-Attest-Category: ")
            state.upstreamHead.append(decimal: UInt64(category))
            state.upstreamHead.append("\r\n")
        }
    }

    private func append(_ environment: AttestEnvironment) {
        state.upstreamHead.append("X-Attest-Environment: ")
        state.upstreamHead.append(environment.rawValue)
        state.upstreamHead.append("\r\n")
    }

    private func append(_ tier: TrustTier) {
        state.upstreamHead.append("X-Attest-Tier: ")
        state.upstreamHead.append(tier.name)
        state.upstreamHead.append("\r\n")
    }
}
