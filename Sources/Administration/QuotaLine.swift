package import JSON
package import Policy

/// A quota as JSON, and in words.
package enum QuotaLine {
    /// Writes the member `quotas`.
    package static func write(_ quotas: [Quota], to writer: inout JSONWriter) {
        writer.beginArray("quotas")
        for quota in quotas {
            writer.beginObject()
            write(quota, to: &writer)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Writes the members of a quota.
    package static func write(_ quota: Quota, to writer: inout JSONWriter) {
        writer.member("quota", string: quota.name)
        writer.member("by", string: quota.subject.rawValue)
        writer.member("per", string: quota.period.unit.rawValue)
        writer.member("limit", int: Int64(quota.limit))
        switch quota.measure {
        case .requests: writer.member("of", string: "requests")
        case .responseBytes: writer.member("of", string: "response_bytes")
        case .json(let pointer):
            writer.beginObject("of")
            writer.member("json", string: pointer.description)
            writer.endObject()
            writer.member("missing", int: Int64(quota.missingCharge))
        }
        writer.member("utc_offset_minutes", int: Int64(quota.period.offsetMinutes))
    }

    /// A summary such as `50000 of /usage/total_tokens per day, by installation`.
    package static func summary(_ quota: Quota) -> String {
        let measure =
            switch quota.measure {
            case .requests: "requests"
            case .responseBytes: "bytes of answers"
            case .json(let pointer): "of \(pointer)"
            }
        return "\(quota.limit) \(measure) per \(quota.period.unit.rawValue), by "
            + quota.subject.rawValue
    }
}
