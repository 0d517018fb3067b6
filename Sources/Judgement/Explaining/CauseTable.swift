/// Every explanation, in the sections of `docs/causes.md`.
package enum CauseTable {
    package struct Section: Sendable {
        package let title: String
        package let explanations: [CauseExplanation]

        init(_ title: String, _ explanations: [CauseExplanation]) {
            self.title = title
            self.explanations = explanations
        }
    }

    package static let sections = [
        Section("Assertions", ProofCauses.assertions),
        Section("Challenges and counters", ProofCauses.challenges),
        Section("Keys and what a route demands", ProofCauses.demands),
        Section("Enrolment", EnrolmentCauses.enrolment),
        Section("Enrolment of Android keys", AndroidCauses.enrolment),
        Section("Session and developer tokens", EnrolmentCauses.tokens),
        Section("Tokens of other issuers", ForeignCauses.proofs),
        Section("DeviceCheck", DeviceCauses.deviceCheck),
        Section("Limits and signals", DeviceCauses.limits),
        Section("Stores", StoreCauses.stores),
        Section("Upstreams", StoreCauses.upstreams),
        Section("Requests and connections", RequestCauses.requests),
        Section("Questions of a proxy", QuestionCauses.questions),
        Section("HTTP messages", MessageCauses.messages),
        Section("Paths", MessageCauses.paths),
        Section("Reasons without a detail", RequestCauses.reasons),
    ]

    /// The explanations by detail and by reason.
    static let index = Index(sections.flatMap(\.explanations))

    struct Index: Sendable {
        private let byWord: [String: [CauseExplanation]]
        private let varying: [(pattern: CausePattern, explanation: CauseExplanation)]
        let byReason: [String: CauseExplanation]

        init(_ explanations: [CauseExplanation]) {
            var byWord: [String: [CauseExplanation]] = [:]
            var varying: [(pattern: CausePattern, explanation: CauseExplanation)] = []
            var byReason: [String: CauseExplanation] = [:]
            for explanation in explanations {
                for pattern in explanation.details {
                    if pattern.isWord {
                        byWord[pattern.text, default: []].append(explanation)
                    } else {
                        varying.append((pattern, explanation))
                    }
                }
                guard explanation.details.isEmpty else { continue }
                for reason in explanation.reasons {
                    byReason[reason.code.description] = explanation
                }
            }
            self.byWord = byWord
            self.varying = varying
            self.byReason = byReason
        }

        /// The explanations of a detail with any reason. The closest form comes first, because the
        /// table has them in that order.
        func explanations(of detail: String) -> [CauseExplanation] {
            byWord[detail]
                ?? varying.filter { $0.pattern.matches(detail) }.map(\.explanation)
        }
    }
}
