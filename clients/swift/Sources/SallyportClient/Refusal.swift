import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A refusal by the gateway: its problem document (RFC 9457) and the headers that belong to it.
public struct Refusal: Sendable, Equatable {
    /// What to do about it.
    public enum Action: String, Sendable {
        case signAgain = "sign_again"
        case fetchChallenge = "fetch_challenge"
        case attestAgain = "attest_again"
        case updateApp = "update_app"
        case retryLater = "retry_later"
        case none
    }

    /// The state of the request's assertion.
    public enum AssertionState: String, Sendable {
        /// It was not accepted.
        case unspent
        /// It was accepted, now or before.
        case spent
        /// A store did not answer.
        case unknown
    }

    public let status: Int
    /// One of the codes in the client guide, such as `challenge_expired`.
    public let code: String
    public let action: Action
    /// Nil if the request brought no assertion.
    public let assertion: AssertionState?
    /// An explanation for developers, on gateways that give one. Do not parse it.
    public let detail: String?
    /// Tell it to the operator, who finds the request by it.
    public let requestID: String?
    /// Seconds.
    public let retryAfter: TimeInterval?
    /// How it may be tried again, on gateways that say so.
    public let retry: RetryAdvice?

    private struct Document: Decodable {
        var code: String
        var action: String
        var assertion: String?
        var detail: String?
        var requestID: String?
        var retry: RetryAdvice?

        enum CodingKeys: String, CodingKey {
            case code, action, assertion, detail, retry
            case requestID = "request_id"
        }
    }

    /// More than any problem document of a gateway has.
    static let byteCountMax = 64 * 1024

    /// The actions for the codes of refusals with 401. If the answer has a document, its action
    /// counts.
    private static let actions: [String: Action] = [
        "assertion_required": .signAgain, "assertion_malformed": .signAgain,
        "assertion_invalid": .signAgain, "assertion_replayed": .signAgain,
        "challenge_expired": .signAgain, "challenge_required": .fetchChallenge,
        "request_mismatch": .signAgain, "body_mismatch": .signAgain, "key_unknown": .attestAgain,
        "device_token_invalid": .signAgain, "token_invalid": .signAgain,
    ]

    /// Whether the head is one of a refusal. The API's own problem documents have the same type.
    static func mayBe(_ response: HTTPURLResponse) -> Bool {
        response.hasProblem || response.refusedCode != nil
    }

    /// Reads a refusal, or returns nil if the answer is the API's.
    ///
    /// An answer to HEAD has no document, and a proxy may put a page of its own in the document's
    /// place. A refusal with 401 has its code in a header, too.
    init?(_ data: Data, _ response: HTTPURLResponse) {
        guard data.count <= Self.byteCountMax else { return nil }
        status = response.statusCode
        retryAfter = response.retryAfter
        if response.hasProblem,
            let document = try? JSONDecoder().decode(Document.self, from: data)
        {
            // An action that this version does not know asks for nothing that it could do.
            guard let action = Action(rawValue: document.action) else { return nil }
            code = document.code
            self.action = action
            assertion = document.assertion.flatMap(AssertionState.init(rawValue:))
            detail = document.detail
            requestID = document.requestID
            retry = document.retry
        } else if let code = response.refusedCode {
            self.code = code
            action = Self.actions[code] ?? .none
            (assertion, detail, retry) = (nil, nil, nil)
            requestID = response.value(forHTTPHeaderField: "X-Request-Id")
        } else {
            return nil
        }
    }
}

extension HTTPURLResponse {
    /// The seconds in `Retry-After`, if it holds a number of them. A week at most.
    var retryAfter: TimeInterval? {
        guard let text = value(forHTTPHeaderField: "Retry-After"), let seconds = UInt32(text) else {
            return nil
        }
        return min(TimeInterval(seconds), RetryAdvice.secondsMax)
    }

    /// Whether a problem document follows, or would if this were no answer to HEAD.
    fileprivate var hasProblem: Bool {
        let type = value(forHTTPHeaderField: "Content-Type") ?? ""
        return statusCode >= 400 && type.lowercased().hasPrefix("application/problem+json")
    }

    /// The code in `WWW-Authenticate: AppAttest error="..."`.
    fileprivate var refusedCode: String? {
        guard statusCode == 401, let text = value(forHTTPHeaderField: "WWW-Authenticate"),
            let start = text.range(of: #"AppAttest error=""#, options: .caseInsensitive)
        else { return nil }
        let code = text[start.upperBound...].prefix { $0 != "\"" }
        return code.isEmpty ? nil : String(code)
    }
}

/// A failure of the client or of the gateway. What `URLSession` and DeviceCheck throw is not
/// wrapped.
public enum ClientError: Error, Sendable {
    /// Neither App Attest nor what may stand in for it is to be had on this device.
    case unsupported
    /// The gateway refuses, and nothing that the client may do changes that now.
    case refused(Refusal)
    /// An enrolment has to wait. What is there of it is kept, also over launches of the app.
    case tryLater(Date)
    /// A gateway's endpoint gave an answer that is not the gateway's.
    case unexpectedAnswer(status: Int)
    /// A request without a URL, with one of another scheme than HTTP, a body that is no JSON object
    /// where the body is what is signed, or bytes asked of a transport that has no session.
    case invalidRequest(String)
    /// The keychain's own code.
    case keychain(OSStatusCode)

    public typealias OSStatusCode = Int32
}
