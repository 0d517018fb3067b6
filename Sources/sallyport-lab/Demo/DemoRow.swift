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
    }

    /// The expected outcome of a request.
    struct Outcome: Hashable {
        var status = 200
        /// The code of a refusal, or the advice to the app in a response.
        var code = "-"
        var arrival = Arrival.nothing

        static let accepted = Outcome()

        static func refused(_ status: Int, _ code: String) -> Outcome {
            Outcome(status: status, code: code)
        }

        static func arrived(_ arrival: Arrival, told code: String = "-") -> Outcome {
            Outcome(code: code, arrival: arrival)
        }
    }

    let title: String
    let request: String
    let expected: Outcome
    let status: Int
    let code: String

    func isExpected(_ seen: SeenRequest?) -> Bool {
        guard status == expected.status, code == expected.code else { return false }
        guard let seen else { return expected.arrival == .nothing }
        guard seen.request == request else { return false }
        switch expected.arrival {
        case .nothing: return false
        case .verified(let tier, let level):
            return seen.result == "verified" && seen.tier == tier && seen.level == level
        case .unverified: return seen.result == "unverified" && seen.key == "-"
        case .unmarked: return seen.result == "-" && seen.key == "-"
        }
    }
}
