import AppAttest
import AppAttestTesting
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import GatewayTokens
import Judgement
import KeyStore
import Policy
import Testing

@testable import Gateway

/// A history of requests, one after another, that a gateway judges: each with what it decided and
/// why, for `Tests/Assurance/decision_model.py`, which has to come to the same. Everything follows
/// from the seed but the names of keys.
final class DecisionHistory {
    /// A line of the transcript.
    typealias Event = [String: any Sendable]

    private static let challengeKey = [UInt8](repeating: 7, count: 32)
    /// The gateway's challenges with another key: what is sealed by these is not its own.
    private static let foreignKey = [UInt8](repeating: 8, count: 32)
    private static let enrolledCount = 3
    /// As ``FloorTable`` has it by default, and ``SimulatedGateway`` with it.
    private static let floorLifeMilliseconds = 125_000
    private static let challengeLifeMilliseconds = 120_000

    private struct MintedChallenge {
        let text: String
        let opened: Challenge
    }

    private(set) var events: [Event] = []
    private let counterOptions = EmbeddedCounters.Options()
    private var random: SeededNumbers
    private let scratch: ScratchDirectory
    private let registry = SimulatedRegistry()
    private let clock = ManualClock(
        now: MonotonicInstant(nanoseconds: 1_000_000_000), wallMilliseconds: 1_800_000_000_000)
    /// The last one is never enrolled until an event says so.
    private let devices: [SimulatedDevice]
    private let sealer: ChallengeSealer
    private var gateway: SimulatedGateway?
    private var lifeCount = 0
    private var challenges: [MintedChallenge] = []
    private var acceptedAt: [Int64] = []
    private var highestSigned: [KeyID: UInt32] = [:]
    /// Signed requests, which anybody may send again.
    private var sent: [(event: Event, bytes: [UInt8])] = []

    init(seed: UInt64) throws {
        random = SeededNumbers(seed: seed)
        scratch = try ScratchDirectory()
        devices = try (0...Self.enrolledCount).map { _ in
            try SimulatedDevice(appID: SimulatedGateway.appID)
        }
        sealer = try #require(ChallengeSealer(keys: [Self.challengeKey]))
        for device in devices.dropLast() { enrol(device) }
        try start(resuming: nil)
        events.append([
            "event": "setup", "seed": Int(seed),
            "challenge_life": Self.challengeLifeMilliseconds,
            "floor_life": Self.floorLifeMilliseconds,
            "retention": counterOptions.challengeLifeMilliseconds
                + counterOptions.graceMilliseconds,
            "keys": devices.map { Hex.encode($0.keyID.digest.array) },
            "enrolled": Self.enrolledCount, "rollout": rolloutPercent, "now": milliseconds,
        ])
    }

    // MARK: the gateway

    /// One key lies just outside the rollout.
    private lazy var rolloutPercent = Rollout.cohort(of: devices[0].keyID.digest)
    private lazy var routes: [Route] = [
        SimulatedGateway.route("strict", "/strict") { $0.replay = .strict },
        SimulatedGateway.route("window", "/window") { $0.replay = .window(4) },
        SimulatedGateway.route("durable", "/durable") { $0.replay = .durable },
        SimulatedGateway.route("unchallenged", "/unchallenged") {
            $0.replay = .durable
            $0.challenge = .off
        },
        SimulatedGateway.route("observed", "/observed") { $0.mode = .observe },
        SimulatedGateway.route("rollout", "/rollout") { $0.rolloutPercent = rolloutPercent },
        SimulatedGateway.route("lenient", "/lenient") {
            $0.onMissing = .pass
            $0.onInvalid = .pass
        },
    ]

    private func start(resuming snapshot: EmbeddedSnapshot?) throws {
        gateway = nil
        lifeCount += 1
        let directory = scratch.path(of: String(lifeCount))
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        let counters = EmbeddedCounters(
            options: counterOptions, resuming: snapshot, clock: EmbeddedClock(clock))
        let floors = FloorTable(
            lifeMilliseconds: Int64(Self.floorLifeMilliseconds), beside: scratch.path(of: "floors"))
        floors.takeOver(now: milliseconds) { counters.holds($0) }
        gateway = try SimulatedGateway(
            clock: clock, registry: registry, directory: directory, embedded: counters,
            floors: floors, routes: routes)
    }

    private var milliseconds: Int64 { Int64(clock.now.nanoseconds / 1_000_000) }

    private func enrol(_ device: SimulatedDevice) {
        registry.insert(
            KeyRecord(
                keyID: device.keyID, publicKey: device.publicKey, appID: device.appID,
                environment: .production, enrolledAt: 1))
    }

    /// Lets the worker take up what it was told.
    private func settle() throws {
        let gateway = try #require(gateway)
        repeat {
            gateway.step(store: { nil }, upstream: { _ in true })
            while registry.waitingCount > 0 { registry.answer(0) }
            gateway.worker.loop.runUntilIdle()
        } while registry.waitingCount > 0
    }

    private func exchange(_ request: [UInt8]) throws -> WholeMessage {
        let gateway = try #require(gateway)
        let descriptor = try gateway.connect()
        defer { Socket.close(descriptor) }
        #expect(Socket.write(descriptor, request.span) == .bytes(request.count))
        var received = ByteBuffer()
        for _ in 0..<100 {
            try settle()
            while case .bytes = Socket.read(descriptor, into: &received, atMost: 1 << 16) {}
            if let message = WholeMessage(received.readable.array) { return message }
        }
        throw HistoryError(text: "no answer to \(String(decoding: request, as: UTF8.self))")
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
        switch random.below(100) {
        case 0..<14: try fetchChallenge()
        case 14..<72: try sendSigned()
        case 72..<82: try sendAgain()
        case 82..<84: try sendUnsigned()
        case 84..<91: passTime()
        case 91..<94: try raiseFloors()
        case 94..<96: try changeStatus()
        case 96..<97: try enrolLast()
        case 97..<98: try stop(isClean: false)
        case 98..<99: try stop(isClean: true)
        default: try forget()
        }
    }

    private func fetchChallenge() throws {
        let purpose = random.isOne(in: 12) ? "attest" : "assert"
        let message = try exchange(
            Array("GET /\(purpose)/challenge HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        try #require(message.status == 200)
        events.append(["event": "challenge", "purpose": purpose, "id": try note(message.body)])
    }

    private func note(_ text: String) throws -> Int {
        let opened = sealer.open(Array(text.utf8).span)
        challenges.append(MintedChallenge(text: text, opened: try #require(opened)))
        return challenges.count - 1
    }

    private func sendSigned() throws {
        let route = routes[random.below(routes.count)]
        let index = random.below(devices.count)
        var event: Event = ["event": "request", "route": route.name, "key": index]
        let challenge = try chooseChallenge(for: route, of: index, &event)
        let device = devices[index]
        let counter = chooseCounter(of: device)
        event["counter"] = Int(counter)
        let fault = random.isOne(in: 16) ? AssertionFault.otherKey : nil
        let isOfOtherApp = fault == nil && random.isOne(in: 40)
        let mismatch = random.isOne(in: 16) ? ["method", "path", "body"][random.below(3)] : ""
        if fault != nil { event["fault"] = "signature" }
        if isOfOtherApp { event["fault"] = "app" }
        if !mismatch.isEmpty { event["mismatch"] = mismatch }
        let body = String(sent.count)
        device.counter = counter &- 1
        let signed = try device.sign(
            method: mismatch == "method" ? "PUT" : "POST",
            path: mismatch == "path" ? "/other" : "/" + route.name,
            body: Array((mismatch == "body" ? body + "x" : body).utf8), challenge: challenge,
            fault: isOfOtherApp ? .otherApp : fault)
        var text = "POST /\(route.name) HTTP/1.1\r\nHost: a\r\n"
        text += "Content-Length: \(body.utf8.count)\r\n"
        for header in signed.headers { text += "\(header.name): \(header.value)\r\n" }
        let bytes = Array((text + "\r\n" + body).utf8)
        sent.append((event, bytes))
        try send(event, bytes)
    }

    /// The app's counter as it is, a gap, or a step back.
    private func chooseCounter(of device: SimulatedDevice) -> UInt32 {
        let next = (highestSigned[device.keyID] ?? 0) + 1
        let counter: UInt32 =
            switch random.below(8) {
            case 0: next + UInt32(random.below(6))
            case 1...2: UInt32(max(1, Int(next) - 1 - random.below(7)))
            case 3: max(1, next - 1)
            default: next
            }
        highestSigned[device.keyID] = max(highestSigned[device.keyID] ?? 0, counter)
        return counter
    }

    private func chooseChallenge(
        for route: Route, of key: Int, _ event: inout Event
    ) throws -> String? {
        let isOften = route.attest.challenge == .off
        switch random.below(isOften ? 4 : 24) {
        case 0:
            event["words"] = "none"
            return nil
        case 1:
            event["words"] = "foreign"
            let other = try #require(ChallengeSealer(keys: [Self.foreignKey]))
            let opened = try challenges.last?.opened ?? freshChallenge().opened
            return String(decoding: other.token(of: opened), as: UTF8.self)
        case 2:
            event["words"] = "own"
            return "a word of the app's"
        default: break
        }
        // Mostly the newest that it may use, sometimes any.
        let usable = challenges.indices.suffix(12).filter {
            challenges[$0].opened.keyID.map { $0 == devices[key].keyID } ?? true
        }
        var choice = usable.last
        if random.isOne(in: 4), !challenges.isEmpty { choice = random.below(challenges.count) }
        let index = try choice ?? freshChallenge().index
        event["challenge"] = index
        return challenges[index].text
    }

    private func freshChallenge() throws -> (index: Int, opened: Challenge) {
        let before = challenges.count
        while challenges.count == before { try fetchChallenge() }
        return (before, challenges[before].opened)
    }

    private func sendAgain() throws {
        guard !sent.isEmpty else { return }
        let reach = random.isOne(in: 2) ? min(sent.count, 6) : sent.count
        let (event, bytes) = sent[sent.count - 1 - random.below(reach)]
        try send(event, bytes)
    }

    private func sendUnsigned() throws {
        // Which side of a rollout a client without a key is on is its address's business.
        let routes = self.routes.filter { $0.name != "rollout" }
        let name = routes[random.below(routes.count)].name
        try send(
            ["event": "request", "route": name],
            Array("POST /\(name) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".utf8))
    }

    private func send(_ request: Event, _ bytes: [UInt8]) throws {
        let name = try #require(request["route"] as? String)
        let worker = try #require(gateway?.worker)
        let before = worker.meter.outcomes(of: name)
        let refusals = worker.hub.refusals[0]
        let refusalsBefore = Set(refusals.records.map(ObjectIdentifier.init))
        let answer = try exchange(bytes)
        var event = request
        event["status"] = answer.status
        let after = worker.meter.outcomes(of: name)
        let outcome = try #require(after.first { $0.value != before[$0.key] ?? 0 }?.key)
        event["decision"] = "\(outcome.decision.name)"
        event["reason"] = "\(outcome.reason.code)"
        if outcome.decision == .verified { acceptedAt.append(milliseconds) }
        let new = refusals.records.first { !refusalsBefore.contains(ObjectIdentifier($0)) }
        if let detail = new?.detail { event["detail"] = detail }
        if let next = answer.field("x-app-attest-challenge") {
            let index = try note(next)
            event["next"] = index
            if let bound = challenges[index].opened.keyID {
                event["next_key"] = devices.firstIndex { $0.keyID == bound }
            }
        }
        events.append(event)
    }

    private func passTime() {
        let milliseconds: Int64 =
            switch random.below(8) {
            case 0: 119_999
            case 1: 120_000
            case 2...3: 125_000
            case 4: 60_000
            case 5: 1
            case 6: untilAcceptedOneSettles ?? 1
            default: Int64(random.below(40_000))
            }
        clock.now = clock.now.advanced(byNanoseconds: UInt64(milliseconds) * 1_000_000)
        clock.wallMilliseconds += milliseconds
        events.append(["event": "time", "milliseconds": Int(milliseconds)])
    }

    /// To the moment when one of the last accepted counters is exactly a life old.
    private var untilAcceptedOneSettles: Int64? {
        let remaining = acceptedAt.suffix(8).map {
            $0 + Int64(Self.floorLifeMilliseconds) - milliseconds
        }.filter { $0 > 0 }
        return remaining.isEmpty ? nil : remaining[random.below(remaining.count)]
    }

    private func raiseFloors() throws {
        try #require(gateway).floors.raise(in: registry, now: milliseconds)
        try settle()
        events.append(["event": "raise_floors"])
    }

    private func changeStatus() throws {
        let index = random.below(Self.enrolledCount)
        let keyID = devices[index].keyID
        let isActive = registry.record(of: keyID)?.status == .active
        registry.set(isActive ? .revoked : .active, of: keyID)
        try settle()
        events.append(["event": isActive ? "revoke" : "allow", "key": index])
    }

    private func enrolLast() throws {
        let device = devices[Self.enrolledCount]
        guard registry.record(of: device.keyID) == nil else { return }
        enrol(device)
        registry.set(.active, of: device.keyID)
        try settle()
        events.append(["event": "enrol", "key": Self.enrolledCount])
    }

    /// Ends the process; a clean stop keeps what the counters know.
    private func stop(isClean: Bool) throws {
        let now = EmbeddedClock(clock).nowMilliseconds
        // As a slow timer does: whether an idle key was forgotten is not left to chance.
        gateway?.counters?.sweep(nowMilliseconds: now)
        let snapshot = isClean ? gateway?.counters?.snapshot(nowMilliseconds: now) : nil
        try start(resuming: snapshot)
        events.append(["event": isClean ? "stop" : "kill"])
    }

    /// Every cached record goes, as when a listener of changes was cut off.
    private func forget() throws {
        for device in devices { registry.announce(device.keyID) }
        try settle()
        events.append(["event": "forget_records"])
    }
}

private struct HistoryError: Error {
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
