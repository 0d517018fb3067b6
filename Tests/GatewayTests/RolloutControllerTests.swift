import Background
import EventLoop
import Foundation
import GatewayTesting
import Judgement
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// A gateway's side of rollouts, with a registry in memory that others may share.
private final class ControllerUnderTest {
    let hub: Hub
    let registry: ScriptedRegistry
    let shares = RolloutRegister()
    let controller: RolloutController
    private let answers = Locked<[RolloutAnswer]>([])
    private let bell = DispatchSemaphore(value: 0)
    /// Puts another answer in the place of one to a write.
    var changesWritten: (Result<SharedOutcome, StoreError>) -> Result<SharedOutcome, StoreError> = {
        $0
    }

    init(_ registry: ScriptedRegistry) throws {
        self.registry = registry
        var log = LogSettings()
        log.access = .off
        log.events = .off
        hub = Hub(
            registry: registry, counters: .fresh, meters: [WorkerMeter(), WorkerMeter()],
            logs: try LogWriters(log))
        let (answers, bell) = (answers, bell)
        controller = RolloutController(
            registry: registry, log: hub.logs, register: shares,
            counts: { [hub] in hub.counts(of: $0) },
            answer: { answer in
                answers.withLock { $0.append(answer) }
                bell.signal()
            })
    }

    /// Follows one route with `plan`, or who may attest.
    func follow(_ plan: RolloutPlan, attesting: Bool = false) throws {
        var settings = Settings()
        var route = GatewayUnderTest.route("api", "/api/") { $0.mode = .enforce }
        if attesting {
            settings.endpoints.attestRollout.plan = plan
        } else {
            route.rollout = plan
        }
        settings.routes = [route]
        controller.follow(settings.plannedRollouts)
        try settle()
    }

    /// One round, until every answer is in.
    func round() throws {
        controller.tick()
        try settle()
    }

    private func settle() throws {
        while !controller.isIdle {
            let limit = DispatchTime.now() + .seconds(ChildProcess.patienceSeconds)
            try #require(bell.wait(timeout: limit) == .success)
            let answer = answers.withLock { $0.removeFirst() }
            if case .written(let name, let result) = answer {
                controller.take(.written(entryName: name, changesWritten(result)))
            } else {
                controller.take(answer)
            }
        }
    }

    func count(_ judged: Int, refused: Int = 0) {
        let meter = hub.meters[0].meter(named: "api")
        for index in 0..<judged {
            meter.count(
                index < refused ? .unknownOrigin : .verified, .enforced, isRefused: index < refused)
        }
    }

    func percent(_ plan: RolloutPlan) -> Int? {
        shares.share(of: PlannedRollout(subject: .route("api"), plan: plan)).percent
    }
}

@Suite("Rollouts that gateways share", .timeLimit(.minutes(30)))
struct RolloutControllerTests {
    private let registry = ScriptedRegistry()
    private let plan: RolloutPlan = {
        var plan = RolloutPlan(start: 10)
        plan.schedule = RolloutPlan.Schedule()
        plan.guard = RolloutPlan.Guard()
        return plan
    }()
}

extension RolloutControllerTests {
    private func state(_ plan: RolloutPlan) throws -> RolloutState {
        let rollout = PlannedRollout(subject: .route("api"), plan: plan)
        let entry = try #require(registry.sharedValue(rollout.entryName))
        return try #require(RolloutRecord.decode(entry.value))
    }

    @Test("two gateways bring together what they count; one step is taken by both")
    func together() throws {
        let gateways = [try ControllerUnderTest(registry), try ControllerUnderTest(registry)]
        for gateway in gateways { try gateway.follow(plan) }
        #expect(gateways.map { $0.percent(plan) } == [10, 10])
        registry.pass(.seconds(24 * 3600))
        gateways[0].count(60, refused: 2)
        try gateways[0].round()
        #expect(try state(plan).period == RolloutCounts(judged: 60, refused: 2))
        gateways[1].count(40)
        try gateways[1].round()
        #expect(gateways.map { $0.percent(plan) } == [10, 20])
        try gateways[0].round()
        #expect(gateways.map { $0.percent(plan) } == [20, 20])
        #expect(try state(plan).evidence == RolloutCounts(judged: 100, refused: 2))
        // What was counted counts once.
        for gateway in gateways { try gateway.round() }
        #expect(try state(plan).period == RolloutCounts())
        // A start finds all of it again.
        let again = try ControllerUnderTest(registry)
        try again.follow(plan)
        #expect(again.percent(plan) == 20)
    }

    @Test("of gateways that decide at once each adds its counts to the other's")
    func races() throws {
        let gateways = try (0..<4).map { _ in try ControllerUnderTest(registry) }
        for gateway in gateways { try gateway.follow(plan) }
        for gateway in gateways { gateway.count(50, refused: 50) }
        // All read before any writes.
        for gateway in gateways { gateway.controller.tick() }
        for gateway in gateways { try gateway.round() }
        for gateway in gateways { try gateway.round() }
        #expect(try state(plan).status == .heldByGuard)
        #expect(try state(plan).evidence == RolloutCounts(judged: 200, refused: 200))
        #expect(gateways.map { $0.percent(plan) } == [10, 10, 10, 10])
    }

    @Test("while the registry is away the last share stays; a start knows none until it is back")
    func away() throws {
        let gateway = try ControllerUnderTest(registry)
        try gateway.follow(plan)
        registry.fail("away")
        gateway.count(300, refused: 300)
        try gateway.round()
        #expect(gateway.percent(plan) == 10)
        let fresh = try ControllerUnderTest(registry)
        try fresh.follow(plan)
        #expect(fresh.percent(plan) == nil)
        #expect(!fresh.controller.isUnsettled)
        registry.fail(nil)
        try fresh.round()
        #expect(fresh.percent(plan) == 10)
        // What was counted meanwhile is not lost.
        try gateway.round()
        #expect(try state(plan).evidence == RolloutCounts(judged: 300, refused: 300))
    }

    @Test("a write whose answer is lost is counted once")
    func lostAnswer() throws {
        let gateway = try ControllerUnderTest(registry)
        try gateway.follow(plan)
        gateway.count(10)
        gateway.changesWritten = { _ in .failure(StoreError("lost")) }
        try gateway.round()
        #expect(try state(plan).period.judged == 10)
        gateway.changesWritten = { $0 }
        try gateway.round()
        #expect(try state(plan).period.judged == 10)
        gateway.count(5)
        try gateway.round()
        #expect(try state(plan).period.judged == 15)
    }

    @Test("what an operator writes is followed; what nobody understands is left alone")
    func others() throws {
        let gateway = try ControllerUnderTest(registry)
        try gateway.follow(plan)
        let name = PlannedRollout(subject: .route("api"), plan: plan).entryName
        func replace(_ value: [UInt8]) throws {
            let write = SharedWrite(
                name: name, value: value, expected: registry.sharedValue(name))
            let done = DispatchSemaphore(value: 0)
            registry.writeShared(write) { _ in done.signal() }
            let limit = DispatchTime.now() + .seconds(ChildProcess.patienceSeconds)
            try #require(done.wait(timeout: limit) == .success)
        }
        var set = try state(plan)
        set.set(70, at: 1)
        try replace(RolloutRecord.encode(set))
        try gateway.round()
        #expect(gateway.percent(plan) == 70)
        try replace(Array(#"{"form":2,"percent":3}"#.utf8))
        gateway.count(10)
        try gateway.round()
        #expect(gateway.percent(plan) == 70)
        #expect(registry.sharedValue(name)?.value == Array(#"{"form":2,"percent":3}"#.utf8))
    }

    @Test("a registry that has lost how far it had come is told by who knows")
    func lostState() throws {
        let gateways = [try ControllerUnderTest(registry), try ControllerUnderTest(registry)]
        for gateway in gateways { try gateway.follow(plan) }
        registry.pass(.seconds(24 * 3600))
        gateways[0].count(100, refused: 1)
        for gateway in gateways { try gateway.round() }
        #expect(gateways.map { $0.percent(plan) } == [20, 20])
        registry.loseShared()
        let fresh = try ControllerUnderTest(registry)
        // Another one that has not heard of it must not begin the rollout anew for all of them.
        for gateway in gateways { try gateway.round() }
        try fresh.follow(plan)
        #expect(gateways.map { $0.percent(plan) } == [20, 20])
        #expect(fresh.percent(plan) == 20)
        #expect(try state(plan).evidence == RolloutCounts(judged: 100, refused: 1))
        registry.loseShared()
        let first = try ControllerUnderTest(registry)
        try first.follow(plan)
        #expect(first.percent(plan) == 10)
        // Who comes later takes what stands there.
        try gateways[0].round()
        #expect(gateways[0].percent(plan) == 10)
    }

    @Test("another start begins anew, other rules go on from where it is")
    func changedPlan() throws {
        let gateway = try ControllerUnderTest(registry)
        try gateway.follow(plan)
        gateway.count(100)
        registry.pass(.seconds(24 * 3600))
        try gateway.round()
        var faster = plan
        faster.schedule?.every = .seconds(60)
        try gateway.follow(faster)
        #expect(gateway.percent(faster) == 20)
        gateway.count(100)
        registry.pass(.seconds(60))
        try gateway.round()
        #expect(gateway.percent(faster) == 40)
        var other = plan
        other.start = 5
        try gateway.follow(other)
        #expect(gateway.percent(other) == 5)
        #expect(try state(other).period == RolloutCounts())
    }

    @Test("who may attest goes by the outcomes of attestations")
    func attesting() throws {
        let gateway = try ControllerUnderTest(registry)
        try gateway.follow(plan, attesting: true)
        let meter = gateway.hub.meters[0].meter(named: "attest/verify")
        for (decision, reason, count) in [
            (Decision.answered, Reason.ok, 190), (.refused, .attestationInvalid, 11),
            (.refused, .storeUnavailable, 50), (.refused, .challengeExpired, 50),
        ] {
            for _ in 0..<count {
                meter.count(decision: decision, reason: reason, status: 200, nanoseconds: 1)
            }
        }
        try gateway.round()
        let rollout = PlannedRollout(subject: .attestation, plan: plan)
        let entry = try #require(registry.sharedValue(rollout.entryName))
        let state = try #require(RolloutRecord.decode(entry.value))
        #expect(state.status == .heldByGuard)
        #expect(state.evidence == RolloutCounts(judged: 201, refused: 11))
    }

    @Test("a state survives being written down")
    func record() {
        var state = RolloutState(beginning: plan, at: 1_790_000_000_000)
        for step in 0..<40 {
            let now = 1_790_000_000_000 + Int64(step) * 60_000
            state.add(RolloutCounts(judged: 7, refused: 1), plan, at: now)
        }
        state.set(3, at: 1_790_000_000_000)
        state.add(RolloutCounts(judged: 7, refused: 1), plan, at: 1_790_000_000_001)
        #expect(RolloutRecord.decode(RolloutRecord.encode(state)) == state)
        #expect(RolloutRecord.encode(state).count < SharedWrite.valueByteCountMax)
        let text = String(decoding: RolloutRecord.encode(state), as: UTF8.self)
        for (part, other) in [
            (#""percent":3"#, #""percent":101"#), (#""status":"held"#, #""status":"hold"#),
            (#""period":[7,1]"#, #""period":[1,7]"#), (#""form":1"#, #""form":2"#),
            ("{", "["), (#""cause":"set","#, ""),
        ] {
            #expect(text.contains(part))
            let changed = Array(text.replacingOccurrences(of: part, with: other).utf8)
            #expect(RolloutRecord.decode(changed) == nil)
        }
    }
}
