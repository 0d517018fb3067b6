import Bytes
public import HTTPSClient
import JSON

/// The DeviceCheck service: tells if a token comes from a real device with our app, and keeps two
/// bits for the device.
public enum DeviceCheck {
    /// A question about a device, asked with the device's token.
    public enum Question: Hashable, Sendable {
        case validate
        case query
        case update(bit0: Bool, bit1: Bool)

        /// The last part of the URL, also for metrics.
        public var name: String {
            switch self {
            case .validate: "validate_device_token"
            case .query: "query_two_bits"
            case .update: "update_two_bits"
            }
        }
    }

    /// The two bits that Apple keeps for a device and a team, for all of the team's apps together.
    public struct Bits: Hashable, Sendable {
        public var bit0: Bool
        public var bit1: Bool
        /// The month of the last update, as `YYYY-MM`.
        public var lastUpdate: String?

        public init(bit0: Bool, bit1: Bool, lastUpdate: String? = nil) {
            self.bit0 = bit0
            self.bit1 = bit1
            self.lastUpdate = lastUpdate
        }
    }

    public enum Answer: Hashable, Sendable {
        /// 200 to `validate` and `update`: the request succeeded.
        case done
        /// 200 to `query`: the bits of the device.
        case bits(Bits)
        /// 200 to `query` with plain text: the bits of this device have never been set.
        case neverSet
        /// 400 by the client's fault: the token is invalid, used up, or of another app or
        /// environment.
        case badToken(String)
        /// 400 for another reason: our request is wrong.
        case badRequest(String)
        case failed(AppleFailure)

        /// The answer as a label of metrics.
        public var label: String {
            switch self {
            case .done, .bits: "ok"
            case .neverSet: "never_set"
            case .badToken: "bad_token"
            case .badRequest: "bad_request"
            case .failed(let failure): failure.label
            }
        }
    }

    /// The most characters of a token that are accepted: real ones have about 2,900.
    public static let tokenByteCountMax = 8 * 1024

    /// Makes a request. `token`: base64, as the device sent it. `transactionID`: never the same
    /// twice.
    static func request(
        _ question: Question, token deviceToken: String, base: String, token: String,
        transactionID: String, milliseconds: Int64
    ) -> HTTPSRequest {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("device_token", string: deviceToken)
        writer.member("transaction_id", string: transactionID)
        writer.member("timestamp", int: milliseconds)
        if case .update(let bit0, let bit1) = question {
            writer.member("bit0", bool: bit0)
            writer.member("bit1", bool: bit1)
        }
        writer.endObject()
        let body = writer.finish()
        return HTTPSRequest(
            url: "\(base)/v1/\(question.name)", method: .post(body: body.readable.array),
            fields: [
                HTTPSField("Authorization", AppleAuthorization.bearer.value(token)),
                HTTPSField("Content-Type", "application/json"),
            ])
    }

    static func answer(
        _ result: Result<HTTPSResponse, HTTPSFailure>, to question: Question
    ) -> Answer {
        switch result {
        case .success(let response): answer(response, to: question)
        case .failure(let failure): .failed(.unanswered(failure))
        }
    }

    /// Interprets a complete response to `question`.
    public static func answer(_ response: HTTPSResponse, to question: Question) -> Answer {
        if let failure = AppleFailure(common: response) { return .failed(failure) }
        switch response.status {
        case 200: return question == .query ? bits(response) : .done
        case 400:
            let isClients = response.words.map { clientErrors.contains($0.lowercased()) } ?? false
            return isClients
                ? .badToken(response.shownWords) : .badRequest(response.shownWords)
        default: return .failed(.unexpected(status: response.status))
        }
    }

    private static let clientErrors: Set = [
        "missing or incorrectly formatted device token payload", "bad device token",
    ]
    private static let neverSetTexts: Set = ["failed to find bit state", "bit state not found"]
    private static let answerByteCountMax = 4 * 1024

    private static func bits(_ response: HTTPSResponse) -> Answer {
        if let words = response.words, neverSetTexts.contains(words.lowercased()) {
            return .neverSet
        }
        guard
            let value = try? JSONValue.parse(response.body.span, byteCountMax: answerByteCountMax),
            case .bool(let bit0) = value["bit0"], case .bool(let bit1) = value["bit1"]
        else { return .failed(.malformed("200 without two bits")) }
        var bits = Bits(bit0: bit0, bit1: bit1)
        if case .string(let text) = value["last_update_time"] { bits.lastUpdate = month(text) }
        return .bits(bits)
    }

    /// `text` if it has the form `YYYY-MM`; nil otherwise.
    private static func month(_ text: String) -> String? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2],
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return nil }
        return text
    }
}
