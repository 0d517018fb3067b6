public import EventLoop

/// The Sentinels that watch one master (redis.io, "High availability with Redis Sentinel").
public struct RedisSentinelConfiguration: Hashable, Sendable {
    /// The connection to the Sentinels. They have their own users, and no databases.
    public var connection: RedisConfiguration
    public var masterName: String

    public init(connection: RedisConfiguration, masterName: String) {
        self.connection = connection
        self.masterName = masterName
    }
}

/// Asks Sentinels for the address of the master, and hears from one of them when the master moves.
///
/// Their answers are hints, because they may be cut off or late. Only the server itself can tell
/// that it is a master, and with which data.
public final class RedisSentinel: RedisLocator {
    private let masterName: String
    private let inquiry: Inquiry
    private let subscription: Subscription

    /// Connects when it is asked for the first time; subscribes at once.
    public init(loop: EventLoop, configuration: RedisSentinelConfiguration) {
        masterName = configuration.masterName
        inquiry = Inquiry(loop: loop, configuration)
        subscription = Subscription(loop: loop, configuration)
    }

    /// Called when the master has another address.
    public var onSwitch: ((RedisEndpoint) -> Void)? {
        get { subscription.onSwitch }
        set { subscription.onSwitch = newValue }
    }

    public func locate(_ found: @escaping (Result<RedisEndpoint, RedisFailure>) -> Void) {
        inquiry.locate(found)
    }

    /// Confirms that the server found is a master: the same Sentinel is asked again the next time.
    public func confirm() { inquiry.confirm() }

    /// Sets the configuration of connections that are made from now on.
    public func update(_ configuration: RedisSentinelConfiguration) {
        inquiry.connection?.configuration = configuration.connection
        subscription.connection?.configuration = configuration.connection
    }

    public func close() {
        inquiry.connection?.close()
        subscription.connection?.close()
    }

    deinit { close() }

    // MARK: asking

    /// One connection for questions.
    private final class Inquiry: RedisConnectionOwner {
        private let masterName: String
        private let addressCount: Int
        private(set) var connection: RedisConnection?
        private var waiter: ((Result<RedisEndpoint, RedisFailure>) -> Void)?
        /// The number of Sentinels that failed since the question was asked.
        private var failureCount = 0
        private var isOpen = false
        /// True if an answer led to no master: another Sentinel may know more.
        private var isDoubted = false

        init(loop: EventLoop, _ configuration: RedisSentinelConfiguration) {
            masterName = configuration.masterName
            addressCount = configuration.connection.endpoints.count
            connection = RedisConnection(
                loop: loop, configuration: configuration.connection, owner: self)
        }

        func locate(_ found: @escaping (Result<RedisEndpoint, RedisFailure>) -> Void) {
            waiter = found
            failureCount = 0
            guard let connection else { return }
            if !isOpen {
                isOpen = true
                connection.open()
            } else if connection.isReady {
                if isDoubted, addressCount > 1 {
                    isDoubted = false
                    connection.drop(because: .handshakeRefused("its master is none"))
                } else {
                    ask()
                }
            }
        }

        func confirm() { isDoubted = false }

        private func ask() {
            let command = RedisCommand("SENTINEL", "get-master-addr-by-name", masterName)
            connection?.send(command) { [weak self] outcome in
                guard case .reply(let reply) = outcome else { return }
                self?.take(reply)
            }
        }

        private func take(_ reply: RedisReply) {
            guard let connection else { return }
            let sentinel = connection.endpoint.map(\.description) ?? ""
            if case .array(let parts) = reply, parts.count == 2,
                let endpoint = RedisEndpoint(host: parts[0].text, port: parts[1].text)
            {
                isDoubted = true
                finish(.success(endpoint))
            } else if case .error(let line) = reply {
                connection.drop(
                    because: .handshakeRefused("Sentinel \(sentinel): \(line.prefix(200))"))
            } else {
                connection.drop(
                    because: .handshakeRefused(
                        "Sentinel \(sentinel) knows no master \"\(masterName)\""))
            }
        }

        private func finish(_ result: Result<RedisEndpoint, RedisFailure>) {
            let found = waiter
            waiter = nil
            found?(result)
        }

        func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep { .finished }

        func connectionBecameReady() { if waiter != nil { ask() } }

        func connectionFailed(_ failure: RedisFailure) {
            guard waiter != nil else { return }
            failureCount += 1
            // One failure more than there are Sentinels: the first may only have been the end of an
            // old connection.
            if failureCount > addressCount { finish(.failure(failure)) }
        }
    }

    // MARK: hearing

    /// The connection that hears of switches.
    private final class Subscription: RedisConnectionOwner {
        private let masterName: String
        private(set) var connection: RedisConnection?
        private var pulse: Timer?
        var onSwitch: ((RedisEndpoint) -> Void)?

        init(loop: EventLoop, _ configuration: RedisSentinelConfiguration) {
            masterName = configuration.masterName
            let connection = RedisConnection(
                loop: loop, configuration: configuration.connection, owner: self)
            self.connection = connection
            connection.onMessage = { [weak self] parts in self?.take(parts) }
            // A Sentinel that is cut off says nothing, so it is asked if it is still there.
            pulse = Timer(loop: loop) { [weak self] in
                self?.connection?.send(RedisCommand("PING")) { _ in }
            }
            pulse?.scheduleRepeating(every: Self.pulseInterval)
            connection.open()
        }

        private static let pulseInterval = Duration.seconds(1)

        func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep {
            switch reply {
            case nil: .send(RedisCommand("SUBSCRIBE", "+switch-master"))
            case .array: .finished
            case .error(let line): .refused("SUBSCRIBE: \(line.prefix(200))")
            default: .refused("SUBSCRIBE: the server's answer is not Redis'")
            }
        }

        func connectionBecameReady() {}

        func connectionFailed(_ failure: RedisFailure) {}

        /// Parses `message`, the channel, and `<master> <old ip> <old port> <new ip> <new port>`.
        private func take(_ parts: [RedisReply]) {
            guard parts.count == 3, parts[1].text == "+switch-master",
                let words = parts[2].text?.split(separator: " "), words.count == 5,
                words[0] == masterName,
                let endpoint = RedisEndpoint(host: String(words[3]), port: String(words[4]))
            else { return }
            onSwitch?(endpoint)
        }
    }
}

extension RedisEndpoint {
    /// Parses an endpoint as servers name others. Nil if the text is not one.
    public init?(host: String?, port: String?) {
        guard let host, !host.isEmpty, let number = port.flatMap(UInt16.init), number != 0 else {
            return nil
        }
        self = .tcp(host: host, port: number)
    }
}
