import Bytes
import HTTP
import Policy
import Settings
import Telemetry
import Testing

@testable import Gateway

@Suite("Reasons")
struct ReasonTests {
    /// The Contract's codes with the status that it gives their kind.
    private static let contract: [String: UInt16] = [
        "assertion_required": 401, "assertion_malformed": 401, "assertion_invalid": 401,
        "assertion_replayed": 401, "challenge_expired": 401, "challenge_required": 401,
        "request_mismatch": 401, "body_mismatch": 401, "key_unknown": 401, "key_revoked": 403,
        "app_outdated": 403, "distribution_not_allowed": 403, "attestation_invalid": 403,
        "body_too_large": 413, "rate_limited": 429, "store_unavailable": 503,
    ]

    @Test("every code of the Contract has its status, and no code stands for two reasons")
    func statuses() {
        let codes = Dictionary(
            grouping: Reason.allCases, by: { "\($0.code)" })
        #expect(codes.values.allSatisfy { $0.count == 1 })
        for (code, status) in Self.contract {
            #expect(codes[code]?.first?.status == status, "\(code)")
        }
    }

    @Test("what the HTTP is at fault for has the statuses of RFC 9110")
    func statusesOfHTTP() {
        let expected: [Reason: UInt16] = [
            .badRequest: 400, .notFound: 404, .methodNotAllowed: 405, .requestTimeout: 408,
            .targetTooLong: 414, .expectationFailed: 417, .headTooLarge: 431,
            .internalFailure: 500, .notImplemented: 501, .upstreamFailed: 502, .upstreamBusy: 503,
            .upstreamTimeout: 504, .versionNotSupported: 505, .clientClosed: 499, .ok: 200,
            .loopDetected: 508,
            // Of this gateway's own, for proofs that the Contract did not know yet.
            .tokenInvalid: 401, .deviceTokenInvalid: 401, .riskTooHigh: 403,
            .abuseSuspected: 403, .gatewayBusy: 503,
        ]
        for (reason, status) in expected { #expect(reason.status == status) }
        #expect(expected.count + Self.contract.count == Reason.allCases.count)
    }

    @Test("codes are words for metrics, and actions are the Contract's")
    func words() {
        let actions: Set = [
            "fetch_challenge", "sign_again", "attest_again", "update_app", "retry_later", "none",
        ]
        for reason in Reason.allCases {
            #expect("\(reason.code)".allSatisfy { $0 == "_" || ($0 >= "a" && $0 <= "z") })
            #expect(actions.contains(reason.action.rawValue))
        }
        #expect(Reason.challengeRequired.action == .fetchChallenge)
        #expect(Reason.challengeExpired.action == .signAgain)
        #expect(Reason.keyUnknown.action == .attestAgain)
        #expect(Reason.keyRevoked.action == .none)
        #expect(Reason.storeUnavailable.action == .retryLater)
    }

    @Test("whoever is retried later caused nothing; alerts name the gateway or its upstream")
    func sources() {
        for reason in Reason.allCases {
            switch reason {
            case .storeUnavailable, .gatewayBusy, .internalFailure, .loopDetected:
                #expect(reason.source == .gateway)
            case .upstreamFailed, .upstreamBusy, .upstreamTimeout:
                #expect(reason.source == .upstream)
            default: #expect(reason.source == .client)
            }
        }
    }

    @Test("what a parser refuses keeps its status")
    func parserStatuses() {
        for status in [400, 414, 417, 431, 501, 505] as [UInt16] {
            let reason = HTTPRefusal(status: status, reason: .targetInvalid).gatewayReason
            #expect(reason.status == status)
        }
    }
}

@Suite("Meters")
struct MeterTests {
    @Test("a route counts by decision, reason and status class")
    func route() {
        let meter = RouteMeter()
        meter.count(decision: .verified, reason: .ok, status: 200, nanoseconds: 1)
        meter.count(decision: .verified, reason: .ok, status: 304, nanoseconds: 1)
        meter.count(decision: .refused, reason: .internalFailure, status: 500, nanoseconds: 1)
        meter.count(decision: .undecided, reason: .clientClosed, status: 0, nanoseconds: 1)
        meter.count(decision: .passed, reason: .ok, status: .max, nanoseconds: 1)
        #expect(meter.count(.verified, .ok) == 2)
        #expect(meter.count(.refused, .internalFailure) == 1)
        #expect(meter.count(.refused, .ok) == 0)
        #expect(meter.count(statusClass: 2) == 1)
        #expect(meter.count(statusClass: 3) == 1)
        #expect(meter.count(statusClass: 5) == 1)
        #expect(meter.count(statusClass: 9) == 1)
    }

    @Test("a histogram's buckets and counts agree")
    func histogram() {
        let meter = RouteMeter()
        for nanoseconds in [0, 500_000, 500_001, UInt64.max] {
            meter.count(decision: .passed, reason: .ok, status: 200, nanoseconds: nanoseconds)
        }
        var snapshot = HistogramSnapshot(.requestDuration)
        snapshot.add(meter.duration)
        #expect(snapshot.count == 4)
        #expect(snapshot.bucketCounts.first == 2)
        #expect(snapshot.bucketCounts.last == 1)
    }

    @Test("the phases follow one another to the record, each with a word of its own")
    func phases() {
        #expect(Phase.readHead.next == .matchRoute)
        #expect(Phase.recordAccess.next == .recordAccess)
        #expect(Set(Phase.allCases.map(\.name)).count == Phase.allCases.count)
        #expect(zip(Phase.allCases, Phase.allCases.dropFirst()).allSatisfy { $0.next == $1 })
    }
}
