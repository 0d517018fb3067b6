public import EventLoop

/// The configuration of one connection.
public struct RedisConfiguration: Hashable, Sendable {
    /// The endpoints that are tried in turn; not empty. Several stand for one service, such as
    /// Sentinels.
    public var endpoints: [RedisEndpoint]
    /// The TLS settings, or nil for no TLS.
    public var tls: RedisTLS?
    /// The user name. Without a password an empty one is sent with it, which suits a user without
    /// one (`nopass`).
    public var username: String?
    public var password: String?
    public var database = 0
    /// The name that `CLIENT LIST` shows, without spaces; empty for none.
    public var clientName = "sallyport"
    /// The time allowed for the connection itself, and then again for the whole handshake.
    public var connectTimeout: Duration = .seconds(1)
    /// The time after which the outcome of an unanswered command is unknown.
    public var commandTimeout: Duration = .milliseconds(500)
    /// The most commands in flight. Further ones are refused at once.
    public var inFlightCountMax = 4096
    /// The longest reply: many times the longest that any of our commands gets.
    public var replyByteCountMax = 64 * 1024
    public var backOff = BackOff()

    public init(endpoint: RedisEndpoint) { endpoints = [endpoint] }

    public init(endpoints: [RedisEndpoint]) {
        precondition(!endpoints.isEmpty, "a server without an address")
        self.endpoints = endpoints
    }

    /// The commands with which each connection begins. Each is answered `OK` if it succeeds.
    public var openingSteps: [RedisOpeningStep] {
        var steps: [RedisOpeningStep] = []
        if username != nil || password != nil {
            var command = RedisCommand("AUTH")
            if let username { command.append(username) }
            command.append(password ?? "")
            steps.append(RedisOpeningStep(command: command, name: "AUTH"))
        }
        if database != 0 {
            steps.append(
                RedisOpeningStep(
                    command: RedisCommand("SELECT", String(database)), name: "SELECT"))
        }
        if !clientName.isEmpty {
            steps.append(
                RedisOpeningStep(
                    command: RedisCommand("CLIENT", "SETNAME", clientName),
                    name: "CLIENT SETNAME", isRequired: false))
        }
        return steps
    }
}

/// One of ``RedisConfiguration/openingSteps``.
public struct RedisOpeningStep: Sendable {
    public let command: RedisCommand
    public let name: String
    /// False for the client's name: a server that refuses to note it can be used all the same.
    public var isRequired = true
}
