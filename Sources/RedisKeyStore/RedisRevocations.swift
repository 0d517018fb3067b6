public import Attestation
import Bytes
import EventLoop
import Redis

/// The marks by which the counter script refuses revoked keys at once, whatever a gateway has
/// cached. The registry stays the authority: a mark that Redis loses revives no key there.
///
/// For commands: each call connects, writes, and returns when the server has confirmed every mark.
/// Never call it on a worker.
public enum RedisRevocations {
    public static func mark(
        _ keys: [KeyID], configuration: RedisCounterConfiguration
    ) throws(RedisRevocationError) {
        guard !keys.isEmpty else { return }
        var attemptCount = 1
        while true {
            do throws(RedisRevocationError) {
                return try markOnce(keys, configuration)
            } catch {
                // Slots move and masters change, so this is repeated. Setting a mark twice does no
                // harm.
                guard attemptCount < attemptCountMax, error.mentionsAnotherServer else {
                    throw error
                }
                attemptCount += 1
            }
        }
    }

    private static let attemptCountMax = 3

    private static func markOnce(
        _ keys: [KeyID], _ configuration: RedisCounterConfiguration
    ) throws(RedisRevocationError) {
        let directory: RedisDirectory
        do throws(RedisFailure) {
            directory = try RedisDirectory(configuration)
        } catch {
            throw .notConnected(error.description)
        }
        let layout = RedisKeyLayout(prefix: configuration.keyPrefix)
        var commands: [RedisEndpoint: [RedisCommand]] = [:]
        for key in keys {
            let name = layout.revoked(key)
            let master =
                if let map = directory.map {
                    map[RedisSlot(ofKey: name)]
                } else {
                    directory.masters.first
                }
            guard let master else { throw .notConnected("a slot of the cluster has no master") }
            var command = RedisCommand("SET")
            command.append(name)
            command.append("1")
            commands[master, default: []].append(command)
        }
        for (endpoint, commands) in commands {
            var connection = configuration.connection
            connection.endpoints = [endpoint]
            try run(connection, commands)
        }
    }

    private static func run(
        _ configuration: RedisConfiguration, _ commands: [RedisCommand]
    ) throws(RedisRevocationError) {
        let loop: EventLoop
        do { loop = try EventLoop() } catch { throw .notConnected(error.description) }
        let errand = RedisErrand(loop: loop, configuration: configuration, commands: commands)
        loop.run()
        if let failure = errand.failure { throw failure }
    }
}

/// The reason why marks were not set, or some may not have been.
public enum RedisRevocationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nothing was changed.
    case notConnected(String)
    /// The first `doneCount` keys are marked; the others may or may not be.
    case interrupted(doneCount: Int, String)

    fileprivate var mentionsAnotherServer: Bool {
        guard case .interrupted(_, let reason) = self else { return false }
        return ["MOVED ", "ASK ", "TRYAGAIN", "READONLY"].contains(where: reason.hasPrefix)
    }

    public var description: String {
        switch self {
        case .notConnected(let reason): "redis: \(reason)"
        case .interrupted(let doneCount, let reason):
            "redis: interrupted after \(String(counting: doneCount, "key")): \(reason)"
        }
    }
}

/// Sends commands one batch after another over a connection of its own, and stops its loop when all
/// are confirmed or the first thing goes wrong.
private final class RedisErrand: RedisConnectionOwner {
    private let loop: EventLoop
    private var connection: RedisConnection?
    private let commands: [RedisCommand]
    private let batchCount: Int
    private var sentCount = 0
    private var doneCount = 0
    private var isFinished = false
    private(set) var failure: RedisRevocationError?

    init(loop: EventLoop, configuration: RedisConfiguration, commands: [RedisCommand]) {
        self.loop = loop
        self.commands = commands
        batchCount = max(1, min(512, configuration.inFlightCountMax))
        let connection = RedisConnection(loop: loop, configuration: configuration, owner: self)
        self.connection = connection
        connection.open()
    }

    func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep { .finished }

    func connectionBecameReady() { sendBatch() }

    func connectionFailed(_ failure: RedisFailure) { finish(failure.description) }

    private func sendBatch() {
        let batch = commands[sentCount..<min(sentCount + batchCount, commands.count)]
        sentCount += batch.count
        for command in batch {
            connection?.send(command) { [weak self] outcome in self?.settle(outcome) }
        }
    }

    private func settle(_ outcome: RedisOutcome) {
        switch outcome {
        case .reply(.simpleString("OK")):
            doneCount += 1
            if doneCount == commands.count {
                finish(nil)
            } else if doneCount == sentCount {
                sendBatch()
            }
        case .reply(.error(let line)): finish(String(line.prefix(200)))
        case .reply: finish("the server's answer is not Redis'")
        case .unavailable, .full, .unknown: finish("the connection was lost")
        }
    }

    private func finish(_ problem: String?) {
        guard !isFinished else { return }
        isFinished = true
        if let problem {
            failure =
                sentCount == 0
                ? .notConnected(problem) : .interrupted(doneCount: doneCount, problem)
        }
        connection?.close()
        loop.stop()
    }
}
