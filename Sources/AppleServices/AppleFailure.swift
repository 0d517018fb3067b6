public import HTTPSClient

/// The reason why any of Apple's services did not do what it was asked.
public enum AppleFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// 401: our token, our key or our clock is wrong. All other requests will fail in the same way.
    case unauthorized
    /// 403: the key is valid but has no right to this.
    case forbidden
    /// 429, with the time for which Apple wants no requests.
    case throttled(retryAfter: Duration?)
    /// 5xx.
    case serverError(status: Int, retryAfter: Duration?)
    /// Apple never documented this status.
    case unexpected(status: Int)
    /// The status fits, but the body does not.
    case malformed(String)
    /// No complete answer came: the request may have been carried out, or not.
    case unanswered(HTTPSFailure)
    /// No key of this team is configured; nothing was sent.
    case noKey(teamID: String)

    public var description: String {
        switch self {
        case .unauthorized: "Apple does not accept our key (401)"
        case .forbidden: "Apple does not allow this with our key (403)"
        case .throttled: "Apple throttles us (429)"
        case .serverError(let status, _): "Apple's server failed (\(status))"
        case .unexpected(let status): "an unexpected status (\(status))"
        case .malformed(let reason): "an invalid answer: \(reason)"
        case .unanswered(let failure): failure.description
        case .noKey(let teamID): "no key of team \(teamID) is configured"
        }
    }

    /// The time for which Apple wants no requests, if it said so.
    public var retryAfter: Duration? {
        switch self {
        case .throttled(let duration), .serverError(_, let duration): duration
        default: nil
        }
    }

    /// The failure as a label of metrics.
    public var label: String {
        switch self {
        case .unauthorized: "unauthorized"
        case .forbidden: "forbidden"
        case .throttled: "throttled"
        case .serverError: "server_error"
        case .unexpected: "unexpected"
        case .malformed: "malformed"
        case .unanswered(.timedOut): "timeout"
        case .unanswered(.tooManyInFlight): "too_many_in_flight"
        case .unanswered: "unreachable"
        case .noKey: "no_key"
        }
    }

    /// Interprets the statuses that all services share; nil for other statuses.
    init?(common response: HTTPSResponse) {
        switch response.status {
        case 401: self = .unauthorized
        case 403: self = .forbidden
        case 429: self = .throttled(retryAfter: response.retryAfter)
        case 500...599:
            self = .serverError(status: response.status, retryAfter: response.retryAfter)
        default: return nil
        }
    }

    /// True if another key of the team may succeed.
    var blamesKey: Bool { self == .unauthorized || self == .forbidden }
}

extension HTTPSResponse {
    /// The body as text without the white space around it; nil if it is no text, or too long for
    /// Apple's short errors.
    var words: String? {
        let space: Set<UInt8> = [0x20, 0x09, 0x0D, 0x0A]
        let start = body.firstIndex { !space.contains($0) } ?? body.endIndex
        let end = (body.lastIndex { !space.contains($0) }).map { $0 + 1 } ?? start
        guard end - start <= 256 else { return nil }
        return String(validating: body[start..<end], as: UTF8.self)
    }

    /// The ``words``, prepared for a log line.
    var shownWords: String {
        guard let words else { return "\(body.count) bytes" }
        let shown = words.unicodeScalars.map { scalar in
            scalar.value < 0x20 || scalar.value == 0x7F ? " " : Character(scalar)
        }
        return "\"\(String(shown.prefix(100)))\""
    }
}
