import Bytes
public import HTTPSClient

/// `attestationData`: exchanges a receipt for the newest one of the same key.
public enum AttestationData {
    /// Apple's answer to an exchange of a receipt.
    public enum Answer: Hashable, Sendable {
        /// 200: the answer is a newer receipt, not yet verified.
        case receipt([UInt8])
        /// 304: the receipt's own *not before* has not come.
        case tooEarly
        /// 400 `Incorrect Environment`: the receipt belongs to the other environment.
        case incorrectEnvironment
        /// 400 `Bad Payload`: the receipt will never be accepted.
        case badPayload
        /// 404: the receipt is older than 30 days, or unknown.
        case notFound
        case failed(AppleFailure)

        /// The answer as a label of metrics.
        public var label: String {
            switch self {
            case .receipt: "ok"
            case .tooEarly: "too_early"
            case .incorrectEnvironment: "wrong_environment"
            case .badPayload: "bad_payload"
            case .notFound: "not_found"
            case .failed(let failure): failure.label
            }
        }
    }

    static let path = "/v1/attestationData"

    /// Makes the request. The body is the receipt in base64, and nothing else.
    static func request(
        _ receipt: [UInt8], base: String, token: String, authorization: AppleAuthorization
    ) -> HTTPSRequest {
        HTTPSRequest(
            url: base + path, method: .post(body: Base64.encodeBytes(receipt)),
            fields: [
                HTTPSField("Authorization", authorization.value(token)),
                HTTPSField("Content-Type", "base64"),
            ])
    }

    static func answer(_ result: Result<HTTPSResponse, HTTPSFailure>) -> Answer {
        switch result {
        case .success(let response): answer(response)
        case .failure(let failure): .failed(.unanswered(failure))
        }
    }

    /// Interprets a complete response.
    public static func answer(_ response: HTTPSResponse) -> Answer {
        if let failure = AppleFailure(common: response) { return .failed(failure) }
        switch response.status {
        case 200:
            // Encoders of base64 break lines, or end the last one with a line feed.
            let text = response.body.filter { $0 != 0x0D && $0 != 0x0A }
            guard let receipt = Base64.decode(text.span), !receipt.isEmpty else {
                return .failed(.malformed("200 without a receipt in base64"))
            }
            return .receipt(receipt)
        case 304: return .tooEarly
        case 400:
            // Only answers that Apple is known to give end a receipt's renewal. The error page
            // of a proxy in between would otherwise end the renewal of all receipts.
            switch response.words?.lowercased() {
            case "incorrect environment": return .incorrectEnvironment
            case "bad payload": return .badPayload
            default: return .failed(.malformed("400 with \(response.shownWords)"))
            }
        case 404: return .notFound
        default: return .failed(.unexpected(status: response.status))
        }
    }
}

/// The form of the token in the `Authorization` header.
public enum AppleAuthorization: String, Hashable, Sendable, CaseIterable {
    /// The token alone, as in Apple's sample for `attestationData`.
    case bare
    case bearer

    func value(_ token: String) -> String {
        switch self {
        case .bare: token
        case .bearer: "Bearer " + token
        }
    }
}
