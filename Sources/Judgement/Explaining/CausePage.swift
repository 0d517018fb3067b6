/// `docs/causes.md`: the table of causes as a page in Markdown.
package enum CausePage {
    package static var text: String {
        introduction
            + CauseTable.sections.map { section in
                "\n## \(section.title)\n\n" + heading + section.explanations.map(row).joined()
            }.joined()
    }

    private static let introduction = """
        # Causes

        Why a request was refused, or passed with a remark: each `reason` and `detail` of
        [the access line](operations/reference.md#the-access-line), its meaning, whose fault it
        most often is, and the remedy. `sallyport explain request ID` prints the same for one
        request. Clients are told the `reason` as `code`, and the rest only with
        [`problem_detail`](settings.md#routes).

        The fault is with the **app** (its code or HTTP library), the **device** (its user, clock,
        network or age), the **operator** (configuration, capacity, certificates), the
        **upstream**, **Apple**, a **store**, a **stranger** (no app of yours, or one that is
        misused), the **gateway** (report it), or with **none** of them. A part that varies stands
        in angle brackets. `sallyport explain causes > docs/causes.md` makes this page.

        """

    private static let heading = """
        | reason | detail | meaning, fault, remedy |
        | --- | --- | --- |

        """

    /// The word for a party that the introduction of the page uses.
    private static func name(_ party: CauseExplanation.Party) -> String {
        switch party {
        case .clientApp: "app"
        case .apple: "Apple"
        case .device, .operator, .upstream, .store, .stranger, .gateway, .none: party.rawValue
        }
    }

    private static func row(_ explanation: CauseExplanation) -> String {
        let cells = [
            explanation.reasons.map { "`\($0.code)`" }.joined(separator: ", "),
            explanation.details.map { "`\($0.text)`" }.joined(separator: ", "),
            "\(explanation.meaning) **\(name(explanation.fault)):** \(explanation.remedy)",
        ]
        return cells.reduce(into: "|") { $0 += $1.isEmpty ? " |" : " \($1) |" } + "\n"
    }
}
