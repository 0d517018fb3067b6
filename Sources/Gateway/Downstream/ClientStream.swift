import HTTP2
import Judgement

/// A stream of an ``HTTP2Connection``, whatever kind of request it has.
protocol ClientStream: AnyObject {
    /// Takes the next bytes of the body. Must not answer: the caller holds a view into the bytes.
    func receive(_ bytes: Span<UInt8>) -> (refusal: Refusal?, keepsWindow: Bool)
    /// The bytes were taken; the request may be answered now.
    func bodyWasTaken(_ refusal: Refusal?)
    /// Takes the fields after the body, which are not complete if they are too large; its end
    /// follows.
    func receiveTrailers(_ bytes: [UInt8], isTooLarge: Bool)
    func endBody()
    /// The answer is complete and the request is not.
    func answeredEarly()
    /// The client sends no more. If the request is not complete, it never will be. If its route
    /// says so, the request is cancelled, because the client does not wait for the answer.
    func clientEnded()
    /// The client has not taken all bytes of the connection yet.
    func clientIsAwaited()
    /// The client took the bytes that were waiting for it.
    func clientIsReady()
    /// The stream is gone.
    func close()
}
