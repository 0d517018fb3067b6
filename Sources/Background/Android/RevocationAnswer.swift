import AndroidAttestation
import EventLoop
import HTTPSClient

/// The meaning of an answer to a question for the revocation list.
enum RevocationAnswer {
    /// The list, its document, and the time for which it need not be asked for again.
    case list(RevocationList, document: [UInt8], life: Duration)
    case none(RevocationState.Outcome, String)

    static func request(_ url: String) -> HTTPSRequest {
        HTTPSRequest(url: url, method: .get, fields: [HTTPSField("Accept", "application/json")])
    }

    /// A redirect is never followed, because the operator chooses the place. `refresh`: the longest
    /// life.
    init(_ result: Result<HTTPSResponse, HTTPSFailure>, refresh: Duration) {
        switch result {
        case .failure(let failure): self = .none(.failed, "\(failure)")
        case .success(let response) where response.status != 200:
            let isRedirect = (300..<400).contains(response.status)
            self = .none(
                .refused,
                "the server answered \(response.status)"
                    + (isRedirect ? ", and redirects are not followed" : ""))
        case .success(let response):
            let bounds = AnswerLife(
                shortest: min(Self.lifeMin, refresh), usual: refresh, longest: refresh)
            self.init(response.body, life: bounds.life(of: response))
        }
    }

    init(_ document: [UInt8], life: Duration) {
        do throws(RevocationListError) {
            self = .list(
                try RevocationList(parsing: document), document: document, life: life)
        } catch {
            self = .none(.malformed, "the answer is no revocation list: \(error)")
        }
    }

    /// The shortest life, whatever the server says.
    private static let lifeMin = Duration.seconds(300)
}
