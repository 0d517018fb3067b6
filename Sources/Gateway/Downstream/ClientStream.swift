import HTTP2
import Judgement

/// A stream of an ``HTTP2Connection``, whatever its request is.
protocol ClientStream: AnyObject {
    /// Takes the next bytes of the body. Nothing may be answered in here: the caller holds a view
    /// into them.
    func receive(_ bytes: Span<UInt8>) -> (refusal: Refusal?, keepsWindow: Bool)
    /// What was received may be answered now.
    func bodyWasTaken(_ refusal: Refusal?)
    /// Takes the fields after the body; its end follows.
    func receiveTrailers(_ bytes: [UInt8])
    func endBody()
    /// The answer is whole and the request is not.
    func answeredEarly()
    /// The client sends no more. If the request is not complete, it never will be. If its route
    /// says so, the request is cancelled, because the client does not wait for the answer.
    func clientEnded()
    /// The client took what was waiting.
    func clientIsReady()
    /// The stream is gone.
    func close()
}
