import JSON

/// The body of a request to an AI service, as far as the stand-in follows it.
struct ChatRequest {
    /// The longest answer. Its events take a few seconds to write, and no more.
    static let tokenCountMax = 100_000
    private static let byteCountMax = 256 * 1024

    let model: String
    /// The words of the last message, which the answer says again.
    let words: [Substring]
    /// The words of all messages.
    let promptTokenCount: Int
    /// The number of words that the answer shall have; nil for those of the last message.
    let tokenCount: Int?
    let isStreamed: Bool
    /// True if a stream counts the tokens at its end.
    let tellsUsage: Bool

    init(_ body: [UInt8]) throws(ChatRefusal) {
        guard let members = try? JSONValue.parse(body.span, byteCountMax: Self.byteCountMax),
            members.objectValue != nil
        else { throw Self.refusal("The body is no JSON object.") }
        guard let model = members["model"]?.stringValue else {
            throw Self.refusal("model is missing.")
        }
        guard let messages = members["messages"]?.arrayValue, !messages.isEmpty else {
            throw Self.refusal("messages are missing.")
        }
        var promptTokenCount = 0
        var words: [Substring] = []
        for message in messages {
            guard let text = message["content"]?.stringValue else {
                throw Self.refusal("The content of a message is no text.")
            }
            words = text.split { $0.isWhitespace }
            promptTokenCount += words.count
        }
        self.model = model
        self.words = words
        self.promptTokenCount = promptTokenCount
        tokenCount = try Self.tokenCount(members)
        isStreamed = members["stream"]?.boolValue ?? false
        tellsUsage = members["stream_options"]?["include_usage"]?.boolValue ?? false
    }

    private static func tokenCount(_ members: JSONValue) throws(ChatRefusal) -> Int? {
        guard let value = members["max_completion_tokens"] ?? members["max_tokens"] else {
            return nil
        }
        guard let count = value.integerValue.flatMap({ Int(exactly: $0) }),
            (1...tokenCountMax).contains(count)
        else { throw refusal("max_tokens is no number from 1 to \(tokenCountMax).") }
        return count
    }

    private static func refusal(_ message: String) -> ChatRefusal {
        ChatRefusal(400, "invalid_request_error", message)
    }
}
