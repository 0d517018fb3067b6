import Bytes
import KeyStore
import Policy

/// Tells clients and upstreams what is left of quotas.
extension Accountant {
    /// `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers) for the client,
    /// with a member for each quota that the store has told the use of. Empty if there is none.
    var fields: [(name: StaticString, value: [UInt8])] {
        guard let use, use.entries.contains(where: { $0.used != nil }) else { return [] }
        var policies = ByteBuffer(capacity: 64)
        var limits = ByteBuffer(capacity: 64)
        for (quota, entry) in zip(use.quotas.quotas, use.entries) {
            guard let used = entry.used else { continue }
            let period = entry.count.period
            Self.begin(quota, &policies)
            policies.append(";q=")
            policies.append(decimal: UInt64(quota.limit))
            policies.append(";w=")
            policies.append(decimal: UInt64(period.count / 1000))
            Self.begin(quota, &limits)
            limits.append(";r=")
            limits.append(decimal: Self.remaining(quota, used))
            limits.append(";t=")
            limits.append(decimal: UInt64(secondsLeft(of: entry.count)))
        }
        return [
            ("RateLimit-Policy", policies.readable.array), ("RateLimit", limits.readable.array),
        ]
    }

    /// Begins a member with the quota's name, which has no characters to escape.
    private static func begin(_ quota: Quota, _ output: inout ByteBuffer) {
        output.append(output.isEmpty ? "\"" : ", \"")
        output.append(quota.name)
        output.append("\"")
    }

    fileprivate static func remaining(_ quota: Quota, _ used: Int) -> UInt64 {
        // What was given back to an unused count is not told: fields hold 15 digits.
        UInt64(max(0, quota.limit - max(0, used)))
    }

    /// The whole seconds until the count's period ends, rounded up.
    func secondsLeft(of count: QuotaCount) -> Int64 {
        max(0, count.period.upperBound - services.wallMilliseconds + 999) / 1000
    }

    /// An answer of the gateway's own, with ``fields``.
    func tellQuotas(in response: LocalResponse) -> LocalResponse {
        guard use != nil else { return response }
        var told = response
        told.fields += fields
        return told
    }

    /// True for the name of a field that ``fields`` has.
    static func isField(_ name: [UInt8]) -> Bool {
        fieldNames.contains { ASCII.equalsIgnoringCase(name.span, lowercase: $0) }
    }

    private static let fieldNames = ["ratelimit-policy", "ratelimit"].map { Array($0.utf8) }
}

extension HeadRewriter {
    /// Appends what is left of each quota, if the route tells its upstream.
    func appendQuotas() {
        guard let use = exchange.quotaUse else { return }
        for (name, (quota, entry)) in zip(
            use.quotas.remainingNames, zip(use.quotas.quotas, use.entries))
        {
            guard let used = entry.used else { continue }
            state.upstreamHead.append(name)
            state.upstreamHead.append(": ")
            state.upstreamHead.append(decimal: Accountant.remaining(quota, used))
            state.upstreamHead.append("\r\n")
        }
    }
}
