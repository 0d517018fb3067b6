import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// The client's side of an exchange: the listener, the connection's peer, and the client behind it.
struct ClientSide {
    var listener: ListenerContext
    var peer: SocketAddress?
    /// True if the gateway believes what the peer says about the client.
    var isPeerTrusted = false
    /// The connection's TLS session; nil without TLS.
    var session: TLSSession?
    /// The client as trusted proxies name it, once it was read from the head.
    var knownOrigin: ClientOrigin??
    /// True if the peer asks about a request and has named that request's client.
    var isOriginSaid = false

    /// Releases everything that belongs to the connection, which may end.
    mutating func forgetConnection() {
        session = nil
        knownOrigin = .none
        isOriginSaid = false
    }
}

/// How and when a request arrived.
struct Arrival {
    var startedAt = MonotonicInstant(nanoseconds: 0)
    var requestID = Bytes16(word0: 0, word1: 0)
    /// The request id that a trusted peer sent; nil if it sent none that can be passed on.
    var trustedRequestID: Range32?
    /// True if the head was made from HTTP/2 fields.
    var isHTTP2 = false
    /// True if the client may have left before the request began: the request lay unread for a
    /// while (``Backlog/isLate``), or was pipelined and the client sends no more.
    var mayBeLeft = false
}

/// How much of the answer the client has been sent.
struct AnswerProgress {
    var isStarted = false
    var status: UInt16 = 0
    var byteCount = 0
    /// The action that a refusal told the client to take; nil if it told none.
    var toldAction: Reason.Action?
}
