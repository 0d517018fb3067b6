import AndroidAttestation
import AppAttest
import Attestation
import CBOR
import GatewayTokens
import HTTP
import JWT
import Judgement

/// Every cause that the code can name. The chains go from each case to the next, and the compiler
/// refuses them when a case is added, so that none is forgotten.
enum EveryCause {
    static var all: [(reason: Reason, cause: Cause)] {
        // One line for each kind: of a single expression the compiler would need 5 s for the types.
        var all: [(reason: Reason, cause: Cause)] = named
        all += Cause.Check.allCases.map { (.badRequest, .check($0)) }
        all += HTTPFault.allCases.map { (.badRequest, .httpFault($0)) }
        all += chain(from: .malformed(.format), next).map { (.assertionInvalid, $0) }
        all += chain(from: ClientDataFailure.json("x"), next)
            .map { (.assertionMalformed, .clientDataFailed($0)) }
        all += ClientDataMismatch.allCases.map { (.requestMismatch, .clientDataMismatch($0)) }
        all += chain(from: AttestationFailure.malformed(.format), next)
            .map { (.attestationInvalid, .enrolmentFailed(PlatformFailure($0))) }
        all += chain(from: ReceiptFailure.malformed("x"), next)
            .map { (.ok, .enrolmentFlawed(PlatformFailure($0))) }
        all += AndroidAttestationFailure.allCodes.map { code in
            let failure = PlatformFailure(.other, code: code, description: code)
            return (.attestationInvalid, .enrolmentFailed(failure))
        }
        all.append((.storeUnavailable, .enrolmentFailed(AndroidPlatform.revocationsMissing)))
        all += SessionTokenFailure.allCases.map { (.tokenInvalid, .tokenFailed($0)) }
        all += TokenFailure.allCases.map {
            ($0 == .keysMissing ? .storeUnavailable : .tokenInvalid, .proofFailed($0))
        }
        all += chain(from: UpstreamFailure.connect(description: "x"), next)
            .map { ($0.reason, .upstreamFailed($0)) }
        return all
    }

    /// The causes whose name is the operator's or Apple's.
    private static let named: [(reason: Reason, cause: Cause)] = [
        (.storeUnavailable, .deviceCheck(label: "timeout")),
        (.gatewayBusy, .deviceCheck(label: "throttled")),
        (.storeUnavailable, .deviceCheck(label: "of_next_year")),
        (.rateLimited, .rate(limit: "few", shortfall: nil)),
        (.rateLimited, .rate(limit: "few (or many)", shortfall: .keyUnknown)),
        (.abuseSuspected, .signal(name: "keys_per_user")),
        (.bodyRefused, .bodyRule(pointer: "/model")),
        (.quotaExhausted, .quota(name: "daily")),
    ]

    /// Makes the compiler name a kind of cause for which ``all`` has no line.
    static func isCovered(_ cause: Cause) -> Bool {
        switch cause {
        case .check, .httpFault, .evidenceFailed, .clientDataFailed, .clientDataMismatch,
            .enrolmentFailed, .enrolmentFlawed, .tokenFailed, .proofFailed, .deviceCheck, .rate,
            .bodyRule, .quota, .signal, .upstreamFailed:
            true
        }
    }

    private static func chain<Value>(from first: Value, _ next: @escaping (Value) -> Value?)
        -> [Value]
    {
        Array(sequence(first: first, next: next))
    }

    /// Of assertions, with every malformation, since each is a text of its own.
    private static func chain(
        from first: AssertionFailure, _ next: @escaping (AssertionFailure) -> AssertionFailure?
    ) -> [Cause] {
        chain(from: Malformation.cbor(CBORError(.truncated, at: 7)), Self.next)
            .map { .evidenceFailed(PlatformFailure(AssertionFailure.malformed($0))) }
            + Array(sequence(first: first, next: next)).map {
                .evidenceFailed(PlatformFailure($0))
            }
    }

    private static func next(_ failure: AssertionFailure) -> AssertionFailure? {
        switch failure {
        case .malformed: .signatureInvalid
        case .signatureInvalid: .appMismatch
        case .appMismatch: nil
        }
    }

    private static func next(_ malformation: Malformation) -> Malformation? {
        switch malformation {
        case .cbor: .member("signature")
        case .member: .format
        case .format: .authenticatorDataTooLong(byteCount: 5000)
        case .authenticatorDataTooLong: .truncated(.header)
        case .truncated: .coseKey
        case .coseKey: .extensions
        case .extensions: .certificateCount(9)
        case .certificateCount: .certificate(index: 1)
        case .certificate: nil
        }
    }

    private static func next(_ failure: ClientDataFailure) -> ClientDataFailure? {
        switch failure {
        case .json: .memberMissing("path")
        case .memberMissing: .memberMalformed("path")
        case .memberMalformed: nil
        }
    }

    private static func next(_ failure: AttestationFailure) -> AttestationFailure? {
        switch failure {
        case .malformed: .certificateExpired
        case .certificateExpired: .certificateNotYetValid
        case .certificateNotYetValid: .certificateChain("x")
        case .certificateChain: .certificateProfile("x")
        case .certificateProfile: .nonceMissing
        case .nonceMissing: .nonceMalformed
        case .nonceMalformed: .nonceMismatch
        case .nonceMismatch: .keyIDMismatch
        case .keyIDMismatch: .appMismatch
        case .appMismatch: .counterNotZero
        case .counterNotZero: .environmentUnknown
        case .environmentUnknown: .environmentNotAllowed(.development)
        case .environmentNotAllowed: .credentialIDMismatch
        case .credentialIDMismatch: .publicKeyMismatch
        case .publicKeyMismatch: .macSecurityReduced
        case .macSecurityReduced: nil
        }
    }

    private static func next(_ failure: ReceiptFailure) -> ReceiptFailure? {
        switch failure {
        case .malformed: .cmsInvalid("x")
        case .cmsInvalid: .certificateChain("x")
        case .certificateChain: .appMismatch
        case .appMismatch: .keyMismatch
        case .keyMismatch: .environmentMismatch
        case .environmentMismatch: .timeMismatch
        case .timeMismatch: nil
        }
    }

    private static func next(_ failure: UpstreamFailure) -> UpstreamFailure? {
        switch failure {
        case .connect: .broken(description: "reset (by peer)")
        case .broken: .refused(description: "x")
        case .refused: .malformed(code: "status_line_invalid")
        case .malformed: .connectTimeout
        case .connectTimeout: .exhausted
        case .exhausted: .sendTimeout
        case .sendTimeout: .responseTimeout
        case .responseTimeout: .readTimeout
        case .readTimeout: nil
        }
    }
}
