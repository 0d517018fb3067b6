/// What a cause means, whose fault it is, and what to do about it.
///
/// Each is declared once, in a ``CauseTable``, and is found by the `reason` and the `detail` of an
/// access line. The status page, commands, problem documents and `docs/causes.md` show the same
/// words.
package struct CauseExplanation: Sendable, Equatable {
    /// The party that is most often at fault, and that the remedy is for.
    package enum Party: String, CaseIterable, Sendable {
        /// The app's code, or the library through which it speaks HTTP.
        case clientApp = "client_app"
        /// The app's user: the device, its clock, its network, its age.
        case device
        /// The operator of the gateway: configuration, capacity, certificates.
        case `operator`
        /// The API behind the gateway, or the way to it.
        case upstream
        case apple
        /// Registry or counter store, or the way to it.
        case store
        /// A client that is no app of the operator's, or a person who misuses one.
        case stranger
        /// The gateway's own program.
        case gateway
        /// Nothing is wrong, so no party is at fault.
        case none

        /// The party in words, for pages and commands.
        package var words: String {
            switch self {
            case .clientApp: "the client app"
            case .device: "the app's user or device"
            case .operator: "the operator"
            case .upstream: "the upstream"
            case .apple: "Apple"
            case .store: "a store"
            case .stranger: "a stranger"
            case .gateway: "the gateway"
            case .none: "none"
            }
        }
    }

    /// The reasons with which the details occur.
    package let reasons: [Reason]
    /// The forms of `detail` that it explains; none if it explains the reasons alone.
    package let details: [CausePattern]
    package let fault: Party
    /// One or two sentences. Clients get them if `problem_detail` is on.
    package let meaning: String
    /// Advice to the reader of the log.
    package let remedy: String

    init(
        _ reasons: [Reason], _ details: [CausePattern], _ fault: Party, _ meaning: String,
        _ remedy: String
    ) {
        self.reasons = reasons
        self.details = details
        self.fault = fault
        self.meaning = meaning
        self.remedy = remedy
    }

    /// The explanation of a log line; nil if neither word is one of this version's.
    ///
    /// A detail can mean something else with another reason. If the detail is unknown, the
    /// explanation of the reason alone is found.
    package static func find(reason: String, detail: String?) -> CauseExplanation? {
        let found = detail.map { CauseTable.index.explanations(of: $0) } ?? []
        return found.first { $0.reasons.contains { $0.code.description == reason } }
            ?? found.first ?? CauseTable.index.byReason[reason]
    }

    /// The explanation for a request that ended with `reason` and `cause`.
    package static func of(_ reason: Reason, _ cause: Cause?) -> CauseExplanation {
        find(reason: reason.code.description, detail: cause?.text) ?? unexplained
    }

    /// A fallback that is never used: a test checks that every reason is in the table.
    private static let unexplained = CauseExplanation(
        [], [], .gateway, "The gateway has no words for this cause.", "Report it.")
}
