import Attestation
import Bytes
import GatewayTesting
import KeyStore
import RedisKeyStore
import Testing

/// What the script must do, as simply as it can be said: whole sets, no ring, no bits.
private struct CounterModel {
    private struct Device {
        var highest: UInt32 = 0
        /// Everything up to here counts as used, beside `accepted`.
        var base: UInt32 = 0
        var accepted: Set<UInt32> = []
        var spent: [Bytes16: UInt32] = [:]
        var hasState = false
    }

    private var devices: [KeyID: Device] = [:]
    var revoked: Set<KeyID> = []
    var incarnation: Incarnation

    init(incarnation: Incarnation) { self.incarnation = incarnation }

    mutating func advance(_ request: CounterAdvance) -> CounterVerdict {
        var device = devices[request.keyID] ?? Device()
        if revoked.contains(request.keyID) { return .revoked }
        if request.challenge.incarnation != incarnation { return .incarnationChanged }
        if let mark = device.spent[request.challenge.id] {
            return mark == request.uniqueness.mark ? .replayed : .challengeSpent
        }
        guard let counter = request.uniqueness.counter else {
            device.spent[request.challenge.id] = request.uniqueness.mark
            devices[request.keyID] = device
            return .accepted
        }
        if counter <= request.floor { return .counterTooLow }
        if !device.hasState || device.highest < request.floor {
            device.highest = request.floor
            device.base = request.floor
            device.hasState = true
        }
        if counter <= device.highest {
            let distance = Int(device.highest - counter)
            if distance >= 1024 { return .counterTooLow }
            let isUsed = counter <= device.base || device.accepted.contains(counter)
            if isUsed { return .counterUsed }
            if distance >= request.windowSize { return .counterTooLow }
        }
        device.highest = max(device.highest, counter)
        device.accepted.insert(counter)
        device.spent[request.challenge.id] = counter
        devices[request.keyID] = device
        return .accepted
    }
}

@Suite(
    "The counter script and a naive model", .enabled(if: RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct RedisModelTests {}

extension RedisModelTests {
    private struct SeededNumbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    /// A request near the place where the device is, mostly.
    private func request(
        _ bench: RedisCounterBench, _ near: inout [UInt32], _ random: inout SeededNumbers
    ) -> CounterAdvance {
        let key = Int.random(in: 0..<near.count, using: &random)
        let place = Int(near[key])
        let counter: Int
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<50: counter = place + 1
        case 50..<65: counter = place - Int.random(in: 0..<10, using: &random)
        case 65..<80: counter = place - Int.random(in: 0..<1200, using: &random)
        case 80..<93: counter = place + Int.random(in: 1..<40, using: &random)
        case 93..<96: counter = place + Int.random(in: 1..<1100, using: &random)
        case 96..<99: counter = place + Int.random(in: 1000..<1050, using: &random)
        default: counter = Int.random(in: 0...5_000_000, using: &random)
        }
        let clamped = UInt32(clamping: counter)
        // Some go far ahead and stay there; the last device lives at the end of all numbers.
        if clamped > near[key], clamped < 4_000_000 || key == near.count - 1 {
            near[key] = clamped
        }
        let window = [1, 1, 2, 8, 64, 1023, 1024][Int.random(in: 0..<7, using: &random)]
        let floor =
            Int.random(in: 0..<30, using: &random) == 0
            ? place + Int.random(in: -100..<20, using: &random) : 0
        let counts = Int.random(in: 0..<5, using: &random) > 0
        return bench.request(
            key: UInt64(key), counts ? .counter(clamped) : .challenge(mark: clamped),
            window: window,
            challenge: UInt64.random(in: 0..<5000, using: &random),
            floor: UInt32(clamping: floor))
    }

    @Test("agree over thousands of operations", arguments: [1, 2, 3] as [UInt64])
    func agree(seed: UInt64) throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        var model = CounterModel(incarnation: try #require(bench.incarnation))
        var random = SeededNumbers(state: seed)
        var near: [UInt32] = [0, 0, 5, 100, 70_000, .max - 3000]
        var counters: Set<[UInt64]> = []
        var challenges: Set<[UInt64]> = []
        var acceptedCount = 0
        for round in 1...60 {
            let requests = (0..<100).map { _ in request(bench, &near, &random) }
            let expected = requests.map { model.advance($0) }
            let verdicts = try bench.verdicts(requests)
            #expect(verdicts == expected, "seed \(seed), round \(round)")
            for (request, verdict) in zip(requests, verdicts) where verdict == .accepted {
                acceptedCount += 1
                let key = request.keyID.digest.word0
                let life = request.challenge.incarnation.value
                if let counter = request.uniqueness.counter {
                    #expect(counters.insert([life, key, UInt64(counter)]).inserted)
                }
                #expect(challenges.insert([life, key, request.challenge.id.word1]).inserted)
            }
            try disturb(round, server, bench, &model)
        }
        #expect(acceptedCount > 500)
    }

    /// Between batches: revocations, a forgotten script, lost data.
    private func disturb(
        _ round: Int, _ server: RedisServer, _ bench: RedisCounterBench, _ model: inout CounterModel
    ) throws {
        let configuration = RedisCounterBench.configuration(port: server.port)
        let key = RedisCounterBench.key(2)
        if round % 10 == 3 {
            try RedisRevocations.mark([key], configuration: configuration)
            model.revoked.insert(key)
        } else if round % 10 == 5 {
            try server.command("DEL", RedisCounterBench.markName(key))
            model.revoked.remove(key)
        } else if round % 10 == 7 {
            try server.command("SCRIPT", "FLUSH")
        } else if round % 25 == 0 {
            let before = bench.incarnation
            let old = bench.request(counter: .max, challenge: 1)
            try server.command("FLUSHALL")
            #expect(try bench.verdict(old) == .incarnationChanged)
            try bench.run { bench.incarnation != before }
            model = CounterModel(incarnation: try #require(bench.incarnation))
        }
    }
}
