import Redis

/// The result of one check of the Redis that a gateway uses.
public struct RedisCheckupStep: Hashable, Sendable {
    public enum Verdict: Hashable, Sendable {
        case ok
        /// The gateway would work, but an operator should know.
        case warning
        case failure
    }

    public let name: String
    public let verdict: Verdict
    public let text: String
}

/// Does once, for each command, what a gateway does with its Redis, without touching the gateway's
/// data: the scripts run on their own names below the same prefix, which are removed again and
/// would expire within a minute. The incarnation is read, never replaced.
///
/// For commands, and for a thread of its own at a gateway's start, because it connects and waits.
/// If one step fails the others are still tried, so that all missing rights of a user are reported
/// at once.
public enum RedisCheckup {
    /// Calls `report` after each step. If nothing may be written, the scripts are not tried.
    public static func run(
        _ configuration: RedisCounterConfiguration, mayWrite: Bool = true,
        report: @escaping (RedisCheckupStep) -> Void
    ) {
        if let sentinel = configuration.sentinel { run(sentinel, report) }
        let directory: RedisDirectory
        do throws(RedisFailure) {
            directory = try RedisDirectory(configuration)
        } catch {
            let name =
                configuration.isCluster
                ? "cluster" : configuration.sentinel == nil ? "connection" : "sentinel"
            return report(
                RedisCheckupStep(name: name, verdict: .failure, text: error.description))
        }
        if let map = directory.map { tell(map, report) }
        for endpoint in directory.masters {
            var server = configuration
            server.connection.endpoints = [endpoint]
            ServerCheckup.run(
                server, slots: directory.map?.slots(of: endpoint), mayWrite: mayWrite,
                report: report)
        }
    }

    private static func tell(_ map: RedisSlotMap, _ report: (RedisCheckupStep) -> Void) {
        report(
            RedisCheckupStep(
                name: "cluster", verdict: map.isComplete ? .ok : .failure,
                text: map.isComplete
                    ? "masters: \(map.masters.count)"
                    : "not every slot has a master: keys in the others get 503"))
    }

    /// Checks each Sentinel separately, because a failover needs most of them.
    private static func run(
        _ sentinel: RedisSentinelConfiguration, _ report: (RedisCheckupStep) -> Void
    ) {
        func tell(_ verdict: RedisCheckupStep.Verdict, _ text: String) {
            report(RedisCheckupStep(name: "sentinel", verdict: verdict, text: text))
        }
        for endpoint in sentinel.connection.endpoints {
            var connection = sentinel.connection
            connection.endpoints = [endpoint]
            do throws(RedisFailure) {
                let dialogue = try RedisDialogue(connection)
                let reply = try dialogue.ask(
                    RedisCommand("SENTINEL", "CKQUORUM", sentinel.masterName))
                switch reply {
                case .error(let line): tell(.warning, "\(endpoint): \(line.prefix(200))")
                case .simpleString(let text): tell(.ok, "\(endpoint): \(text)")
                default: tell(.warning, "\(endpoint): the answer is not a Sentinel's")
                }
            } catch {
                tell(.warning, "\(endpoint): \(error)")
            }
        }
        if sentinel.connection.endpoints.count < sentinelCountMin {
            tell(
                .warning,
                "only \(sentinel.connection.endpoints.count) in the configuration: name all of "
                    + "them, at least \(sentinelCountMin)")
        }
    }

    /// The fewest Sentinels of which a majority outlives the loss of one.
    private static let sentinelCountMin = 3
}
