import AppleServices
import Bytes
import HTTPSClient
import Testing

@Suite("Answers to renewals of receipts")
struct AttestationDataTests {}

extension AttestationDataTests {
    private func answer(
        _ status: Int, _ body: String = "", retryAfter: Duration? = nil
    ) -> AttestationData.Answer {
        AttestationData.answer(
            HTTPSResponse(status: status, body: Array(body.utf8), retryAfter: retryAfter))
    }

    @Test("200 is a receipt in base64, with or without ends of lines")
    func receipt() {
        let receipt = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        let text = Base64.encode(receipt)
        for end in ["", "\n", "\r\n"] {
            #expect(answer(200, text + end) == .receipt(receipt))
            let lines = text.indices.filter {
                text.utf8.distance(from: text.startIndex, to: $0) % 76 == 0
            }
            .map { text[$0...].prefix(76) + end }
            #expect(answer(200, lines.joined()) == .receipt(receipt))
        }
    }

    @Test(
        "200 with anything else is no receipt",
        arguments: ["", "\n", "<html>", "{}", "AAAAA", "AA A", "AAAA\tAAAA"])
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
        #expect(answer(400, "Bad Payload") == .badPayload)
        #expect(answer(400, "bad payload\r\n") == .badPayload)
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

    @Test("another 400 judges no receipt; where it is no text, or too much, its size is told")
    func otherErrors() {
        for (text, shown) in [
            ("", "\"\""), ("<html>", "\"<html>\""), ("a\u{1B}[31m\nb", "\"a [31m b\""),
            (String(repeating: "x", count: 300), "300 bytes"),
        ] {
            #expect(answer(400, text) == .failed(.malformed("400 with \(shown)")))
        }
        let answer = AttestationData.answer(HTTPSResponse(status: 400, body: [0xFF, 0xFE]))
        #expect(answer == .failed(.malformed("400 with 2 bytes")))
    }

    @Test("have labels of their own for metrics, and say how long to wait")
    func labels() {
        let answers: [AttestationData.Answer] = [
            .receipt([]), .tooEarly, .incorrectEnvironment, .badPayload, .notFound,
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
