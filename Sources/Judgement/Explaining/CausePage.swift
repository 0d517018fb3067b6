/// `docs/causes.md`: the table of causes as a page in Markdown.
package enum CausePage {
    package static var text: String {
        introduction + parties
            + CauseTable.sections.map { section in
                "\n## \(section.title)\n\n" + heading + section.explanations.map(row).joined()
            }.joined()
    }

    private static let introduction = """
        # Causes

        Why a request was refused, or passed with a remark: what each `reason` and `detail` of
        [the access line](operations/reference.md#the-access-line) means, whose fault it is, and
        what to do. `sallyport explain request ID` prints the same for one request. Clients are
        told the `reason` as `code`, and the rest only where [`problem_detail`](settings.md#routes)
        is on.

        This page is made from the program's table by `sallyport explain causes > docs/causes.md`.
        A part that varies stands in angle brackets.


        """

    /// The words of the column *fault*, with what they stand for.
    private static let parties = """
        Whose fault it is most often:

        | fault | who |
        | --- | --- |
        | the client app | the app's code, or the library through which it speaks HTTP |
        | the app's user or device | the device, its clock, its network, its age |
        | the operator | whoever runs the gateway: configuration, capacity, certificates |
        | the upstream | the API behind the gateway, or the way to it |
        | Apple | Apple's services |
        | a store | registry or counter store, or the way to it |
        | a stranger | somebody who is no app of yours, or makes one do what it should not |
        | the gateway | its own program: report it |
        | nobody | nothing is wrong |

        """

    private static let heading = """
        | reason | detail | meaning | fault | remedy |
        | --- | --- | --- | --- | --- |

        """

    private static func row(_ explanation: CauseExplanation) -> String {
        let cells = [
            explanation.reasons.map { "`\($0.code)`" }.joined(separator: ", "),
            explanation.details.map { "`\($0.text)`" }.joined(separator: ", "),
            explanation.meaning, explanation.fault.words, explanation.remedy,
        ]
        return cells.reduce(into: "|") { $0 += $1.isEmpty ? " |" : " \($1) |" } + "\n"
    }
}
