import Redis

/// Finds out which right a script lacked. Redis says that one was missing but not which
/// (`scriptVerifyACL` of its `script.c`); it names the right if the command comes by itself. So
/// each command of the scripts is sent by itself, in a form that changes nothing.
struct RightsInquiry {
    enum Step {
        case ask(RedisCommand)
        /// The server's words, which name the command, or those of the script if no command was
        /// refused.
        case found(String)
    }

    private let complaint: String
    private var questions: ArraySlice<RedisCommand>

    /// True if an error is the complaint of a script about a right.
    static func isNeeded(for line: String) -> Bool {
        line.contains("user executing the script can't")
    }

    /// `record`: the name of a master's record, beside which the questions look.
    init(about complaint: String, record: [UInt8], isCluster: Bool) {
        self.complaint = complaint
        var questions = [RedisCommand("TIME"), RedisCommand("INFO", "server")]
        var get = RedisCommand("GET")
        get.append(record)
        var several = RedisCommand("MGET")
        several.append(record)
        // A name that no gateway has, and that stays so: XX writes only over what is there.
        var set = RedisCommand("SET")
        set.append(record + Array(":right".utf8))
        set.append("")
        set.append("XX")
        questions += [get, several, set]
        if isCluster { questions.append(RedisCommand("CLUSTER", "INFO")) }
        self.questions = questions[...]
    }

    /// The next step, at the beginning (`reply` is nil) and after each answer.
    mutating func step(after reply: RedisReply?) -> Step {
        if case .error(let line) = reply, line.hasPrefix("NOPERM") { return .found(line) }
        guard let next = questions.popFirst() else { return .found(complaint) }
        return .ask(next)
    }
}
