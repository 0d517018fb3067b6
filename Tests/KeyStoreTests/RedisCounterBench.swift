import Attestation
import Bytes
import EventLoop
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

/// Several workers' counters on one loop, run until what a test waits for has happened.
final class RedisCounterBench {
    let loop: EventLoop
    /// Held so that it lives as long as its clients.
    private let server: RedisServer?
    private(set) var workers: [RedisCounters] = []

    /// Time-outs far beyond what a busy machine needs; tests of time-outs set their own.
    static func configuration(port: UInt16) -> RedisCounterConfiguration {
        var connection = RedisConfiguration(endpoint: .tcp(host: "127.0.0.1", port: port))
        connection.connectTimeout = .seconds(20)
        connection.commandTimeout = .seconds(20)
        connection.backOff.longest = .milliseconds(100)
        var configuration = RedisCounterConfiguration(connection: connection)
        // No check but those that an answer causes.
        configuration.checkInterval = .seconds(1000)
        return configuration
    }

    /// Nobody but the Sentinels says where the master is.
    static func configuration(
        _ set: RedisSentinelSet, master: String = RedisSentinelSet.masterName
    ) -> RedisCounterConfiguration {
        var configuration = configuration(port: 1)
        var sentinels = configuration.connection
        sentinels.endpoints = set.sentinels.map { .tcp(host: "127.0.0.1", port: $0.port) }
        sentinels.connectTimeout = .seconds(1)
        sentinels.commandTimeout = .seconds(1)
        configuration.sentinel = RedisSentinelConfiguration(
            connection: sentinels, masterName: master)
        configuration.connection.commandTimeout = .seconds(2)
        configuration.checkInterval = .milliseconds(100)
        return configuration
    }

    static func configuration(_ cluster: RedisCluster) -> RedisCounterConfiguration {
        var configuration = configuration(port: cluster.servers[0].port)
        configuration.isCluster = true
        configuration.connection.commandTimeout = .seconds(2)
        configuration.connection.connectTimeout = .seconds(1)
        configuration.checkInterval = .milliseconds(100)
        return configuration
    }

    init(
        _ configuration: RedisCounterConfiguration, workerCount: Int = 1,
        server: RedisServer? = nil
    ) throws {
        self.server = server
        loop = try EventLoop()
        let (news, quotas) = (IncarnationNews(), KnownQuotas())
        workers = (0..<workerCount).map { _ in
            RedisCounters(loop: loop, configuration: configuration, news: news, quotas: quotas)
        }
        for worker in workers { worker.onStateChange = { [loop] in loop.stop() } }
    }

    deinit { for worker in workers { worker.close() } }

    /// Workers of a server, connected.
    convenience init(_ server: RedisServer, workerCount: Int = 1) throws {
        try self.init(
            Self.configuration(port: server.port), workerCount: workerCount, server: server)
        try connect()
    }

    var worker: RedisCounters { workers[0] }

    func connect() throws { try run { workers.allSatisfy(\.isConnected) } }

    struct TookTooLong: Error {}

    /// How long servers may take to find another master, on a busy machine.
    static let patience = ChildProcess.patience

    func run(until isDone: () -> Bool) throws {
        var isLate = false
        let guardTimer = Timer(loop: loop) { [loop] in
            isLate = true
            loop.stop()
        }
        guardTimer.schedule(after: ChildProcess.patience)
        while !isDone() {
            if isLate { throw TookTooLong() }
            loop.run()
        }
    }

    /// Asks each worker in turn, all at once, and waits for all verdicts.
    func verdicts(_ requests: [CounterAdvance]) throws -> [CounterVerdict] {
        var verdicts = [CounterVerdict?](repeating: nil, count: requests.count)
        for (index, request) in requests.enumerated() {
            workers[index % workers.count].advance(request) { [loop] verdict in
                #expect(verdicts[index] == nil)
                verdicts[index] = verdict
                loop.stop()
            }
        }
        try run { !verdicts.contains(nil) }
        return verdicts.compactMap { $0 }
    }

    func verdict(_ request: CounterAdvance) throws -> CounterVerdict? {
        try verdicts([request]).first
    }

    /// A request under the present incarnation.
    func request(
        key: UInt64 = 1, counter: UInt32, window: Int = 1, challenge: UInt64, floor: UInt32 = 0,
        remainingMilliseconds: Int64 = 120_000, rates: [CounterRate] = [], isBound: Bool = true
    ) -> CounterAdvance {
        request(
            key: key, .counter(counter), window: window, challenge: challenge, floor: floor,
            remainingMilliseconds: remainingMilliseconds, rates: rates, isBound: isBound)
    }

    func request(
        key: UInt64, _ uniqueness: Uniqueness, window: Int, challenge: UInt64, floor: UInt32,
        remainingMilliseconds: Int64 = 120_000, rates: [CounterRate] = [], isBound: Bool = true
    ) -> CounterAdvance {
        let id = Bytes16(word0: 0, word1: challenge)
        let moment = worker.moment(keyID: isBound ? Self.key(key) : nil, challenge: id)
        let expiresAt = (moment?.milliseconds ?? 0).addingReportingOverflow(remainingMilliseconds)
        return CounterAdvance(
            keyID: Self.key(key), uniqueness, windowSize: window,
            challenge: ChallengeUse(
                id: id, incarnation: moment?.incarnation ?? Incarnation(0),
                expiresAt: expiresAt.overflow ? remainingMilliseconds : expiresAt.partialValue,
                isBound: isBound),
            floor: floor, rates: rates)
    }

    /// Lets the loop do what it has to do meanwhile.
    func pause(_ duration: Duration = .milliseconds(20)) {
        var isOver = false
        let timer = Timer(loop: loop) { [loop] in
            isOver = true
            loop.stop()
        }
        timer.schedule(after: duration)
        // Others stop the loop as well.
        while !isOver { loop.run() }
    }

    /// Of the only master.
    var incarnation: Incarnation? { worker.anyIncarnation }

    /// The name of a key's revocation mark.
    static func markName(_ key: KeyID) -> String {
        "sallyport:{\(Base64.encodeURL(key.digest.array))}:revoked"
    }

    static func key(_ number: UInt64) -> KeyID {
        KeyID(digest: Bytes32(word0: number, word1: 0xFFFF_FFFF_FFFF_FFFF, word2: 0, word3: 1))
    }
}

extension RedisCounters {
    /// That of a server that is not of a cluster.
    var anyIncarnation: Incarnation? {
        moment(keyID: nil, challenge: Bytes16(word0: 0, word1: 0))?.incarnation
    }
}

extension KeyID {
    /// In which a cluster keeps the key's counter.
    var slot: RedisSlot { RedisSlot(ofTag: Base64.encodeURLBytes(digest.array)) }
}
