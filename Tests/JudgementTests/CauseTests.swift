import AppAttest
import Attestation
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Testing

@Suite("Causes")
struct CauseTests {}

extension CauseTests {
    @Test(
        "are written as docs/causes.md says",
        arguments: [
            (Cause.check(.tier), "tier"), (.httpFault(.pathAmbiguous), "path_ambiguous"),
            (.evidenceFailed(SignatureBatch.signatureInvalid), "signature_invalid"),
            (.clientDataFailed(.memberMissing("method")), "client_data_member_missing"),
            (.clientDataMismatch(.path), "path_mismatch"),
            (.enrolmentFailed(PlatformFailure(AttestationFailure.nonceMismatch)), "nonce_mismatch"),
            (.tokenFailed(.revoked), "token_revoked"),
            (.deviceCheck(label: "timeout"), "device_check_timeout"),
            (.rate(limit: "few", shortfall: nil), "rate: few"),
            (.rate(limit: "few", shortfall: .assertionRequired), "rate: few (assertion_required)"),
            (.signal(name: "keys_per_user"), "signal: keys_per_user"),
            (.upstreamFailed(.connect(description: "refused")), "connect: refused"),
            (.upstreamFailed(.readTimeout), "read_timeout"),
        ])
    func texts(cause: Cause, text: String) {
        #expect(cause.text == text)
    }

    @Test("have codes of their own for clients where developers have taken the wrong build")
    func exactCodes() {
        let codes: [(Refusal, String?)] = [
            (
                Refusal(
                    .attestationInvalid,
                    .enrolmentFailed(
                        PlatformFailure(AttestationFailure.environmentNotAllowed(.development)))),
                "environment_not_allowed"
            ),
            (Refusal(.distributionNotAllowed, .environment), "environment_not_allowed"),
            (
                Refusal(
                    .attestationInvalid,
                    .enrolmentFailed(PlatformFailure(AttestationFailure.appMismatch))),
                "app_mismatch"
            ),
            (
                Refusal(
                    .assertionInvalid,
                    .evidenceFailed(PlatformFailure(AssertionFailure.appMismatch))), "app_mismatch"
            ),
            (Refusal.appMismatch, "app_mismatch"),
            (
                Refusal(
                    .attestationInvalid,
                    .enrolmentFailed(PlatformFailure(AttestationFailure.environmentUnknown))), nil
            ),
            (Refusal(.distributionNotAllowed, .category), nil), (Refusal(.keyUnknown), nil),
            (Refusal(.assertionInvalid, .evidenceFailed(SignatureBatch.signatureInvalid)), nil),
        ]
        for (refusal, code) in codes { #expect(refusal.exactCode.map { "\($0)" } == code) }
    }

    @Test("tell clients no upstream's address")
    func toldTexts() {
        let failure = UpstreamFailure.connect(description: "10.0.0.1:80: connection refused")
        #expect(Cause.upstreamFailed(failure).textForClients == "connect")
        #expect(Cause.upstreamFailed(.readTimeout).textForClients == "read_timeout")
        #expect(Cause.rate(limit: "few", shortfall: nil).textForClients == "rate: few")
    }

    @Test("decide which of a route's policies has a say")
    func shortfalls() {
        #expect(Refusal(.assertionRequired).shortfall == .missing)
        #expect(Refusal(.assertionRequired, .tier).shortfall == .lowerTier)
        #expect(Refusal(.tokenInvalid, .tokenMissing).shortfall == .missing)
        #expect(Refusal(.tokenInvalid, .tokenFailed(.expired)).shortfall == .invalid)
        #expect(Refusal(.riskTooHigh).shortfall == nil)
        #expect(Refusal(.storeUnavailable, .counters).shortfall == .unjudged)
        #expect(Refusal(.gatewayBusy, .countersFull).shortfall == nil)
    }

    @Test("no bound is a way to fall short, and a full queue is told apart from a failed store")
    func kinds() {
        #expect(Refusal(.queueFull) == Refusal(.gatewayBusy, .registryQueue))
        #expect(Refusal(StoreError("down")).shortfall == .unjudged)
        for reason in Reason.allCases where reason.isBound {
            #expect(Refusal(reason).shortfall == nil)
        }
    }
}
