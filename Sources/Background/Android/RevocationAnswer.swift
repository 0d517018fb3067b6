import AndroidAttestation
import EventLoop
import HTTPSClient

/// The meaning of an answer to a question for the revocation list.
enum RevocationAnswer {
    /// The list, its document, its age, and the time for which it need not be asked for again.
    case list(RevocationList, document: [UInt8], age: Duration, life: Duration)
    case none(RevocationState.Outcome, String)

    /// `refresh`: the longest life.
    init(_ result: Result<HTTPSResponse, HTTPSFailure>, refresh: Duration) {
        switch result {
        case .failure(let failure): self = .none(.failed, "\(failure)")
        case .success(let response) where response.status != 200:
            self = .none(.refused, response.refusal(by: "the server"))
        case .success(let response):
            let bounds = AnswerLife(
                shortest: min(Self.lifeMin, refresh), usual: refresh, longest: refresh)
            self.init(response.body, age: response.age, life: bounds.life(of: response))
        }
    }

    init(_ document: [UInt8], age: Duration, life: Duration) {
        do throws(RevocationListError) {
            self = .list(
                try RevocationList(parsing: document), document: document, age: age, life: life)
        } catch {
            self = .none(.malformed, "the answer is no revocation list: \(error)")
        }
    }

    /// The shortest life, whatever the server says.
    private static let lifeMin = Duration.seconds(300)
}
