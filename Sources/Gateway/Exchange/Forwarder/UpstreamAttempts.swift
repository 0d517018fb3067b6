import EventLoop

/// The attempts to have an upstream answer a request.
struct UpstreamAttempts {
    /// The request's place in the queue while every connection is busy.
    enum Queue {
        case outside
        case waiting(UpstreamPool)
        /// The request's turn has come.
        case called
    }

    var queue = Queue.outside
    /// How many attempts got a connection.
    var count = 0
    var triedServers: [ServerState] = []
    /// True if the body follows the head in the same buffer, for one write.
    var isBodyInHead = false
    /// When the first attempt began.
    var beganAt = MonotonicInstant(nanoseconds: 0)
    /// When the last attempt began.
    var startedAt = MonotonicInstant(nanoseconds: 0)
    var headAt = MonotonicInstant(nanoseconds: 0)
    /// The server of the last attempt.
    var server: PooledServer?

    /// The address of the last attempt's server.
    var address: String? { server?.state.text }

    var isCalled: Bool { if case .called = queue { true } else { false } }

    /// Takes the request out of the queue for a connection.
    mutating func leaveQueue(_ exchange: Exchange) {
        if case .waiting(let pool) = queue { pool.forget(exchange) }
        queue = .outside
    }
}

/// How long an upstream has been waiting for the client.
struct ClientWait {
    /// When the wait began; nil if the upstream does not wait.
    var since: MonotonicInstant?
    /// How many bytes of the body came meanwhile.
    var byteCount = 0
}

/// How far a request has come to being a WebSocket.
struct TunnelProgress {
    /// True if the request asks for a tunnel and the route allows it.
    var isAsked = false
    /// True once the upstream has agreed. Bytes then go both ways until both sides have ended.
    var isOpen = false
    /// How many bytes came from the client.
    var byteCount = 0
}
