import AppleServices
import HTTPSClient
import Testing

@Suite("Answers of DeviceCheck")
struct DeviceCheckTests {}

extension DeviceCheckTests {
    private static let questions: [DeviceCheck.Question] = [
        .validate, .query, .update(bit0: true, bit1: false),
    ]

    private func answer(
        _ status: Int, _ body: String = "", to question: DeviceCheck.Question = .query
    ) -> DeviceCheck.Answer {
        DeviceCheck.answer(HTTPSResponse(status: status, body: Array(body.utf8)), to: question)
    }

    @Test("200 to a query has two bits and the month of the last change")
    func bits() {
        let text = #"{"bit0":true,"bit1":false,"last_update_time":"2026-03"}"#
        #expect(
            answer(200, text)
                == .bits(DeviceCheck.Bits(bit0: true, bit1: false, lastUpdate: "2026-03")))
        for time in [#""last_update_time":"yesterday""#, #""last_update_time":3"#, #""x":1"#] {
            #expect(
                answer(200, #"{"bit0":false,"bit1":true,"# + time + "}")
                    == .bits(DeviceCheck.Bits(bit0: false, bit1: true)))
        }
    }

    @Test(
        "200 in plain text says that no bit was ever set",
        arguments: [
            "Failed to find bit state", "Bit State Not Found", "bit state not found\n",
        ])
    func neverSet(text: String) {
        #expect(answer(200, text) == .neverSet)
    }

    @Test(
        "200 to a query with anything else is no answer",
        arguments: [
            "", "OK", "{}", "[]", #"{"bit0":1,"bit1":0}"#, #"{"bit0":true}"#,
            #"{"bit0":true,"bit0":false,"bit1":true}"#, #"{"bit0":true,"bit1":tr"#,
        ])
    func malformed(text: String) {
        guard case .failed(.malformed) = answer(200, text) else {
            Issue.record("\(answer(200, text))")
            return
        }
    }

    @Test("200 to the other questions is a yes, whatever it holds")
    func done() {
        for body in ["", "OK", "Bit State Not Found"] {
            #expect(answer(200, body, to: .validate) == .done)
            #expect(answer(200, body, to: .update(bit0: false, bit1: false)) == .done)
        }
    }

    @Test("of the 400s the token's are the client's fault, all others ours", arguments: questions)
    func badRequests(question: DeviceCheck.Question) {
        for text in [
            "Missing or incorrectly formatted device token payload", "Bad Device Token",
            "bad device token\r\n",
        ] {
            guard case .badToken = answer(400, text, to: question) else {
                Issue.record("\(text): \(answer(400, text, to: question))")
                continue
            }
        }
        for text in ["Missing or incorrectly formatted bits", "", "<html>"] {
            #expect(answer(400, text, to: question) == .badRequest("\"\(text)\""))
        }
    }

    @Test("every other status fails, and never as a yes", arguments: questions)
    func failures(question: DeviceCheck.Question) {
        #expect(answer(401, to: question) == .failed(.unauthorized))
        #expect(answer(403, to: question) == .failed(.forbidden))
        #expect(answer(429, to: question) == .failed(.throttled(retryAfter: nil)))
        for status in 500...511 {
            #expect(
                answer(status, to: question)
                    == .failed(.serverError(status: status, retryAfter: nil)))
        }
        for status in [201, 202, 204, 301, 304, 404, 410, 600] {
            #expect(answer(status, to: question) == .failed(.unexpected(status: status)))
        }
    }

    @Test("have the names of Apple's paths")
    func names() {
        #expect(
            Self.questions.map(\.name)
                == ["validate_device_token", "query_two_bits", "update_two_bits"])
    }
}
