import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// Who is at the other end of the client's connection.
struct ClientSide {
    var listener: ListenerContext
    var peer: SocketAddress?
    /// Whether the peer's word about the client is taken.
    var isPeerTrusted = false
    /// The connection's TLS session; nil without TLS.
    var session: TLSSession?
    /// The client as trusted proxies name it, once that was asked.
    var knownOrigin: ClientOrigin??
    /// A peer that may ask about requests has said who the client of this one is.
    var isOriginSaid = false

    /// Holds nothing of a connection that may end.
    mutating func forgetConnection() {
        session = nil
        knownOrigin = .none
        isOriginSaid = false
    }
}

/// How and when a request has come.
struct Arrival {
    var startedAt = MonotonicInstant(nanoseconds: 0)
    var requestID = Bytes16(word0: 0, word1: 0)
    /// The trusted peer's own id, where it sent one that can be passed on.
    var trustedRequestID: Range32?
    /// The head was made from HTTP/2's fields.
    var isHTTP2 = false
    /// Its client may have left before it began: it lay unread for a while (``Backlog/isLate``), or
    /// was pipelined and the client sends no more.
    var mayBeLeft = false
}

/// What has been answered so far.
struct AnswerProgress {
    var isStarted = false
    var status: UInt16 = 0
    var byteCount = 0
    /// What a refusal tells the client to do; nil where it was told nothing.
    var toldAction: Reason.Action?
}
