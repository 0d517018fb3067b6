import EventLoop

/// The tries to have a request answered by its upstream.
struct UpstreamAttempts {
    /// Where the request stands while every connection is busy.
    enum Queue {
        case outside
        case waiting(UpstreamPool)
        /// Its turn has come.
        case called
    }

    var queue = Queue.outside
    /// Tries that got a connection.
    var count = 0
    var triedServers: [ServerState] = []
    /// The request's body stands behind its head, for one write.
    var isBodyInHead = false
    /// When the first try began.
    var beganAt = MonotonicInstant(nanoseconds: 0)
    /// When the last try began.
    var startedAt = MonotonicInstant(nanoseconds: 0)
    var headAt = MonotonicInstant(nanoseconds: 0)
    var address: String?

    var isCalled: Bool { if case .called = queue { true } else { false } }

    /// Nobody waits for a connection any more.
    mutating func leaveQueue(_ exchange: Exchange) {
        if case .waiting(let pool) = queue { pool.forget(exchange) }
        queue = .outside
    }
}

/// How long an upstream has been waiting for the client.
struct ClientWait {
    /// Nil where it does not wait.
    var since: MonotonicInstant?
    /// Bytes of the body that came meanwhile.
    var byteCount = 0
}

/// The way of a request to become a WebSocket.
struct TunnelProgress {
    /// It asks for one, and the route lets it.
    var isAsked = false
    /// The upstream has agreed: bytes go both ways until one side ends.
    var isOpen = false
    /// The bytes that came from the client.
    var byteCount = 0
}
