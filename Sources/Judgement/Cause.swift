package import Attestation
package import GatewayTokens
package import HTTP
package import JWT

/// The exact result of a request: the member `detail` of its log line. Clients are told it only if
/// `problem_detail` is on.
///
/// The list is closed, and policies depend on it; `docs/causes.md` explains each.
package enum Cause: Equatable {
    /// One of the gateway's own checks, stores or limits.
    case check(Check)
    /// The request is not HTTP by RFC 9110, 9112 or 9113, or has more than one reading.
    case httpFault(HTTPFault)
    /// The evidence of a request proves nothing.
    case evidenceFailed(PlatformFailure)
    case clientDataFailed(ClientDataFailure)
    case clientDataMismatch(ClientDataMismatch)
    /// The evidence of an enrolment proves nothing.
    case enrolmentFailed(PlatformFailure)
    /// A part of the evidence that the enrolment does not depend on has a fault.
    case enrolmentFlawed(PlatformFailure)
    case tokenFailed(SessionTokenFailure)
    /// A token of another issuer is invalid, or could not be judged.
    case proofFailed(TokenFailure)
    /// Apple's answer about a device token, by its label.
    case deviceCheck(label: String)
    /// The name of a rate limit, and the shortfall that the request was counted for, if there was
    /// one.
    case rate(limit: String, shortfall: Reason?)
    /// A rule of the route for the JSON body, by its pointer.
    case bodyRule(pointer: String)
    /// A quota of the route that is used up, by its name.
    case quota(name: String)
    /// A rule of the signals, by the signal's name.
    case signal(name: String)
    case upstreamFailed(UpstreamFailure)

    package var text: String {
        switch self {
        case .check(let check): check.rawValue
        case .httpFault(let fault): fault.code.description
        case .evidenceFailed(let failure):
            failure.kind == .malformed ? failure.description : failure.code
        case .clientDataFailed(let failure): failure.code
        case .clientDataMismatch(let mismatch): mismatch.code
        case .enrolmentFailed(let failure), .enrolmentFlawed(let failure): failure.code
        case .tokenFailed(let failure): failure.rawValue
        case .proofFailed(let failure): failure.rawValue
        case .deviceCheck(let label): "device_check_" + label
        case .rate(let limit, nil): "rate: " + limit
        case .rate(let limit, let shortfall?): "rate: \(limit) (\(shortfall.code))"
        case .bodyRule(let pointer): "body_rule: " + pointer
        case .quota(let name): "quota: " + name
        case .signal(let name): "signal: " + name
        case .upstreamFailed(let failure): failure.text
        }
    }
}
