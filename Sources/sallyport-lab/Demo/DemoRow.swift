/// One request of the demo: what was sent, what must come of it, and what did.
struct DemoRow {
    /// What the upstream must have seen of a request.
    enum Arrival {
        case nothing
        /// The request, with the gateway's word that it was verified.
        case verified
        /// The request, without any word on who sent it.
        case unmarked
    }

    let title: String
    let request: String
    let expectedStatus: Int
    let expectedCode: String
    let expectedArrival: Arrival
    let status: Int
    let code: String

    func isExpected(_ seen: SeenRequest?) -> Bool {
        guard status == expectedStatus, code == expectedCode else { return false }
        guard let seen else { return expectedArrival == .nothing }
        guard seen.request == request else { return false }
        switch expectedArrival {
        case .nothing: return false
        case .verified: return seen.result == "verified" && seen.key != "-"
        case .unmarked: return seen.result == "-" && seen.key == "-"
        }
    }
}
