import OTLP
import Testing

@Suite("An answer of a collector")
struct OTLPAnswerTests {}

extension OTLPAnswerTests {
    private func answer(_ text: String) -> OTLPAnswer { OTLPAnswer(Array(text.utf8)) }

    @Test("tells how much it threw away, as text or number")
    func rejected() {
        let spans = answer(#"{"partialSuccess":{"rejectedSpans":"5","errorMessage":"too\nold"}}"#)
        #expect(spans.rejectedCount == 5 && spans.message == "too old")
        #expect(answer(#"{"partialSuccess":{"rejectedDataPoints":7}}"#).rejectedCount == 7)
    }

    @Test(
        "that is none has rejected nothing",
        arguments: [
            "", "{}", "hello", "[]", #"{"partialSuccess":null}"#, #"{"partialSuccess":{}}"#,
            #"{"partialSuccess":{"rejectedSpans":"-1"}}"#,
            #"{"partialSuccess":{"rejectedSpans":-1}}"#,
            #"{"partialSuccess":{"rejectedSpans":"99999999999999999999"}}"#,
            String(repeating: "[", count: 1000), "\u{0}\u{1}", #"{"partialSuccess":"#,
        ])
    func garbage(text: String) {
        #expect(answer(text) == answer(""))
        #expect(answer(text).rejectedCount == 0)
    }

    @Test("keeps its words short")
    func long() {
        let words = String(repeating: "x", count: 5000)
        let spans = answer(#"{"partialSuccess":{"rejectedSpans":1,"errorMessage":"\#(words)"}}"#)
        #expect(spans.message.count == 200)
    }
}
