import AppAttestTesting
import Bytes
import JSON

/// A stand-in for an AI service in the usual form, whose answers and token counts follow from the
/// request alone.
final class ModelStandIn {
    private static let target = "/v1/chat/completions"

    private let key: String
    private let interval: Duration
    private let shownFields: [String]
    private var answerCount = 0
    /// Called with the line of each request, once its answer has ended.
    var onLine: (([UInt8]) -> Void)?

    /// `interval`: the time from one event of a stream to the next. `shownFields`: the names of
    /// the header fields that lines have.
    init(key: String, interval: Duration, shownFields: [String]) {
        self.key = key
        self.interval = interval
        self.shownFields = shownFields
    }

    func answer(to request: HTTPRequest) -> StandInAnswer {
        var line = ModelLine(request, showing: shownFields)
        do throws(ChatRefusal) {
            try checkHead(request)
            let chat = try ChatRequest(request.body)
            answerCount += 1
            let answer = ChatAnswer(to: chat, number: answerCount)
            line.note(chat)
            guard chat.isStreamed else {
                line.completionTokenCount = answer.tokenCount
                onLine?(line.json)
                return .reply(Self.reply(200, answer.whole))
            }
            return .stream(
                ChatStream(answer, interval: interval) { [self, line] tokenCount, isWhole in
                    var line = line
                    line.completionTokenCount = tokenCount
                    line.endedEarly = !isWhole
                    onLine?(line.json)
                })
        } catch {
            line.status = error.status
            onLine?(line.json)
            return .reply(Self.reply(error.status, error.json))
        }
    }

    private func checkHead(_ request: HTTPRequest) throws(ChatRefusal) {
        guard request.path == Self.target else {
            throw ChatRefusal(404, "not_found_error", "Unknown path.")
        }
        guard request.method == "POST" else {
            throw ChatRefusal(405, "invalid_request_error", "Only POST is allowed.")
        }
        guard request["Authorization"] == "Bearer " + key else {
            throw ChatRefusal(401, "authentication_error", "Incorrect API key provided.")
        }
    }

    private static func reply(_ status: Int, _ body: [UInt8]) -> StandInReply {
        var reply = StandInReply(status: status, body: body)
        reply.fields = [.init("Content-Type", "application/json")]
        return reply
    }
}

/// The refusal of a request to an AI service.
struct ChatRefusal: Error {
    let status: Int
    let type: String
    let message: String

    init(_ status: Int, _ type: String, _ message: String) {
        self.status = status
        self.type = type
        self.message = message
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.beginObject("error")
        writer.member("message", string: message)
        writer.member("type", string: type)
        writer.endObject()
        writer.endObject()
        let buffer = writer.finish()
        return buffer.readable.array
    }
}
