import Bytes
import HTTP
import Judgement
import Questions
import Settings

/// Questions in the dialect `json`: `POST /check`, with an object that describes the request.
extension CheckCall {
    /// Replaces the call by the request that its body describes. False while the body is not
    /// complete. A call that is not a question stays as it is.
    func readWrittenQuestion() throws(Refusal) -> Bool {
        guard head.targetForm == .origin,
            CheckForm.isCall(headBytes.span.extracting(head.originTarget))
        else { return true }
        guard let peer = client.peer, client.listener.answers(peer) else {
            throw Refusal(.notFound, .checkPeer)
        }
        guard head.methodKind == .post else {
            throw Refusal(.badRequest, .checkCall, explanation: "A question is asked with POST.")
        }
        guard intake.isComplete else {
            intake.inviteBody()
            return false
        }
        let byteCountMax = questionByteCountMax
        let asked: AskedRequest
        do throws(QuestionFault) {
            asked = try intake.state.body.withMemory { text throws(QuestionFault) in
                try JSONQuestion.read(text, byteCountMax: byteCountMax)
            }
        } catch {
            throw Refusal(.badRequest, .checkCall, explanation: error.explanation)
        }
        intake.state.body.reset()
        try become(asked, answered: .inJSON)
        return true
    }

    /// Takes the next bytes of a question.
    func receiveQuestion(_ bytes: Span<UInt8>) -> Refusal? {
        guard bytes.count <= questionByteCountMax - intake.state.body.byteCount else {
            return Refusal(
                .bodyTooLarge, .checkCall,
                explanation: "The question is longer than four times limits.head.")
        }
        // The question stays in memory, so that no write can fail.
        try? intake.state.body.append(bytes, memoryByteCountMax: .max)
        return nil
    }

    /// Room for the largest head as JSON strings, with the many escapes that some writers use.
    private var questionByteCountMax: Int { 4 * site.settings.limits.headByteCountMax }
}
