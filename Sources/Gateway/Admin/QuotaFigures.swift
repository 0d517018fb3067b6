import Policy
import Settings

/// What was counted about a quota, for the status page and its document.
struct QuotaFigures {
    let quota: Quota
    /// The counts since the start, and those of the last hour, by column.
    private let total: [UInt64]
    private let hour: [UInt64]

    /// The quotas of the configuration, in its order.
    static func all(_ document: StatusDocument) -> [QuotaFigures] {
        all(document.hub, document.site, document.history)
    }

    static func all(_ hub: Hub, _ site: Site, _ history: StatusHistory) -> [QuotaFigures] {
        site.settings.quotas.map { quota in
            QuotaFigures(
                quota: quota, total: counters(of: quota.name, hub),
                hour: history.quotas.sums(quota.name, .hour, at: history.minute))
        }
    }

    /// The counts of a quota since the start, by column.
    static func counters(of quota: String, _ hub: Hub) -> [UInt64] {
        StatusHistory.QuotaColumn.allCases.map { column in
            switch column {
            case .charged: hub.charged(of: quota)
            case .exhausted: hub.value(.exhausted, of: quota)
            case .missing: hub.value(.missing, of: quota)
            case .numbered: hub.value(.numbered, of: quota)
            case .unavailable: hub.value(.unavailable, of: quota)
            }
        }
    }

    func sinceStart(_ column: StatusHistory.QuotaColumn) -> UInt64 { total[column.rawValue] }

    func lastHour(_ column: StatusHistory.QuotaColumn) -> UInt64 {
        hour.isEmpty ? 0 : hour[column.rawValue]
    }
}

/// The counts of all workers about a quota.
extension Hub {
    func charged(of quota: String) -> UInt64 {
        meters.reduce(0) { $0 &+ $1.quotas.charged(of: quota) }
    }

    func value(_ event: QuotaMeter.Event, of quota: String) -> UInt64 {
        meters.reduce(0) { $0 &+ $1.quotas.value(event, of: quota) }
    }
}
