import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A refusal by the gateway: its problem document (RFC 9457) and the headers that belong to it.
public struct Refusal: Sendable, Equatable {
    /// The action that the gateway advises.
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
        /// The assertion was not accepted.
        case unspent
        /// The assertion was accepted, now or before.
        case spent
        /// The gateway cannot tell, because a store did not answer or a counter came late.
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
    /// The id by which the operator finds the request.
    public let requestID: String?
    /// The seconds to wait.
    public let retryAfter: TimeInterval?
    /// The advice for another try, on gateways that give it.
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

    /// The most bytes: more than any problem document of a gateway has.
    public static let byteCountMax = 64 * 1024

    /// The actions for the codes of refusals with 401. If the answer has a document, its action
    /// counts.
    private static let actions: [String: Action] = [
        "assertion_required": .signAgain, "assertion_malformed": .signAgain,
        "assertion_invalid": .signAgain, "assertion_replayed": .signAgain,
        "challenge_expired": .signAgain, "challenge_required": .fetchChallenge,
        "request_mismatch": .signAgain, "body_mismatch": .signAgain, "key_unknown": .attestAgain,
        "device_token_invalid": .signAgain, "token_invalid": .signAgain,
    ]

    /// True if the head may be that of a refusal. The API's own problem documents have the same
    /// type.
    public static func mayBe(_ response: HTTPURLResponse) -> Bool {
        response.hasProblem || response.refusedCode != nil
    }

    /// Parses a refusal, or returns nil if the answer is the API's.
    ///
    /// An answer to HEAD has no document, and a proxy may replace the document by its own page. A
    /// refusal with 401 has its code in a header, too.
    public init?(_ data: Data, _ response: HTTPURLResponse) {
        guard data.count <= Self.byteCountMax else { return nil }
        status = response.statusCode
        retryAfter = response.retryAfter
        if response.hasProblem,
            let document = try? JSONDecoder().decode(Document.self, from: data)
        {
            // This version could not carry out an action that it does not know.
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
    /// The seconds in `Retry-After`, if it holds a number, at most a week.
    var retryAfter: TimeInterval? {
        guard let text = value(forHTTPHeaderField: "Retry-After"), let seconds = UInt32(text) else {
            return nil
        }
        return min(TimeInterval(seconds), RetryAdvice.secondsMax)
    }

    /// True if a problem document follows, or would if this were not an answer to HEAD.
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

/// A failure of the client or of the gateway. Errors of `URLSession` and DeviceCheck are not
/// wrapped.
public enum ClientError: Error, Sendable {
    /// Neither App Attest nor a substitute for it is available on this device.
    case unsupported
    /// The gateway refuses, and the client cannot change that now.
    case refused(Refusal)
    /// An enrolment has to wait until this time. Its state is kept, also between launches of the
    /// app.
    case tryLater(Date)
    /// An endpoint of the gateway gave an answer that is not the gateway's.
    case unexpectedAnswer(status: Int)
    /// The request has no URL, or one with another scheme than HTTP; or its body is no JSON object
    /// although the body is signed; or its bytes are asked of a transport without a session.
    case invalidRequest(String)
    /// The keychain's own code.
    case keychain(OSStatusCode)

    public typealias OSStatusCode = Int32
}
