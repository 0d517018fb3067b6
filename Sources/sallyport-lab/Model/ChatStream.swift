/// An answer that comes as events, a word in each.
final class ChatStream: StandInStream {
    let contentType = "text/event-stream"
    let interval: Duration
    private let answer: ChatAnswer
    private let ending: [[UInt8]]
    private var eventCount = 0
    private let onEnd: (_ tokenCount: Int, _ isWhole: Bool) -> Void

    /// `onEnd` gets the number of words made until the stream's end, and true if the client has
    /// not left before it.
    init(
        _ answer: ChatAnswer, interval: Duration,
        onEnd: @escaping (_ tokenCount: Int, _ isWhole: Bool) -> Void
    ) {
        self.answer = answer
        self.interval = interval
        self.onEnd = onEnd
        ending = answer.ending
    }

    func next() -> [UInt8]? {
        let index = eventCount
        guard index < answer.tokenCount + ending.count else { return nil }
        eventCount += 1
        return index < answer.tokenCount
            ? answer.piece(index) : ending[index - answer.tokenCount]
    }

    func end(isWhole: Bool) { onEnd(min(eventCount, answer.tokenCount), isWhole) }
}
