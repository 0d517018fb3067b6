import EventLoop
import HTTPSClient
import JWT

/// The meaning of an issuer's answer to a question for its keys.
enum KeySetAnswer {
    /// The keys, and the time for which they need not be asked for again.
    case keys(JSONWebKeySet, JSONWebKeyTally, life: Duration)
    case none(IssuerKeys.Outcome, String)

    /// `algorithms`: those that tokens may be signed by.
    init(_ result: Result<HTTPSResponse, HTTPSFailure>, for algorithms: Set<TokenAlgorithm>) {
        switch result {
        case .failure(let failure): self = .none(.failed, "\(failure)")
        case .success(let response) where response.status != 200:
            self = .none(.refused, response.refusal(by: "the issuer"))
        case .success(let response):
            do throws(JSONWebKeySetError) {
                let keys = try JSONWebKeySet(parsing: response.body.span)
                let tally = keys.tally(for: algorithms)
                guard tally.usedCount > 0 else {
                    self = .none(
                        .malformed, "the answer has no key that can be used; \(tally.leftOutText)")
                    return
                }
                self = .keys(keys, tally, life: Self.life(of: response))
            } catch {
                self = .none(.malformed, "the answer is no JWK set: \(error)")
            }
        }
    }

    static func life(of response: HTTPSResponse) -> Duration {
        AnswerLife(shortest: lifeMin, usual: lifeUsual, longest: lifeMax).life(of: response)
    }

    /// The shortest life, whatever the issuer says, because a question costs both sides something.
    private static let lifeMin = Duration.seconds(300)
    /// The life if the issuer says nothing.
    private static let lifeUsual = Duration.seconds(3600)
    /// The longest life, which is also Firebase's, so that withdrawn keys end soon.
    private static let lifeMax = Duration.seconds(6 * 3600)
}
