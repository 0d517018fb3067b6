public import EventLoop

/// The life of one connection, again and again: connect, shake hands, serve, fail, wait.
///
/// It touches no socket and no clock: every method takes an event and returns the action. An event
/// that does not fit the phase (a timer that fired while its cancellation was on the way) causes no
/// action.
public struct RedisSessionState: Hashable, Sendable {
    public enum Phase: Hashable, Sendable {
        case idle
        case connecting
        case handshaking
        case ready
        /// Commands already sent are awaited, and new ones are refused; then the connection is
        /// dropped.
        case retiring
        case waiting
        case closed
    }

    public enum Action: Hashable, Sendable {
        case nothing
        /// Open a socket and arm the connect deadline.
        case connect
        case beginHandshake
        case announceReady
        case announceUnready
        /// Close the socket, settle the commands in flight, and try again after the wait.
        case drop(reconnectAfter: Duration)
        /// Close the socket and settle the commands in flight, for good.
        case finish
    }

    public private(set) var phase = Phase.idle
    /// The number of attempts that failed since the last finished handshake.
    public private(set) var failureCount = 0
    private let backOff: BackOff
    private let inFlightCountMax: Int

    public init(backOff: BackOff, inFlightCountMax: Int) {
        self.backOff = backOff
        self.inFlightCountMax = inFlightCountMax
    }

    /// True if a command may be sent while `inFlightCount` others wait for their replies.
    public func admits(inFlightCount: Int) -> Bool {
        phase == .ready && inFlightCount < inFlightCountMax
    }

    public mutating func open() -> Action {
        guard phase == .idle else { return .nothing }
        phase = .connecting
        return .connect
    }

    public mutating func connected() -> Action {
        guard phase == .connecting else { return .nothing }
        phase = .handshaking
        return .beginHandshake
    }

    public mutating func handshakeFinished() -> Action {
        guard phase == .handshaking else { return .nothing }
        phase = .ready
        failureCount = 0
        return .announceReady
    }

    /// The connection, or the attempt at one, has failed. `jitter` is 0...1.
    public mutating func failed(jitter: Double) -> Action {
        switch phase {
        case .connecting, .handshaking, .ready, .retiring:
            failureCount += 1
            phase = .waiting
            return .drop(
                reconnectAfter: backOff.delay(failureCount: failureCount, jitter: jitter))
        case .idle, .waiting, .closed:
            return .nothing
        }
    }

    public mutating func backOffEnded() -> Action {
        guard phase == .waiting else { return .nothing }
        phase = .connecting
        return .connect
    }

    /// A new connection is wanted once all commands sent on this one are answered.
    public mutating func retire() -> Action {
        guard phase == .ready else { return .nothing }
        phase = .retiring
        return .announceUnready
    }

    public mutating func close() -> Action {
        guard phase != .closed else { return .nothing }
        phase = .closed
        return .finish
    }
}
