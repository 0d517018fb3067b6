/// One request of the demo: what was sent, what must come of it, and what did.
struct DemoRow {
    let title: String
    let request: String
    let expectedStatus: Int
    let expectedCode: String
    /// Whether the upstream must have seen it.
    let isForwarded: Bool
    let status: Int
    let code: String

    var isAnswerExpected: Bool { status == expectedStatus && code == expectedCode }
}
