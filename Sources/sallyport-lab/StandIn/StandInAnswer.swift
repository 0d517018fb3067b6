import AppAttestTesting

/// What a stand-in answers to a request.
enum StandInAnswer {
    case reply(StandInReply)
    /// Status 200 with a body that comes in pieces.
    case stream(any StandInStream)
}

/// A body that comes in pieces.
protocol StandInStream: AnyObject {
    var contentType: String { get }
    /// The time from one piece to the next. With zero, a piece follows as soon as the one before it
    /// was sent.
    var interval: Duration { get }
    /// The next piece, or nil at the end.
    func next() -> [UInt8]?
    /// Called once: at the end, or, with false, if the client has left before it.
    func end(isWhole: Bool)
}
