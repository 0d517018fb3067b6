import Attestation
import Bytes
import KeyStore
import Policy

/// The subjects of quotas, by the pseudonyms that the request path and the admin API share.
extension Site {
    /// The network of an address in IPv6 form.
    func quotaSubject(ofAddress address: Bytes16) -> QuotaSubject {
        .network(pseudonyms.pseudonym(ofSignal: "quota", address.limitedNetwork.array))
    }

    func quotaSubject(ofUser name: Span<UInt8>) -> QuotaSubject {
        .user(pseudonyms.pseudonym(ofUser: name))
    }
}

extension Quota {
    /// What `subject` uses of this quota in the period around a time, in milliseconds since
    /// 1970-01-01T00:00:00Z.
    func count(of subject: QuotaSubject, around wallMilliseconds: Int64) -> QuotaCount {
        QuotaCount(
            name: subject.countName(
                ofQuota: name, per: period.unit.rawValue, of: measure.countText),
            period: period.range(around: wallMilliseconds))
    }
}

extension Quota.Measure {
    /// The words for this measure in names of counts, which outlast an upgrade only if these stay
    /// as they are.
    fileprivate var countText: String {
        switch self {
        case .requests: "requests"
        case .responseBytes: "response_bytes"
        case .json(let pointer): "json \(pointer)"
        }
    }
}
