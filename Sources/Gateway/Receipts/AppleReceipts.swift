import AppAttest
import AppleServices
import KeyStore
import Settings

/// Sends receipts with whatever keys the configuration names now.
final class AppleReceipts: ReceiptExchange {
    private let desk: AppleDesk
    let inFlightCountMax: Int

    /// Nil where there is no key.
    init?(_ desk: AppleDesk, _ settings: AppleSettings?) {
        guard let settings else { return nil }
        self.desk = desk
        inFlightCountMax = settings.inFlightCountMax
    }

    func hasKey(ofTeam teamID: String) -> Bool { desk.client?.has(team: teamID) ?? false }

    func exchange(
        _ receipt: [UInt8], of group: ReceiptGroup, handler: @escaping (ReceiptAnswer) -> Void
    ) {
        guard let client = desk.client else { return handler(.other(.unreachable)) }
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
        // Whichever of the two: it concerns the key that signs in, not the receipt.
        case .unauthorized, .forbidden, .noKey: self = .unauthorized
        case .throttled(let retryAfter): self = .throttled(retryAfter: retryAfter)
        case .serverError(_, let retryAfter): self = .serverError(retryAfter: retryAfter)
        case .unanswered: self = .unreachable
        case .unexpected, .malformed: self = .unexpected
        }
    }
}
