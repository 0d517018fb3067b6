public import EventLoop

/// Everything that one connection needs to know.
public struct RedisConfiguration: Hashable, Sendable {
    /// Tried in turn; not empty. Several stand for one service, as Sentinels do.
    public var endpoints: [RedisEndpoint]
    /// The TLS settings, or nil for no TLS.
    public var tls: RedisTLS?
    /// The user name. Without a password beside it an empty one is sent, which suits a user without
    /// one (`nopass`).
    public var username: String?
    public var password: String?
    public var database = 0
    /// The name that `CLIENT LIST` shows, without spaces; empty for none.
    public var clientName = "sallyport"
    /// The time allowed for the connection itself, and then again for the whole handshake.
    public var connectTimeout: Duration = .seconds(1)
    /// A command unanswered for this long has an unknown outcome.
    public var commandTimeout: Duration = .milliseconds(500)
    /// Commands beyond are refused at once.
    public var inFlightCountMax = 4096
    /// The longest reply: many times what any of our commands is answered with.
    public var replyByteCountMax = 64 * 1024
    public var backOff = BackOff()

    public init(endpoint: RedisEndpoint) { endpoints = [endpoint] }

    public init(endpoints: [RedisEndpoint]) {
        precondition(!endpoints.isEmpty, "a server without an address")
        self.endpoints = endpoints
    }

    /// Commands with which each connection begins, answered `OK` where all is well.
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
    /// A name that the server refuses to note is no reason to do without it.
    public var isRequired = true
}
