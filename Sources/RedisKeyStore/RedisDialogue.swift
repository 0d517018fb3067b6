import EventLoop
import Redis

/// Asks a server one command after another and waits for each answer, on a loop of its own: for
/// commands, never on a worker. It connects once, and does not reconnect.
final class RedisDialogue: RedisConnectionOwner {
    private let loop: EventLoop
    private var connection: RedisConnection?
    private var failure: RedisFailure?

    /// Connects, without a login of its own.
    init(_ configuration: RedisConfiguration) throws(RedisFailure) {
        do throws(EventLoopError) {
            loop = try EventLoop()
        } catch {
            throw .handshakeRefused(error.description)
        }
        let connection = RedisConnection(loop: loop, configuration: configuration, owner: self)
        self.connection = connection
        connection.open()
        while !connection.isReady, failure == nil { loop.run() }
        if let failure { throw failure }
    }

    deinit { connection?.close() }

    func ask(_ command: RedisCommand) throws(RedisFailure) -> RedisReply {
        var outcome: RedisOutcome?
        connection?.send(command) { [loop] answer in
            outcome = answer
            loop.stop()
        }
        while outcome == nil, failure == nil { loop.run() }
        guard case .reply(let reply) = outcome else { throw failure ?? .closed }
        return reply
    }

    // MARK: the connection's words

    func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep { .finished }

    func connectionBecameReady() { loop.stop() }

    func connectionFailed(_ reason: RedisFailure) {
        guard failure == nil else { return }
        failure = reason
        connection?.close()
        loop.stop()
    }
}
