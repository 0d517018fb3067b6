import Judgement

/// Finds questions of proxies at check listeners that could not be answered.
extension StatusInspection {
    /// The problem of calls that were themselves at fault, as all calls of a misconfigured proxy
    /// are.
    var questions: [StatusProblem] {
        let details = hub.refusals.flatMap(\.records).compactMap { record -> String? in
            guard record.decision == .refused, record.seconds > now - 3600,
                let detail = record.detail, Self.questionFaults.contains(detail)
            else { return nil }
            return detail
        }
        guard details.count >= Self.questionCountMin else { return [] }
        let kinds = Set(details).sorted().joined(separator: ", ")
        return [
            StatusProblem(
                .warning, .checkRefused,
                // The lists hold only so many.
                "At least \(details.count) questions at check listeners could not be answered in "
                    + "the last hour (\(kinds)).",
                "Compare check.dialect and check.from with the proxy's configuration.")
        ]
    }

    private static let questionFaults: Set<String> = Set(
        [Cause.Check.checkPeer, .checkPath, .checkOwn, .checkHeader, .checkCall, .checkBody]
            .map(\.rawValue))
    /// Fewer questions may come from a person who looks around.
    private static let questionCountMin = 10
}
