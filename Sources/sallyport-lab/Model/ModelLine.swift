import Bytes
import JSON

/// The line that a stand-in for an AI service prints about a request.
struct ModelLine {
    private let method: String
    private let target: String
    private let fields: [(name: String, value: String?)]
    private var model: String?
    private var isStreamed = false
    private var promptTokenCount = 0
    var status = 200
    var completionTokenCount = 0
    var endedEarly = false

    /// `names`: the header fields that the line has.
    init(_ request: HTTPRequest, showing names: [String]) {
        method = request.method
        target = request.target
        fields = names.map { ($0, request[$0]) }
    }

    mutating func note(_ chat: ChatRequest) {
        model = chat.model
        isStreamed = chat.isStreamed
        promptTokenCount = chat.promptTokenCount
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("method", string: method)
        writer.member("target", string: target)
        writer.member("status", int: Int64(status))
        if let model { writer.member("model", string: model) } else { writer.null("model") }
        writer.member("streamed", bool: isStreamed)
        writer.member("prompt_tokens", int: Int64(promptTokenCount))
        writer.member("completion_tokens", int: Int64(completionTokenCount))
        writer.member("ended_early", bool: endedEarly)
        writer.beginObject("fields")
        for (name, value) in fields {
            writer.member(named: name, value: value.map { .string($0) } ?? .null)
        }
        writer.endObject()
        writer.endObject()
        writer.raw("\n")
        let buffer = writer.finish()
        return buffer.readable.array
    }
}
