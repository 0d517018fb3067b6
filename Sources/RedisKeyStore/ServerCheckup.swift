import Redis

/// The steps of a check-up with one server.
struct ServerCheckup {
    private let configuration: RedisCounterConfiguration
    /// The slots of the server in a cluster.
    private let slots: [RedisSlot]?
    private let mayWrite: Bool
    private let report: (RedisCheckupStep) -> Void
    private let dialogue: RedisDialogue
    /// The server's life as a record names it, or nil if no gateway would use it.
    private var life: (process: String, history: String)?
    /// The name of the step in which a lost connection is reported.
    private var stepName = "connection"

    static func run(
        _ configuration: RedisCounterConfiguration, slots: [RedisSlot]?, mayWrite: Bool,
        report: @escaping (RedisCheckupStep) -> Void
    ) {
        var bare = configuration.connection
        bare.username = nil
        bare.password = nil
        bare.database = 0
        bare.clientName = ""
        // As long as a gateway waits for the first steps of a connection.
        bare.commandTimeout = max(bare.commandTimeout, bare.connectTimeout)
        do throws(RedisFailure) {
            let dialogue = try RedisDialogue(bare)
            var checkup = ServerCheckup(
                configuration: configuration, slots: slots, mayWrite: mayWrite, report: report,
                dialogue: dialogue)
            checkup.tell(.ok, "\(bare.endpoints[0])\(bare.tls == nil ? "" : ", TLS")")
            checkup.run()
        } catch {
            report(
                RedisCheckupStep(
                    name: "connection", verdict: .failure, text: error.description))
        }
    }

    private init(
        configuration: RedisCounterConfiguration, slots: [RedisSlot]?, mayWrite: Bool,
        report: @escaping (RedisCheckupStep) -> Void, dialogue: RedisDialogue
    ) {
        self.configuration = configuration
        self.slots = slots
        self.mayWrite = mayWrite
        self.report = report
        self.dialogue = dialogue
    }

    private mutating func run() {
        do throws(RedisFailure) {
            guard try logIn() else { return }
            try checkServer()
            if life != nil {
                try checkEviction()
                try checkPersistence()
                try checkReplicas()
                try checkIncarnation()
            }
            if mayWrite { try checkScripts() }
        } catch {
            tell(.failure, error.description)
        }
    }

    private func tell(_ verdict: RedisCheckupStep.Verdict, _ text: String) {
        report(RedisCheckupStep(name: stepName, verdict: verdict, text: text))
    }

    /// The reply; nil if the server refuses the command, which is reported.
    private func ask(_ command: RedisCommand, as name: String) throws(RedisFailure) -> RedisReply? {
        let reply = try dialogue.ask(command)
        guard case .error(let line) = reply else { return reply }
        tell(.failure, "\(name): \(try cause(of: line).prefix(200))")
        return nil
    }

    /// The words of an error; if a right is missing, they name it.
    private func cause(of line: String) throws(RedisFailure) -> String {
        guard RightsInquiry.isNeeded(for: line) else { return line }
        var inquiry = RightsInquiry(about: line, record: record, isCluster: slots != nil)
        var reply: RedisReply?
        while true {
            switch inquiry.step(after: reply) {
            case .ask(let command): reply = try dialogue.ask(command)
            case .found(let words): return words
            }
        }
    }

    private var record: [UInt8] {
        RedisKeyLayout(prefix: configuration.keyPrefix)
            .record(tag: slots.flatMap { slots in slots.min { $0.rank < $1.rank }?.tag })
    }

    private func tellUnexpected(_ name: String) {
        tell(.failure, "\(name): the server's answer is not Redis'")
    }

    // MARK: the steps

    private mutating func logIn() throws(RedisFailure) -> Bool {
        let connection = configuration.connection
        let steps = connection.openingSteps
        for (name, command, text) in [
            ("login", "AUTH", connection.username.map { "as \($0)" } ?? "with a password"),
            ("database", "SELECT", "\(connection.database)"),
        ] {
            stepName = name
            guard let step = steps.first(where: { $0.name == command }) else {
                tell(.ok, name == "login" ? "no credentials are configured" : text)
                continue
            }
            guard let reply = try ask(step.command, as: command) else { return false }
            guard reply == .simpleString("OK") else {
                tellUnexpected(command)
                return false
            }
            tell(.ok, text)
        }
        return true
    }

    private func information(_ section: String) throws(RedisFailure) -> ServerInformation? {
        guard let reply = try ask(RedisCommand("INFO", section), as: "INFO \(section)") else {
            return nil
        }
        guard let text = reply.text else {
            tellUnexpected("INFO \(section)")
            return nil
        }
        return ServerInformation(text)
    }

    private mutating func checkServer() throws(RedisFailure) {
        stepName = "server"
        guard let server = try information("server"),
            let replication = try information("replication")
        else { return }
        let version = server["redis_version"] ?? "of an unknown version"
        let role = replication["role"] ?? "of an unknown role"
        guard role == "master" else {
            return tell(
                .failure, "Redis \(version) is not a master but \(role): it takes no writes")
        }
        guard let process = server["run_id"], !process.isEmpty else {
            return tell(.failure, "Redis \(version) names no run_id: a restart cannot be noticed")
        }
        guard let history = replication["master_replid"],
            history.utf8.count == IncarnationScript.historyByteCount
        else {
            return tell(
                .failure, "Redis \(version) names no master_replid: a failover cannot be noticed")
        }
        life = (process, history)
        if slots != nil, try ask(RedisCommand("CLUSTER", "INFO"), as: "CLUSTER INFO") == nil {
            return
        }
        let text = "Redis \(version), \(server["redis_mode"] ?? "standalone"), master"
        let major = version.prefix { $0 != "." }
        if let number = Int(major), number < Self.majorVersionMin {
            tell(.warning, "\(text): older than \(Self.majorVersionMin).0, which is untested")
        } else {
            tell(.ok, text)
        }
    }

    /// Checks the rule of the incarnation script, and warns if the server comes near to breaking
    /// it.
    private mutating func checkEviction() throws(RedisFailure) {
        stepName = "eviction"
        guard let memory = try information("memory") else { return }
        guard let policy = memory["maxmemory_policy"] else {
            return tell(.warning, "the server does not say its maxmemory-policy: set noeviction")
        }
        if policy == "noeviction" {
            tell(.ok, "maxmemory-policy noeviction")
        } else if memory["maxmemory"] == "0" {
            tell(
                .warning,
                "maxmemory-policy \(policy): it evicts nothing while maxmemory is 0, and no "
                    + "gateway uses this server once it is not; set noeviction")
        } else {
            tell(
                .failure,
                "maxmemory-policy \(policy) may throw counters away, so no gateway uses this "
                    + "server: set noeviction")
        }
    }

    /// Persistence is not needed, but if it fails the server refuses writes.
    private mutating func checkPersistence() throws(RedisFailure) {
        stepName = "persistence"
        guard let persistence = try information("persistence") else { return }
        let hasLog = persistence["aof_enabled"] == "1"
        for (name, what) in [
            ("rdb_last_bgsave_status", "the last snapshot"),
            ("aof_last_write_status", "the last write to the append-only file"),
        ] where (persistence[Substring(name)] ?? "ok") != "ok" {
            return tell(.warning, "\(what) failed: Redis may refuse what gateways write")
        }
        tell(
            .ok,
            hasLog
                ? "append-only file"
                : "no append-only file: after a restart apps sign once more, and all other "
                    + "counts start over")
    }

    private mutating func checkReplicas() throws(RedisFailure) {
        stepName = "replicas"
        guard let replication = try information("replication") else { return }
        let count = Int(replication["connected_slaves"] ?? "") ?? 0
        guard count > 0 || configuration.sentinel != nil || slots != nil else {
            return tell(.ok, "none")
        }
        if count == 0 {
            return tell(.warning, "none: no server can take over from this one")
        }
        guard let wait = configuration.wait else {
            if replication["min_slaves_good_slaves"] != nil {
                return tell(.ok, "\(count), with min-replicas-to-write")
            }
            return tell(
                .warning,
                "\(count), and neither counters.redis.wait nor min-replicas-to-write: a failover "
                    + "forgets the last counters, though nothing is accepted twice")
        }
        tell(
            wait.replicaCount > count ? .warning : .ok,
            "\(count), of which \(wait.replicaCount) are waited for")
    }

    private mutating func checkIncarnation() throws(RedisFailure) {
        stepName = "incarnation"
        var command = RedisCommand("GET")
        command.append(record)
        switch try ask(command, as: "GET") {
        case nil: return
        case .null: tell(.ok, "none yet: the first gateway begins one")
        case .some(let reply):
            guard let record = reply.text else { return tellUnexpected("GET") }
            let words = record.split(separator: " ").map(String.init)
            if let life, words.count > 4, words[1] == life.history, words[4] == life.process {
                tell(.ok, "\(record.prefix(IncarnationScript.digitCount)), of this server")
            } else {
                tell(
                    .ok,
                    "of an earlier life of the server: the first gateway begins another, and apps "
                        + "sign once more")
            }
        }
    }

    private mutating func checkScripts() throws(RedisFailure) {
        stepName = "script loading"
        let load = RedisCommand("SCRIPT", "LOAD", CounterScript.source)
        let reply = try ask(load, as: "SCRIPT LOAD")
        let digest = reply.flatMap { CounterNode.digest($0) }
        if digest != nil {
            tell(.ok, "the counter script is loaded")
        } else if reply != nil {
            tellUnexpected("SCRIPT LOAD")
        }
        guard life != nil else { return }
        let trial = trial()
        stepName = "writing"
        guard let reply = try ask(trial.record, as: "SET") else { return }
        guard reply == .simpleString("OK") else { return tellUnexpected("SET") }
        tell(.ok, "a name below \(configuration.keyPrefix)")
        stepName = "incarnation script"
        if let reply = try ask(trial.incarnationCall, as: "EVAL") {
            if let look = ServerLook(reply), look.incarnation == trial.incarnation {
                tell(.ok, "runs")
                if let digest { try runCounterScript(digest, trial, now: look.milliseconds) }
            } else {
                tellUnexpected("EVAL")
            }
        }
        stepName = "clean-up"
        if case .error(let line) = try dialogue.ask(trial.removal) {
            tell(.warning, "DEL: \(line.prefix(200)): what was tried expires within a minute")
        } else {
            tell(.ok, "what was tried is removed")
        }
    }

    /// A trial whose names are in a slot of this server if it belongs to a cluster.
    private func trial() -> CounterTrial {
        let kept = slots.map { Set($0) }
        while true {
            let trial = CounterTrial(
                prefix: configuration.keyPrefix, isCluster: kept != nil)
            guard let kept, !kept.isEmpty, !kept.contains(trial.slot) else { return trial }
        }
    }

    private mutating func runCounterScript(
        _ digest: String, _ trial: CounterTrial, now: Int64
    ) throws(RedisFailure) {
        stepName = "counter script"
        for (counter, challenge, expected) in CounterTrial.calls {
            let command = trial.counterCall(
                digest, counter: counter, challenge: challenge, now: now)
            guard let reply = try ask(command, as: "EVALSHA") else { return }
            guard reply == .integer(expected.rawValue) else {
                return tell(.failure, "answers \(reply) instead of \(expected)")
            }
        }
        tell(.ok, "accepts a counter once")
    }

    /// Earlier versions have no users with rights of their own.
    private static let majorVersionMin = 6
}

/// Parses the lines `name:value` of `INFO`.
private struct ServerInformation {
    private var values: [Substring: String] = [:]

    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = String(line[line.index(after: colon)...])
        }
    }

    subscript(_ name: Substring) -> String? { values[name] }
}
