import Judgement

/// What proxies asked at check listeners and were not told.
extension StatusInspection {
    /// The calls themselves were at fault, as all are of a proxy that is wrongly configured.
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
                // The lists have room for so many.
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
