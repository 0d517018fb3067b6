/// One request of the demo, with the expected and the actual outcome.
struct DemoRow {
    /// The form in which a request must have reached the upstream.
    enum Arrival: Hashable {
        case nothing
        /// The request, with the gateway's statement that it was verified, the tier of its proof,
        /// and the security level of an Android key.
        case verified(tier: String = "attested", level: String = "-")
        /// The request, with the gateway's statement that nothing was proved.
        case unverified
        /// The request, without any statement about its sender.
        case unmarked
        /// A verified request to the AI service, with the operator's API key in place of the
        /// client's, that was answered with this number of tokens.
        case chat(tokens: Int)
        /// A request like ``chat(tokens:)``, but the gateway left before the end of the answer.
        case abandonedChat
    }

    /// The expected outcome of a request.
    struct Outcome: Hashable {
        var status = 200
        /// The code of a refusal, or the advice to the app in a response.
        var code = "-"
        /// The rest of the quota that the answer tells; nil if it tells none.
        var left: Int?
        var arrival = Arrival.nothing

        static let accepted = Outcome()

        static func refused(_ status: Int, _ code: String, left: Int? = nil) -> Outcome {
            Outcome(status: status, code: code, left: left)
        }

        static func arrived(
            _ arrival: Arrival, told code: String = "-", left: Int? = nil
        ) -> Outcome {
            Outcome(code: code, left: left, arrival: arrival)
        }
    }

    let title: String
    let request: String
    let expected: Outcome
    let status: Int
    let code: String
    let left: Int?

    init(title: String, request: String, expected: Outcome, answer: HTTPAnswer) {
        self.title = title
        self.request = request
        self.expected = expected
        status = answer.status
        code = answer.code ?? answer.advice ?? "-"
        left = answer.quotaLeft
    }

    func isExpected(_ seen: SeenRequest?) -> Bool {
        guard status == expected.status, code == expected.code, left == expected.left else {
            return false
        }
        guard let seen else { return expected.arrival == .nothing }
        guard seen.request == request else { return false }
        switch expected.arrival {
        case .nothing: return false
        case .verified(let tier, let level):
            return seen.result == "verified" && seen.tier == tier && seen.level == level
        case .unverified: return seen.result == "unverified" && seen.key == "-"
        case .unmarked: return seen.result == "-" && seen.key == "-"
        case .chat(let tokens):
            return seen.result == "verified"
                && seen.chat == SeenChat(tokenCount: tokens, endedEarly: false)
        case .abandonedChat: return seen.result == "verified" && seen.chat?.endedEarly == true
        }
    }
}
