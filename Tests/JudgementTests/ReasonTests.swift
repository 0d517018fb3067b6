import Foundation
import Judgement
import Testing

@Suite("Reasons")
struct ReasonTests {}

extension ReasonTests {
    /// The published codes, with the status of their kind.
    private static let contract: [String: UInt16] = [
        "assertion_required": 401, "assertion_malformed": 401, "assertion_invalid": 401,
        "assertion_replayed": 401, "challenge_expired": 401, "challenge_required": 401,
        "request_mismatch": 401, "body_mismatch": 401, "key_unknown": 401, "key_revoked": 403,
        "app_outdated": 403, "distribution_not_allowed": 403, "attestation_invalid": 403,
        "body_too_large": 413, "rate_limited": 429, "store_unavailable": 503,
    ]

    @Test("every published code has its status, and no code stands for two reasons")
    func statuses() {
        let codes = Dictionary(
            grouping: Reason.allCases, by: { "\($0.code)" })
        #expect(codes.values.allSatisfy { $0.count == 1 })
        for (code, status) in Self.contract {
            #expect(codes[code]?.first?.status == status, "\(code)")
        }
    }

    @Test("docs/openapi.yaml has every code that a client can see, with its status and action")
    func published() throws {
        let document = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "docs/openapi.yaml")
        let text = try String(contentsOf: document, encoding: .utf8)
        let table = text.matches(of: #/(?m)^  (\w+): \{ status: (\d+), action: (\w+) \}$/#)
            .map { "\($0.output.1) \($0.output.2) \($0.output.3)" }
        let named = text.matches(of: #/(?m)^            - (\w+)$/#).map { String($0.output.1) }
        let refusals = Reason.allCases.filter { $0 != .ok && $0 != .clientClosed }
        #expect(
            table.sorted()
                == refusals.map { "\($0.code) \($0.status) \($0.action.rawValue)" }.sorted())
        #expect(
            named.sorted()
                == (refusals.map { "\($0.code)" } + ["app_mismatch", "environment_not_allowed"])
                .sorted())
        let actions = Set(refusals.map(\.action.rawValue))
        let declared = text.firstMatch(of: #/Action:\n +type: string\n +enum: \[(.*)\]/#)
        #expect(
            Set((declared?.output.1 ?? "").split(separator: ", ").map(String.init)) == actions)
    }

    @Test("what the HTTP is at fault for has the statuses of RFC 9110")
    func statusesOfHTTP() {
        let expected: [Reason: UInt16] = [
            .badRequest: 400, .notFound: 404, .methodNotAllowed: 405, .requestTimeout: 408,
            .targetTooLong: 414, .expectationFailed: 417, .headTooLarge: 431,
            .internalFailure: 500, .notImplemented: 501, .upstreamFailed: 502, .upstreamBusy: 503,
            .upstreamTimeout: 504, .versionNotSupported: 505, .clientClosed: 499, .ok: 200,
            .loopDetected: 508,
            // Of this gateway's own, for proofs that came later.
            .tokenInvalid: 401, .deviceTokenInvalid: 401, .riskTooHigh: 403,
            .abuseSuspected: 403, .gatewayBusy: 503, .bodyUnavailable: 403,
            .bodyRefused: 403, .quotaExhausted: 429, .installationRevoked: 403,
        ]
        for (reason, status) in expected { #expect(reason.status == status) }
        #expect(expected.count + Self.contract.count == Reason.allCases.count)
    }

    @Test("codes are words for metrics, and actions are closed")
    func words() {
        let actions: Set = [
            "fetch_challenge", "sign_again", "attest_again", "update_app", "retry_later", "none",
        ]
        for reason in Reason.allCases {
            #expect("\(reason.code)".allSatisfy { $0 == "_" || ($0 >= "a" && $0 <= "z") })
            #expect(actions.contains(reason.action.rawValue))
        }
        for (reason, action) in [
            (Reason.challengeRequired, Reason.Action.fetchChallenge),
            (.challengeExpired, .signAgain), (.assertionRequired, .signAgain),
            (.keyUnknown, .attestAgain), (.attestationInvalid, .attestAgain),
            (.appOutdated, .updateApp), (.storeUnavailable, .retryLater),
            (.rateLimited, .retryLater), (.keyRevoked, .none), (.distributionNotAllowed, .none),
            (.quotaExhausted, .retryLater), (.riskTooHigh, .none), (.abuseSuspected, .none),
            (.bodyRefused, .none), (.installationRevoked, .none),
        ] { #expect(reason.action == action, "\(reason)") }
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
}
