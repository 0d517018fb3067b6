import AppleServices
import Bytes
import HTTPSClient
import Testing

@Suite("Answers to renewals of receipts")
struct AttestationDataTests {
    private func answer(
        _ status: Int, _ body: String = "", retryAfter: Duration? = nil
    ) -> AttestationData.Answer {
        AttestationData.answer(
            HTTPSResponse(status: status, body: Array(body.utf8), retryAfter: retryAfter))
    }

    @Test("200 is a receipt in base64, with or without an end of line")
    func receipt() {
        let receipt = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        let text = Base64.encode(receipt)
        for end in ["", "\n", "\r\n"] {
            #expect(answer(200, text + end) == .receipt(receipt))
        }
    }

    @Test(
        "200 with anything else is no receipt",
        arguments: ["", "\n", "<html>", "{}", "AAAAA", "AA A", "AAAA\nAAAA"])
    func noReceipt(body: String) {
        guard case .failed(.malformed) = answer(200, body) else {
            Issue.record("\(answer(200, body))")
            return
        }
    }

    @Test("each status means what Apple's documentation says")
    func statuses() {
        #expect(answer(304) == .tooEarly)
        #expect(answer(400, "Incorrect Environment") == .incorrectEnvironment)
        #expect(answer(400, "incorrect environment\n") == .incorrectEnvironment)
        #expect(answer(400, "Bad Payload") == .badPayload("\"Bad Payload\""))
        #expect(answer(400, "a\u{1B}[31m\nb") == .badPayload("\"a [31m b\""))
        #expect(answer(401) == .failed(.unauthorized))
        #expect(answer(403) == .failed(.forbidden))
        #expect(answer(404) == .notFound)
        #expect(answer(429) == .failed(.throttled(retryAfter: nil)))
        #expect(
            answer(429, retryAfter: .seconds(60)) == .failed(.throttled(retryAfter: .seconds(60))))
        #expect(
            answer(503, retryAfter: .seconds(5))
                == .failed(.serverError(status: 503, retryAfter: .seconds(5))))
        #expect(answer(500) == .failed(.serverError(status: 500, retryAfter: nil)))
        for status in [201, 204, 206, 301, 302, 402, 405, 418] {
            #expect(answer(status, "AAAA") == .failed(.unexpected(status: status)))
        }
    }

    @Test("a 400 that is no text, or too much of it, is told by its size")
    func longErrors() {
        let long = String(repeating: "x", count: 300)
        #expect(answer(400, long) == .badPayload("300 bytes"))
        let answer = AttestationData.answer(HTTPSResponse(status: 400, body: [0xFF, 0xFE]))
        #expect(answer == .badPayload("2 bytes"))
    }

    @Test("have labels of their own for metrics, and say how long to wait")
    func labels() {
        let answers: [AttestationData.Answer] = [
            .receipt([]), .tooEarly, .incorrectEnvironment, .badPayload(""), .notFound,
            .failed(.unauthorized), .failed(.forbidden), .failed(.throttled(retryAfter: nil)),
            .failed(.serverError(status: 500, retryAfter: nil)),
            .failed(.unexpected(status: 418)), .failed(.malformed("")),
            .failed(.unanswered(.timedOut)), .failed(.unanswered(.tooManyInFlight)),
            .failed(.unanswered(.cut(""))), .failed(.noKey(teamID: "T")),
        ]
        #expect(Set(answers.map(\.label)).count == answers.count)
        #expect(AppleFailure.throttled(retryAfter: .seconds(3)).retryAfter == .seconds(3))
        #expect(AppleFailure.unauthorized.retryAfter == nil)
    }
}
