/// The reason why an exchange ended as it did: the `code` of a refusal, the `reason` of log and
/// metrics.
///
/// Clients rely on the first group; the second names faults of HTTP or of the upstream.
public enum Reason: UInt8, CaseIterable, Sendable {
    case ok

    case assertionRequired
    case assertionMalformed
    case assertionInvalid
    case assertionReplayed
    case challengeExpired
    case challengeRequired
    case requestMismatch
    case bodyMismatch
    case keyUnknown
    case keyRevoked
    case appOutdated
    case distributionNotAllowed
    case attestationInvalid
    case bodyTooLarge
    case rateLimited
    case storeUnavailable
    /// A limit of the gateway was reached. That is no failure of a store, so no route lets a
    /// request pass for it.
    case gatewayBusy
    /// A session token is invalid, on a route that accepts them.
    case tokenInvalid
    /// The key's risk metric is above the route's threshold.
    case riskTooHigh
    /// A signal is raised whose rule denies.
    case abuseSuspected
    /// A DeviceCheck token is invalid, on a route that accepts them.
    case deviceTokenInvalid
    /// The proxy that asks about the request has not shown its body.
    case bodyUnavailable
    /// The body does not keep the route's `body_rules`.
    case bodyRefused
    /// A quota of the route is used up until its period ends.
    case quotaExhausted
    /// The newest key of the installation that an enrolment's ticket names is revoked.
    case installationRevoked

    case badRequest
    case requestTimeout
    case notFound
    case methodNotAllowed
    case expectationFailed
    case targetTooLong
    case headTooLarge
    case notImplemented
    case versionNotSupported
    case upstreamFailed
    case upstreamBusy
    case upstreamTimeout
    case clientClosed
    case internalFailure
    /// The request has come back to the gateway that had forwarded it.
    case loopDetected

    /// The action that the client should take.
    public enum Action: String, Sendable {
        case fetchChallenge = "fetch_challenge"
        case signAgain = "sign_again"
        case attestAgain = "attest_again"
        case updateApp = "update_app"
        case retryLater = "retry_later"
        case none
    }

    /// The HTTP status of a refusal for this reason.
    public var status: UInt16 {
        switch self {
        case .ok: 200
        case .assertionRequired, .assertionMalformed, .assertionInvalid, .assertionReplayed,
            .challengeExpired, .challengeRequired, .requestMismatch, .bodyMismatch, .keyUnknown,
            .tokenInvalid, .deviceTokenInvalid:
            401
        case .keyRevoked, .appOutdated, .distributionNotAllowed, .attestationInvalid,
            .riskTooHigh, .abuseSuspected, .bodyUnavailable, .bodyRefused, .installationRevoked:
            403
        case .bodyTooLarge: 413
        case .rateLimited, .quotaExhausted: 429
        case .storeUnavailable, .gatewayBusy, .upstreamBusy: 503
        case .badRequest: 400
        case .requestTimeout: 408
        case .notFound: 404
        case .methodNotAllowed: 405
        case .expectationFailed: 417
        case .targetTooLong: 414
        case .headTooLarge: 431
        case .notImplemented: 501
        case .versionNotSupported: 505
        case .upstreamFailed: 502
        case .upstreamTimeout: 504
        // nginx's number for a client that went away; logged, never sent.
        case .clientClosed: 499
        case .internalFailure: 500
        case .loopDetected: 508
        }
    }

    public var code: StaticString {
        switch self {
        case .ok: "ok"
        case .assertionRequired: "assertion_required"
        case .assertionMalformed: "assertion_malformed"
        case .assertionInvalid: "assertion_invalid"
        case .assertionReplayed: "assertion_replayed"
        case .challengeExpired: "challenge_expired"
        case .challengeRequired: "challenge_required"
        case .requestMismatch: "request_mismatch"
        case .bodyMismatch: "body_mismatch"
        case .keyUnknown: "key_unknown"
        case .keyRevoked: "key_revoked"
        case .appOutdated: "app_outdated"
        case .distributionNotAllowed: "distribution_not_allowed"
        case .attestationInvalid: "attestation_invalid"
        case .bodyTooLarge: "body_too_large"
        case .rateLimited: "rate_limited"
        case .storeUnavailable: "store_unavailable"
        case .gatewayBusy: "gateway_busy"
        case .tokenInvalid: "token_invalid"
        case .riskTooHigh: "risk_too_high"
        case .abuseSuspected: "abuse_suspected"
        case .deviceTokenInvalid: "device_token_invalid"
        case .bodyUnavailable: "body_unavailable"
        case .bodyRefused: "body_refused"
        case .quotaExhausted: "quota_exhausted"
        case .installationRevoked: "installation_revoked"
        case .badRequest: "bad_request"
        case .requestTimeout: "request_timeout"
        case .notFound: "not_found"
        case .methodNotAllowed: "method_not_allowed"
        case .expectationFailed: "expectation_failed"
        case .targetTooLong: "target_too_long"
        case .headTooLarge: "head_too_large"
        case .notImplemented: "not_implemented"
        case .versionNotSupported: "version_not_supported"
        case .upstreamFailed: "upstream_failed"
        case .upstreamBusy: "upstream_busy"
        case .upstreamTimeout: "upstream_timeout"
        case .clientClosed: "client_closed"
        case .internalFailure: "internal_failure"
        case .loopDetected: "loop_detected"
        }
    }

    public var action: Action {
        switch self {
        case .challengeRequired: .fetchChallenge
        case .assertionRequired, .assertionMalformed, .assertionInvalid, .assertionReplayed,
            .challengeExpired, .requestMismatch, .bodyMismatch, .tokenInvalid, .deviceTokenInvalid:
            .signAgain
        case .keyUnknown, .attestationInvalid: .attestAgain
        case .appOutdated: .updateApp
        case .rateLimited, .quotaExhausted, .storeUnavailable, .gatewayBusy, .requestTimeout,
            .upstreamFailed, .upstreamBusy, .upstreamTimeout:
            .retryLater
        default: .none
        }
    }

    /// True if a limit was reached, whichever client has used it up. No store failed, so no route
    /// lets the request pass, and other unknown facts do not matter.
    package var isBound: Bool { self == .rateLimited || self == .gatewayBusy }

    /// The party that caused it. Alerts are built on this, so that a client's mistake never pages
    /// an operator.
    public enum Source: Sendable { case client, gateway, upstream }

    public var source: Source {
        switch self {
        case .storeUnavailable, .gatewayBusy, .internalFailure, .loopDetected: .gateway
        case .upstreamFailed, .upstreamBusy, .upstreamTimeout: .upstream
        default: .client
        }
    }
}
