import AppAttest
import Crypto
import EventLoop
import Gateway
import RedisKeyStore
import SQLiteKeyStore
import Settings

/// `sallyport doctor`: whether what the configuration needs is there and as it should be.
enum DoctorCommand {
    static let usage = "usage: sallyport doctor -c FILE"

    static func main(_ words: [String]) {
        let arguments = Arguments(words, options: ["-c", "--config"], flags: [], usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        let settings = ConfigurationFile.loadOrExit(path).settings
        var failureCount = 0
        func check(_ name: String, _ body: () throws -> String) {
            do {
                Console.print("ok    \(name): \(try body())")
            } catch {
                failureCount += 1
                Console.print("FAIL  \(name): \(error)")
            }
        }
        Console.print("ok    configuration: \(path)")
        if !settings.trust.extraRoots.isEmpty {
            Console.print(
                "warn  trust.extra_roots: keys of these roots pass for Apple's; tests only")
        }
        check("registry") { try registry(settings) }
        check("challenge keys") { try challengeKeys(settings) }
        check("counters") { try counters(settings) }
        for upstream in settings.upstreams {
            check("upstream \(upstream.name)") { try reach(upstream) }
        }
        if failureCount > 0 { Exit.with(.failed) }
    }

    private static func registry(_ settings: Settings) throws -> String {
        guard case .sqlite(let path) = settings.registry else { return "not looked at" }
        guard File.exists(path) else { return "\(path) will be made at the first start" }
        let counts = try RegistryAdministration(path: path).counts()
        return "\(path), keys: \(counts.reduce(0) { $0 + $1.count })"
    }

    private static func challengeKeys(_ settings: Settings) throws -> String {
        guard let path = settings.secrets.challengeKeyFile else {
            return "kept beside the registry; several gateways need secrets.challenge_key_file"
        }
        return "\(path), keys: \(try ChallengeKeyFile.keys(for: settings).count)"
    }

    private static func counters(_ settings: Settings) throws -> String {
        guard case .redis(let redis) = settings.counters else {
            return "embedded: one gateway only"
        }
        // Takes the mark off a key that does not exist: the connection, the login and the right to
        // write are tried, and nothing changes.
        let nobody = KeyID(digest: RandomBytes.bytes32())
        try RedisRevocations.unmark([nobody], configuration: RedisCounterConfiguration(redis))
        return "redis answers"
    }

    private static func reach(_ upstream: UpstreamSettings) throws -> String {
        for server in upstream.servers {
            try ConnectionProbe.reach(
                server.endpoint.socketAddress(), timeout: upstream.connectTimeout)
        }
        let addresses = upstream.servers.map(\.endpoint.description).joined(separator: ", ")
        return "\(addresses): takes connections"
    }
}
