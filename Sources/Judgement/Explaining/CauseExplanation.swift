/// What a cause means, whose fault it is, and what to do about it.
///
/// Each is declared once, in a ``CauseTable``, and found by what an access line says: its `reason`
/// and its `detail`. Page, commands, problem documents and `docs/causes.md` show the same words.
package struct CauseExplanation: Sendable, Equatable {
    /// Who is at fault: the one that it is most often, and that the remedy is for.
    package enum Party: String, CaseIterable, Sendable {
        /// The app's code, or the library through which it speaks HTTP.
        case clientApp = "client_app"
        /// The app's user: the device, its clock, its network, its age.
        case device
        /// Whoever runs the gateway: configuration, capacity, certificates.
        case `operator`
        /// The API behind the gateway, or the way to it.
        case upstream
        case apple
        /// Registry or counter store, or the way to it.
        case store
        /// Somebody who is no app of ours, or makes one do what it should not.
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
    /// One or two sentences; clients are sent them where `problem_detail` is on.
    package let meaning: String
    /// What to do, for whoever reads the log.
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
    /// A detail has another meaning with another reason. One that is not known does not hide what
    /// is known about the reason.
    package static func find(reason: String, detail: String?) -> CauseExplanation? {
        let found = detail.map { CauseTable.index.explanations(of: $0) } ?? []
        return found.first { $0.reasons.contains { $0.code.description == reason } }
            ?? found.first ?? CauseTable.index.byReason[reason]
    }

    /// The explanation of what became of a request.
    package static func of(_ reason: Reason, _ cause: Cause?) -> CauseExplanation {
        find(reason: reason.code.description, detail: cause?.text) ?? unexplained
    }

    /// Every reason is in the table, which a test holds; a request is answered whatever it says.
    private static let unexplained = CauseExplanation(
        [], [], .gateway, "The gateway has no words for this cause.", "Report it.")
}
