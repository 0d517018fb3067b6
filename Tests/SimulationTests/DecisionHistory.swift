import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import GatewayTokens
import Judgement
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// A history of requests, one after another, that gateways judge: each with what was decided and
/// why, for `Tests/Assurance/decision_model.py`, which has to come to the same. Everything follows
/// from the seed but the names of keys.
///
/// One gateway with counters of its own, or two that share a real Redis and the registry.
final class DecisionHistory {
    /// A line of the transcript.
    typealias Event = [String: any Sendable]

    static let challengeKey = [UInt8](repeating: 7, count: 32)
    /// The gateway's challenges with another key: what is sealed by these is not its own.
    static let foreignKey = [UInt8](repeating: 8, count: 32)
    private static let enrolledCount = 3
    /// As ``FloorTable`` has it by default, and ``SimulatedGateway`` with it.
    private static let floorLifeMilliseconds = 125_000
    private static let challengeLifeMilliseconds = 120_000
    private static let startMilliseconds: Int64 = 1_800_000_000_000

    struct MintedChallenge {
        let text: String
        let opened: Challenge
    }

    /// A gateway in one of its lives.
    private struct Seat {
        var gateway: SimulatedGateway?
        var isConnected = false
        var lifeCount = 0
    }

    var events: [Event] = []
    private let counterOptions = EmbeddedCounters.Options()
    var random: SeededNumbers
    private let scratch: ScratchDirectory
    private let memory: ScratchDirectory
    private let registry = SimulatedRegistry()
    private let clock = ManualClock(
        now: MonotonicInstant(nanoseconds: 1_000_000_000), wallMilliseconds: startMilliseconds)
    /// How far the time of day of Redis is ahead of this process's.
    var redisAhead: Int64 = 0
    /// Each has a key. The last one is never enrolled until an event says so.
    let devices: [TestDevice]
    /// The same keys as the other platform would sign with them.
    let twins: [TestDevice]
    private let sealer: ChallengeSealer
    let redis: RelayedRedis?
    var dumps: [[UInt8]] = []
    var isReset = false
    var marked: Set<Int> = []
    private var isRegistryAway = false
    private var seats: [Seat]
    var challenges: [MintedChallenge] = []
    var tokens: [String] = []
    private var acceptedAt: [Int64] = []
    private var issuedAt: [Int64] = []
    /// By the time of day.
    private var lastTokenSecond: Int64?
    var highestSigned: [KeyID: UInt32] = [:]
    /// The client data that phones have signed, by which their requests are told apart.
    var phoneMarks: [[UInt8]: Int] = [:]
    /// Signed requests, which anybody may send again.
    var sent: [(event: Event, bytes: [UInt8])] = []
    /// How many steps come to one that disturbs Redis.
    private let unrest: Int
    /// Whether session tokens are bound to a header.
    let isBound: Bool
    /// Whether accepted counters outlive a gateway in a file, as beside SQLite.
    private let keepsFloors: Bool
    /// OpenSSL's alone in every second history.
    private let signatures: SignatureBatching

    /// - `redisClock`: of the server that keeps the counters; nil for counters inside.
    init(seed: UInt64, redisClock: StandingClock? = nil) throws {
        random = SeededNumbers(seed: seed)
        scratch = try ScratchDirectory()
        memory = try ScratchDirectory(inMemory: true)
        let keys = try (0...Self.enrolledCount).map { _ in try P256PrivateKey.generate() }
        // The second is a phone, and of every second history the last.
        let numbers = keys.indices.map { $0 == Self.enrolledCount ? Int(seed % 2) : $0 % 2 }
        devices = try zip(numbers, keys).map { try .numbered($0, key: $1) }
        twins = try zip(numbers, keys).map { try .numbered($0 + 1, key: $1) }
        sealer = try #require(ChallengeSealer(keys: [Self.challengeKey]))
        redis = try redisClock.map { try RelayedRedis($0, at: DecisionHistory.startMilliseconds) }
        isBound = random.isOne(in: 2)
        unrest = random.isOne(in: 2) ? 14 : 40
        let isBesideDatabase = random.isOne(in: 2)
        keepsFloors = redis == nil || !isBesideDatabase
        signatures = seed.isMultiple(of: 2) ? SimulatedGateway.batching : .off
        seats = Array(repeating: Seat(), count: redis == nil ? 1 : 2)
        for device in devices.dropLast() { registry.insert(device.record) }
        events.append([
            "event": "setup", "seed": Int(seed), "counters": redis == nil ? "embedded" : "redis",
            "gateways": seats.count, "keeps_floors": keepsFloors, "bound": isBound,
            "challenge_life": Self.challengeLifeMilliseconds,
            "floor_life": Self.floorLifeMilliseconds,
            "retention": counterOptions.challengeLifeMilliseconds
                + counterOptions.graceMilliseconds,
            "keys": devices.map { Hex.encode($0.keyID.digest.array) },
            "enrolled": Self.enrolledCount, "rollout": rolloutPercent, "now": milliseconds,
            "wall": clock.wallMilliseconds,
        ])
        for index in seats.indices { try start(index, resuming: nil) }
        try settleAll()
    }

    // MARK: gateways

    /// One key lies just outside the rollout.
    private lazy var rolloutPercent = Rollout.cohort(of: devices[0].keyID.digest)
    lazy var routes: [Route] = [
        SimulatedGateway.route("strict", "/strict") { $0.replay = .strict },
        SimulatedGateway.route("window", "/window") { $0.replay = .window(4) },
        SimulatedGateway.route("durable", "/durable") { $0.replay = .durable },
        SimulatedGateway.route("unchallenged", "/unchallenged") {
            $0.replay = .durable
            $0.challenge = .off
        },
        SimulatedGateway.route("observed", "/observed") {
            $0.mode = .observe
            $0.accept = [.assertion, .token]
        },
        SimulatedGateway.route("rollout", "/rollout") { $0.rolloutPercent = rolloutPercent },
        SimulatedGateway.route("lenient", "/lenient") {
            $0.onMissing = .pass
            $0.onInvalid = .pass
            $0.onStoreFailure = .pass
        },
        SimulatedGateway.route("session", "/session") {
            $0.accept = [.assertion, .token]
            $0.replay = .window(4)
        },
        SimulatedGateway.route("tokens", "/tokens") {
            $0.accept = .token
            $0.onStoreFailure = .tokensOnly
        },
    ]

    private func start(_ index: Int, resuming snapshot: EmbeddedSnapshot?) throws {
        let floorCount = keepsFloors ? seats[index].gateway?.floors.keyCount ?? 0 : 0
        // An older copy has floors of keys that the registry has by now, which the model forgets.
        seats[index].gateway?.floors.bringToDisk(now: milliseconds, isWhole: true)
        seats[index].gateway = nil
        seats[index].isConnected = false
        seats[index].lifeCount += 1
        let directory = scratch.path(of: "\(index)-\(seats[index].lifeCount)")
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        let counters =
            redis == nil
            ? EmbeddedCounters(
                options: counterOptions, resuming: snapshot, clock: EmbeddedClock(clock)) : nil
        let floors = FloorTable(
            lifeMilliseconds: Int64(Self.floorLifeMilliseconds),
            at: keepsFloors
                ? FloorLocation(
                    diskBase: scratch.path(of: "floors\(index)"),
                    memoryBase: memory.path(of: "floors\(index)")) : nil)
        // A program that another test starts has the lock of the file until it is executed.
        var tryCount = 0
        repeat {
            floors.takeOver(now: milliseconds) { counters?.holds($0) ?? false }
            tryCount += 1
        } while floors.keyCount < floorCount && tryCount < 100_000
        seats[index].gateway = try SimulatedGateway(
            clock: clock, registry: registry, directory: directory, embedded: counters,
            floors: floors, signatures: signatures, routes: routes
        ) { [isBound] in
            if isBound { $0.sessionTokens.boundHeader = "authorization" }
        }
    }

    var milliseconds: Int64 { Int64(clock.now.nanoseconds / 1_000_000) }

    private func gateway(_ index: Int) throws -> SimulatedGateway {
        try #require(seats[index].gateway)
    }

    /// Lets a gateway take up what it was told, and its stores answer.
    private func settle(_ index: Int) throws {
        let gateway = try gateway(index)
        var isBusy = true
        while isBusy {
            isBusy = false
            gateway.worker.services.loop.runUntilIdle()
            var accepted: [Int32] = []
            gateway.takeStoreConnections { accepted.append($0) }
            for descriptor in accepted { try redis?.take(descriptor, from: index) }
            if try redis?.pass(index) == true { isBusy = true }
            gateway.serveUpstream { _ in true }
            while registry.waitingCount > 0 {
                registry.answer(0)
                isBusy = true
            }
            gateway.worker.services.loop.runUntilIdle()
        }
    }

    /// Lets all gateways do what they do without a request, and notes which of them reach Redis.
    func settleAll() throws {
        for index in seats.indices {
            try settle(index)
            guard redis != nil else { continue }
            events.append([
                "event": "turn", "gateway": index,
                "connected": try gateway(index).worker.services.counters.isAvailable,
            ])
        }
    }

    private func exchange(_ request: [UInt8], with index: Int) throws -> WholeMessage {
        let descriptor = try gateway(index).connect()
        defer { Socket.close(descriptor) }
        #expect(Socket.write(descriptor, request.span) == .bytes(request.count))
        var received = ByteBuffer()
        for _ in 0..<100 {
            try settle(index)
            while case .bytes = Socket.read(descriptor, into: &received, atMost: 1 << 16) {}
            if let message = WholeMessage(received.readable.array) { return message }
        }
        let text = String(decoding: request, as: UTF8.self)
        let part = String(decoding: received.readable.array, as: UTF8.self)
        throw HistoryError(
            text: "no answer to \(text), but \(part), after \(events.suffix(8))")
    }

    /// One JSON object a line.
    func write(to path: String) throws {
        var text = Data()
        for event in events {
            text += try JSONSerialization.data(withJSONObject: event, options: .sortedKeys)
            text.append(0x0A)
        }
        try text.write(to: URL(fileURLWithPath: path))
    }

    // MARK: events

    func run(stepCount: Int) throws {
        for _ in 0..<stepCount { try step() }
    }

    private func step() throws {
        // What is away comes back soon, or nothing else would be seen.
        if isRegistryAway, random.isOne(in: 12) { turnRegistry() }
        if redis?.isAway == true, random.isOne(in: 12) { try turnRedis() }
        if redis != nil, random.isOne(in: unrest) { return try disturbRedis() }
        switch random.below(96) {
        case 0..<12: try fetchChallenge()
        case 12..<62: try sendSigned()
        case 62..<70: try sendAgain()
        case 70..<76: try sendToken()
        case 76..<78: try sendUnsigned()
        case 78..<85: try passTime()
        case 85..<88: try raiseFloors()
        case 88..<90: try changeStatus()
        case 90..<91: try enrolLast()
        case 91..<92: try stop(isClean: false)
        case 92..<93: try stop(isClean: true)
        case 93..<94: try forget()
        case 94..<95: try stepWallClock()
        default: turnRegistry()
        }
    }

    var anyGateway: Int { random.below(seats.count) }

    func fetchChallenge() throws {
        let purpose = random.isOne(in: 12) ? "attest" : "assert"
        let index = anyGateway
        let message = try exchange(
            Array("GET /\(purpose)/challenge HTTP/1.1\r\nHost: a\r\n\r\n".utf8), with: index)
        var event: Event = ["event": "challenge", "gateway": index, "purpose": purpose]
        event["status"] = message.status
        if message.status == 200 { event["id"] = try note(message.body) }
        events.append(event)
    }

    private func note(_ text: String) throws -> Int {
        let opened = sealer.open(Array(text.utf8).span)
        challenges.append(MintedChallenge(text: text, opened: try #require(opened)))
        return challenges.count - 1
    }

    /// `name`: of the route, or of the endpoint as metrics name it.
    func send(_ request: Event, _ bytes: [UInt8], to index: Int) throws {
        let name = try #require(request["route"] as? String)
        let worker = try gateway(index).worker
        let before = worker.services.meter.outcomes(of: name)
        let refusals = worker.services.hub.refusals[0]
        let refusalsBefore = Set(refusals.records.map(ObjectIdentifier.init))
        let cut = chooseCut()
        redis?.cut = cut
        let answer = try exchange(bytes, with: index)
        var event = request
        event["gateway"] = index
        if let cut, redis?.cut == nil { event["cut"] = cut.rawValue }
        redis?.cut = nil
        event["status"] = answer.status
        let after = worker.services.meter.outcomes(of: name)
        let outcome = try #require(after.first { $0.value != before[$0.key] ?? 0 }?.key)
        event["decision"] = "\(outcome.decision.name)"
        event["reason"] = "\(outcome.reason.code)"
        if outcome.decision == .verified { acceptedAt.append(milliseconds) }
        let new = refusals.records.first { !refusalsBefore.contains(ObjectIdentifier($0)) }
        if let detail = new?.detail { event["detail"] = detail }
        if let next = answer.field("x-app-attest-challenge") {
            let next = try note(next)
            event["next"] = next
            if let bound = challenges[next].opened.keyID {
                event["next_key"] = devices.firstIndex { $0.keyID == bound }
            }
        }
        if name == AppEndpoint.assertToken.routeName, answer.status == 200 {
            let members = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
            let token = (members as? [String: Any])?["token"] as? String
            event["issued"] = tokens.count
            tokens.append(try #require(token))
            issuedAt.append(milliseconds)
            lastTokenSecond = clock.wallMilliseconds / 1_000
        }
        events.append(event)
        if event["cut"] != nil { try settleAll() }
    }

    private func chooseCut() -> RelayedRedis.Cut? {
        guard redis != nil, random.isOne(in: 40) else { return nil }
        return random.isOne(in: 2) ? .command : .answer
    }

    private func passTime() throws {
        let milliseconds: Int64 =
            switch random.below(12) {
            case 0: 119_999
            case 1: 120_000
            case 2: 125_000
            case 3: 60_000
            case 4: 1
            case 5: 49 + Int64(random.below(3))
            case 6: untilAcceptedOneSettles ?? 1
            case 8: 1_000
            case 9: 30_000 + Int64(random.below(2))
            case 7: untilTokenEnds ?? 1
            default: Int64(random.below(40_000))
            }
        // Mostly gateways have looked at their server meanwhile, or at least just before.
        let pace: Int64 = redis == nil || random.isOne(in: 5) ? .max : 20_000
        if redis != nil, pace == .max { try move(by: 1_000) }
        var remaining = milliseconds
        while remaining > 0 {
            let part = min(remaining, pace)
            try move(by: part)
            remaining -= part
        }
    }

    func move(by milliseconds: Int64) throws {
        clock.now = clock.now.advanced(byNanoseconds: UInt64(milliseconds) * 1_000_000)
        clock.wallMilliseconds += milliseconds
        try setRedisClock()
        events.append(["event": "time", "milliseconds": Int(milliseconds)])
        if redis != nil { try settleAll() }
    }

    /// What the clock of Redis shows more than the gateways' own.
    var clockOffset: Int64 { Self.startMilliseconds - 1_000 + redisAhead }

    func setRedisClock() throws { try redis?.set(milliseconds + clockOffset) }

    /// To the moment when one of the last accepted counters is exactly a life old.
    private var untilAcceptedOneSettles: Int64? {
        anyEnd(of: acceptedAt, after: Int64(Self.floorLifeMilliseconds))
    }

    /// To about the second in which one of the last tokens ends.
    private var untilTokenEnds: Int64? {
        anyEnd(of: issuedAt, after: 300_000 + Int64(random.below(3) - 1) * 500)
    }

    private func anyEnd(of beginnings: [Int64], after life: Int64) -> Int64? {
        let remaining = beginnings.suffix(8).map { $0 + life - milliseconds }.filter { $0 > 0 }
        return remaining.isEmpty ? nil : remaining[random.below(remaining.count)]
    }

    /// The time of day is corrected, which concerns tokens alone: the last one seems to be from the
    /// future then, or just not.
    private func stepWallClock() throws {
        var milliseconds = Int64(random.below(24_001) - 12_000)
        if let issued = lastTokenSecond, random.isOne(in: 2) {
            milliseconds = (issued - 4 - Int64(random.below(3))) * 1_000 - clock.wallMilliseconds
        }
        clock.wallMilliseconds += milliseconds
        events.append(["event": "wall", "milliseconds": Int(milliseconds)])
        for _ in 0..<2 { try sendToken() }
    }

    private func turnRegistry() {
        isRegistryAway.toggle()
        registry.setFailing(isRegistryAway)
        events.append(["event": "registry", "away": isRegistryAway])
    }

    private func raiseFloors() throws {
        let index = anyGateway
        try gateway(index).floors.raise(in: registry, now: milliseconds)
        try settle(index)
        events.append(["event": "raise_floors", "gateway": index])
    }

    private func changeStatus() throws {
        let index = random.below(Self.enrolledCount)
        let keyID = devices[index].keyID
        let isActive = registry.record(of: keyID)?.status == .active
        registry.set(isActive ? .revoked : .active, of: keyID)
        for seat in seats.indices { try settle(seat) }
        events.append(["event": isActive ? "revoke" : "allow", "key": index])
    }

    private func enrolLast() throws {
        let device = devices[Self.enrolledCount]
        guard registry.record(of: device.keyID) == nil else { return }
        registry.insert(device.record)
        registry.set(.active, of: device.keyID)
        for seat in seats.indices { try settle(seat) }
        events.append(["event": "enrol", "key": Self.enrolledCount])
    }

    /// Ends a process; a clean stop keeps what counters inside know.
    private func stop(isClean: Bool) throws {
        let index = anyGateway
        let now = EmbeddedClock(clock).nowMilliseconds
        let counters = try gateway(index).counters
        // As a slow timer does: whether an idle key was forgotten is not left to chance.
        counters?.sweep(nowMilliseconds: now)
        let snapshot = isClean ? counters?.snapshot(nowMilliseconds: now) : nil
        try start(index, resuming: snapshot)
        events.append(["event": isClean ? "stop" : "kill", "gateway": index])
        if redis != nil { try settleAll() }
    }

    /// Every cached record goes, as when a listener of changes was cut off.
    private func forget() throws {
        for device in devices { registry.announce(device.keyID) }
        for seat in seats.indices { try settle(seat) }
        events.append(["event": "forget_records"])
    }
}

struct HistoryError: Error {
    let text: String
}

private struct DecisionOutcome: Hashable {
    let decision: Decision
    let reason: Reason
}

extension WorkerMeter {
    /// How often each decision was made for each reason on a route.
    fileprivate func outcomes(of route: String) -> [DecisionOutcome: UInt64] {
        guard let meter = routeMeters[route] else { return [:] }
        var counts: [DecisionOutcome: UInt64] = [:]
        for decision in Decision.allCases {
            for reason in Reason.allCases {
                let count = meter.count(decision, reason)
                if count > 0 {
                    counts[DecisionOutcome(decision: decision, reason: reason)] = count
                }
            }
        }
        return counts
    }
}
