import AppAttest
import AppleServices
package import KeyStore
package import Settings

/// Sends receipts with the keys of the present configuration.
package final class AppleReceipts: ReceiptExchange {
    private let service: AppleService
    package let inFlightCountMax: Int

    /// Nil if there is no key to sign in with.
    package init?(_ service: AppleService, _ settings: AppleSettings?) {
        guard let settings else { return nil }
        self.service = service
        inFlightCountMax = settings.inFlightCountMax
    }

    package func hasKey(ofTeam teamID: String) -> Bool {
        service.client?.has(team: teamID) ?? false
    }

    package func exchange(
        _ receipt: [UInt8], of group: ReceiptGroup, handler: @escaping (ReceiptAnswer) -> Void
    ) {
        guard let client = service.client else { return handler(.other(.unreachable("no key"))) }
        client.renew(receipt: receipt, teamID: group.teamID, environment: group.environment) {
            handler(ReceiptAnswer($0))
        }
    }
}

extension ReceiptAnswer {
    init(_ answer: AttestationData.Answer) {
        switch answer {
        case .receipt(let receipt): self = .receipt(receipt)
        case .tooEarly: self = .other(.tooEarly)
        case .incorrectEnvironment: self = .other(.wrongEnvironment)
        case .badPayload: self = .other(.badPayload)
        case .notFound: self = .other(.notFound)
        case .failed(let failure): self = .other(RenewalResult(failure))
        }
    }
}

extension RenewalResult {
    fileprivate init(_ failure: AppleFailure) {
        switch failure {
        // All of these concern the key that signs in, not the receipt.
        case .unauthorized, .forbidden, .noKey: self = .unauthorized
        case .throttled(let retryAfter): self = .throttled(retryAfter: retryAfter)
        case .serverError(_, let retryAfter): self = .serverError(retryAfter: retryAfter)
        case .unanswered: self = .unreachable(failure.description)
        case .unexpected, .malformed: self = .unexpected
        }
    }
}
