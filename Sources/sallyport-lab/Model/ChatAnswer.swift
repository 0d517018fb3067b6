import Bytes
import JSON

/// The answer of an AI service, whole or as the events of a stream.
struct ChatAnswer {
    private let request: ChatRequest
    private let id: String
    let tokenCount: Int

    /// `number`: how many answers there are with this one.
    init(to request: ChatRequest, number: Int) {
        self.request = request
        id = "chatcmpl-\(number)"
        tokenCount = request.words.isEmpty ? 0 : request.tokenCount ?? request.words.count
    }

    private func word(_ index: Int) -> String {
        let word = request.words[index % request.words.count]
        return index == 0 ? String(word) : " " + word
    }

    /// Says if the words end because of `max_tokens`, as services do.
    private var finishReason: String { request.tokenCount == nil ? "stop" : "length" }

    // MARK: whole

    var whole: [UInt8] {
        json("chat.completion") { writer in
            writer.beginArray("choices")
            writer.beginObject()
            writer.member("index", int: 0)
            writer.beginObject("message")
            writer.member("role", string: "assistant")
            writer.member("content", string: (0..<tokenCount).map(word).joined())
            writer.endObject()
            writer.member("finish_reason", string: finishReason)
            writer.endObject()
            writer.endArray()
            writeUsage(to: &writer)
        }
    }

    // MARK: events

    /// The event that has the word at `index`.
    func piece(_ index: Int) -> [UInt8] { event(content: word(index), finishReason: nil) }

    /// The events behind the last word.
    var ending: [[UInt8]] {
        var events = [event(content: nil, finishReason: finishReason)]
        if request.tellsUsage {
            events.append(
                Self.event(
                    json("chat.completion.chunk") { writer in
                        writer.beginArray("choices")
                        writer.endArray()
                        writeUsage(to: &writer)
                    }))
        }
        return events + [Self.event(Array("[DONE]".utf8))]
    }

    private func event(content: String?, finishReason: String?) -> [UInt8] {
        Self.event(
            json("chat.completion.chunk") { writer in
                writer.beginArray("choices")
                writer.beginObject()
                writer.member("index", int: 0)
                writer.beginObject("delta")
                if let content { writer.member("content", string: content) }
                writer.endObject()
                if let finishReason {
                    writer.member("finish_reason", string: finishReason)
                } else {
                    writer.null("finish_reason")
                }
                writer.endObject()
                writer.endArray()
                // Until the tokens are counted, the member is there and says nothing.
                if request.tellsUsage { writer.null("usage") }
            })
    }

    /// One event of a stream (WHATWG HTML section 9.2).
    private static func event(_ data: [UInt8]) -> [UInt8] {
        Array("data: ".utf8) + data + Array("\n\n".utf8)
    }

    // MARK: JSON

    private func json(_ object: StaticString, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", string: id)
        writer.member("object", constant: object)
        writer.member("model", string: request.model)
        write(&writer)
        writer.endObject()
        let buffer = writer.finish()
        return buffer.readable.array
    }

    private func writeUsage(to writer: inout JSONWriter) {
        writer.beginObject("usage")
        writer.member("prompt_tokens", int: Int64(request.promptTokenCount))
        writer.member("completion_tokens", int: Int64(tokenCount))
        writer.member("total_tokens", int: Int64(request.promptTokenCount + tokenCount))
        writer.endObject()
    }
}
