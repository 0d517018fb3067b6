import Attestation
import Bytes
import GatewayTesting
import KeyStore
import RedisKeyStore
import Testing

/// A counter store, asked for one request at a time.
private enum StoreUnderTest: String, CaseIterable, CustomTestStringConvertible {
    case embedded
    case redis
    case cluster

    var testDescription: String { rawValue }

    func open() throws -> (CounterAdvanceParts) throws -> CounterVerdict? {
        switch self {
        case .embedded:
            let bench = EmbeddedBench()
            return { parts in
                let use = bench.use(parts.challengeID, life: parts.life, of: parts.incarnation)
                return bench.counters.advance(
                    parts.advance(
                        ChallengeUse(
                            id: use.id, incarnation: use.incarnation, expiresAt: use.expiresAt,
                            isBound: parts.isBound)), nowMilliseconds: bench.now)
            }
        case .redis:
            let bench = try RedisCounterBench(RedisServer())
            return { try bench.verdict($0.advance(bench.use($0))) }
        case .cluster:
            let cluster = try RedisCluster()
            let bench = try RedisCounterBench(RedisCounterBench.configuration(cluster))
            try bench.run { bench.workers.allSatisfy(\.isWhole) }
            return { parts in
                _ = cluster
                return try bench.verdict(parts.advance(bench.use(parts)))
            }
        }
    }
}

/// What a test says of a request.
private struct CounterAdvanceParts {
    var key: UInt64 = 1
    var uniqueness: Uniqueness
    var challenge: UInt64
    var isBound = true
    var life: Int64 = 120_000
    var floor: UInt32 = 0
    var incarnation: Incarnation?

    init(_ uniqueness: Uniqueness, challenge: UInt64) {
        self.uniqueness = uniqueness
        self.challenge = challenge
    }

    var challengeID: Bytes16 { Bytes16(word0: 0, word1: challenge) }

    func advance(_ use: ChallengeUse) -> CounterAdvance {
        CounterAdvance(
            keyID: RedisCounterBench.key(key), uniqueness, windowSize: 64, challenge: use,
            floor: floor)
    }
}

extension RedisCounterBench {
    fileprivate func use(_ parts: CounterAdvanceParts) -> ChallengeUse {
        let moment = worker.moment(
            keyID: parts.isBound ? Self.key(parts.key) : nil, challenge: parts.challengeID)
        return ChallengeUse(
            id: parts.challengeID,
            incarnation: parts.incarnation ?? moment?.incarnation ?? Incarnation(0),
            expiresAt: (moment?.milliseconds ?? 0) + parts.life, isBound: parts.isBound)
    }
}

/// The two ways in which a request cannot be repeated. `make` gives the nth request of a key.
private enum Way: String, CaseIterable, CustomTestStringConvertible {
    case counter
    case challenge

    var testDescription: String { rawValue }

    func make(_ number: UInt32) -> Uniqueness {
        self == .counter ? .counter(number) : .challenge(mark: number &* 0x9E37_79B1)
    }
}

@Suite("A request is accepted once, in every store", .timeLimit(.minutes(30)))
struct UniquenessTests {}

extension UniquenessTests {
    private static let stores = StoreUnderTest.allCases.filter {
        $0 == .embedded || RedisServer.isInstalled
    }

    @Test("by its counter or by its challenge alone", arguments: stores, Way.allCases)
    private func once(store: StoreUnderTest, way: Way) throws {
        let verdict = try store.open()
        for isBound in [true, false] {
            let start: UInt64 = isBound ? 100 : 200
            func ask(
                _ number: UInt32, _ challenge: UInt64, key: UInt64 = start,
                _ change: (inout CounterAdvanceParts) -> Void = { _ in }
            ) throws -> CounterVerdict? {
                var parts = CounterAdvanceParts(way.make(number), challenge: start + challenge)
                parts.key = key
                parts.isBound = isBound
                change(&parts)
                return try verdict(parts)
            }
            #expect(try ask(1, 1) == .accepted)
            #expect(try ask(1, 1) == .replayed)
            #expect(try ask(2, 1) == .challengeSpent)
            #expect(try ask(2, 2) == .accepted)
            #expect(try ask(3, 3) { $0.life = -1 } == .challengeExpired)
            #expect(try ask(3, 3) { $0.incarnation = Incarnation(77) } == .incarnationChanged)
            // What was refused has spent nothing.
            #expect(try ask(3, 3) == .accepted)
            #expect(try ask(1, 1) == .replayed)
            // For another key, the same challenge is another one.
            #expect(try ask(1, 1, key: start + 1) == .accepted)
        }
    }

    @Test("and only counters are held to an order and to the floor", arguments: stores)
    private func order(store: StoreUnderTest) throws {
        let verdict = try store.open()
        func ask(_ uniqueness: Uniqueness, _ challenge: UInt64) throws -> CounterVerdict? {
            var parts = CounterAdvanceParts(uniqueness, challenge: challenge)
            parts.floor = 1000
            return try verdict(parts)
        }
        #expect(try ask(.counter(1000), 1) == .counterTooLow)
        #expect(try ask(.challenge(mark: 0), 1) == .accepted)
        #expect(try ask(.challenge(mark: 0), 2) == .accepted)
        #expect(try ask(.counter(1001), 3) == .accepted)
        #expect(try ask(.challenge(mark: 1001), 4) == .accepted)
        #expect(try ask(.counter(1001), 5) == .counterUsed)
        #expect(try ask(.counter(1002), 6) == .accepted)
    }

    @Test(
        "exactly one of many that race, by either way", .enabled(if: RedisServer.isInstalled),
        arguments: Way.allCases)
    private func race(way: Way) throws {
        let bench = try RedisCounterBench(RedisServer(), workerCount: 8)
        for round in 1...20 as ClosedRange<UInt32> {
            let parts = CounterAdvanceParts(way.make(round), challenge: UInt64(round))
            let request = parts.advance(bench.use(parts))
            let verdicts = try bench.verdicts([CounterAdvance](repeating: request, count: 24))
            #expect(verdicts.count { $0 == .accepted } == 1)
            #expect(verdicts.count { $0 == .replayed } == 23)
        }
    }

    @Test(
        "a key that does not count is refused where it is revoked, and leaves no state behind",
        .enabled(if: RedisServer.isInstalled))
    func stateless() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        func ask(_ challenge: UInt64) throws -> CounterVerdict? {
            let parts = CounterAdvanceParts(.challenge(mark: 1), challenge: challenge)
            return try bench.verdict(parts.advance(bench.use(parts)))
        }
        let before = try #require(Int(server.command("DBSIZE")))
        for challenge in 1...5 as ClosedRange<UInt64> { #expect(try ask(challenge) == .accepted) }
        #expect(try server.command("DBSIZE") == "\(before + 5)")
        try RedisRevocations.mark(
            [RedisCounterBench.key(1)],
            configuration: RedisCounterBench.configuration(port: server.port))
        #expect(try ask(6) == .revoked)
    }

    @Test(
        "a server that threw marks away accepts nothing from before",
        .enabled(if: RedisServer.isInstalled))
    func eviction() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        let parts = CounterAdvanceParts(.challenge(mark: 1), challenge: 1)
        let request = parts.advance(bench.use(parts))
        #expect(try bench.verdict(request) == .accepted)
        // The marks go; a server that evicts counts them.
        _ = try server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        _ = try server.command("CONFIG", "SET", "maxmemory", "1mb")
        _ = try server.command("CONFIG", "SET", "maxmemory", "0")
        #expect(try bench.verdict(request) != .accepted)
    }
}
