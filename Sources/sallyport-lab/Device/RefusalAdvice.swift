import Bytes
import EventLoop
import Judgement

/// What a refusal means in an app, as docs/client/behaviour.md says it.
enum RefusalAdvice {
    /// Writes the advice to standard error, so that standard output has the answer alone. Nothing
    /// is written for other answers.
    static func write(_ answer: HTTPAnswer, ofEnrolment isEnrolment: Bool) {
        guard let code = answer.code else { return }
        var lines = ["refused: \(code), status \(answer.status)"]
        if let cause = answer.member("cause") { lines.append("cause: \(cause)") }
        if let name = answer.member("action") {
            let action = Reason.Action(rawValue: name)
            let advice = action.map { isEnrolment ? ofEnrolment($0) : ofRequest($0) }
            lines.append("an app: \(advice ?? "takes an unknown action as the API's") (\(name))")
        }
        if let spent = answer.member("assertion") { lines.append("the assertion: \(spent)") }
        if let id = answer.member("request_id") {
            lines.append("look: sallyport explain request \(id) -c FILE")
        }
        let text = lines.map { $0 + "\n" }.joined()
        _ = File.append(File.standardError, Array(text.utf8).span)
    }

    private static func ofRequest(_ action: Reason.Action) -> String {
        switch action {
        case .signAgain, .fetchChallenge: "sign with the answer's challenge, `max` times"
        case .attestAgain: "give the key up, enrol, sign again"
        case .retryLater: "wait up to 10 seconds, sign again; else fail"
        case .updateApp, .none: "fail; the key stays"
        }
    }

    private static func ofEnrolment(_ action: Reason.Action) -> String {
        switch action {
        case .signAgain, .fetchChallenge, .attestAgain:
            "another key at once; then wait `new_key_after`"
        case .retryLater: "keep the state, and wait"
        case .updateApp, .none: "wait `after`, or 6 hours"
        }
    }
}
