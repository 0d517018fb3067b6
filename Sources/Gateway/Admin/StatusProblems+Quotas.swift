import EventLoop
import KeyStore
import Policy

/// Finds quotas that are not counted as they should be, by the bounds of the alarms
/// `SallyportQuotasUncounted` and `SallyportQuotaNumbersMissing`.
extension StatusInspection {
    var quotas: [StatusProblem] {
        let figures = QuotaFigures.all(hub, site, history)
        return uncounted(figures) + unkept + numberless(figures)
    }

    private func uncounted(_ figures: [QuotaFigures]) -> [StatusProblem] {
        let names = figures.filter { $0.lastHour(.unavailable) > 0 }.map(\.quota.name)
        guard !names.isEmpty else { return [] }
        return [
            StatusProblem(
                .warning, .quotasUncounted,
                "Charges to \(names.joined(separator: ", ")) failed in the last hour: the counter "
                    + "store did not answer, or the gateway has no room for more counts.",
                "Look at the counter store; on_store_failure decides what requests get without it.")
        ]
    }

    private var unkept: [StatusProblem] {
        guard let trouble = hub.counters.quotas?.fileState.trouble(at: .now()) else { return [] }
        return [
            StatusProblem(
                .warning, .quotasUncounted,
                "The counts of quotas are in memory alone, and the end of the process would lose "
                    + "them: " + Self.sentence(trouble),
                "Look at the registry's disk, make room on it, and let the gateway write there.")
        ]
    }

    private func numberless(_ figures: [QuotaFigures]) -> [StatusProblem] {
        figures.compactMap { figures in
            let missing = figures.lastHour(.missing)
            let answers = missing + figures.lastHour(.numbered)
            guard Self.isMuch(missing, of: answers, percent: 20) else { return nil }
            return StatusProblem(
                .warning, .quotaNumbersMissing,
                "\(missing) of \(answers) answers had no number for the quota "
                    + "\(figures.quota.name) in the last hour, and cost "
                    + "\(figures.quota.missingCharge) each.",
                "Compare its pointer with an answer; streams may have to be asked for the number.")
        }
    }
}
