import AppAttest
import AppAttestTesting
import Attestation
import Background
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLiteKeyStore
import Settings
import Testing

@Suite("A month of renewals", .timeLimit(.minutes(30)))
final class RenewalSimulationTests {
    private static let appID = "ABCDE12345.com.example.app"
    private static let day: Int64 = 86_400
    private static let keyCount = 100_000
    /// Twelve days in, as many receipts fall due in one hour as take five and a half to renew.
    private static let rushSeconds = 12 * day
    private static let rushCount = 40_000
    private static let spacing: UInt64 = 500_000_000

    let directory: ScratchDirectory
    let registryPath: String
    private var made: [Int64: ReceiptFields] = [:]

    init() throws {
        directory = try ScratchDirectory(inMemory: true)
        registryPath = directory.path(of: "registry.db")
    }
}

extension RenewalSimulationTests {
    // MARK: the keys

    /// What becomes of a key's receipt, by the number in its id.
    private enum Ending: Int {
        case renewed = 0
        /// Apple fails for it every time.
        case poisoned
        case notFound
        case tooEarly
        case refused
        /// Revoked before it is due.
        case revoked
    }

    private static func ending(_ number: Int) -> Ending {
        switch number % 1000 {
        case 1: .poisoned
        case 2: .notFound
        case 3...12: .tooEarly
        case 13: .refused
        case 14: .revoked
        default: .renewed
        }
    }

    /// The number is in the id; the rest of it is as good as random.
    private static func keyID(_ number: Int) -> KeyID {
        var mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        mixed ^= mixed >> 29
        return KeyID(
            digest: Bytes32(word0: mixed, word1: 1, word2: mixed &* 3, word3: UInt64(number)))
    }

    private static func number(_ keyID: KeyID) -> Int { Int(keyID.digest.word3) }

    /// Seconds after the start.
    private static func dueOffset(_ number: Int) -> Int64 {
        let mixed = Int64(truncatingIfNeeded: keyID(number).digest.word0 >> 2)
        return number < rushCount ? rushSeconds + mixed % 3600 : mixed % (30 * day)
    }

    private func fill() throws {
        let administration = try SQLiteAdministration(path: registryPath, createsIfMissing: true)
        let load = administration.beginImport()
        for number in 0..<Self.keyCount {
            let dueAt = RenewalSimulation.startSeconds + Self.dueOffset(number)
            var record = KeyRecord(
                keyID: Self.keyID(number), publicKey: P256PublicKey(x: .zero, y: .zero),
                appID: Self.appID, environment: number % 10 == 0 ? .development : .production,
                enrolledAt: dueAt - Self.day)
            record.receipt = [1, 2, 3]
            record.receiptState = ReceiptState(
                kind: .receipt, createdAt: dueAt - Self.day, notBefore: dueAt,
                expiresAt: dueAt + 89 * Self.day, dueAt: dueAt)
            try load.add(record)
        }
        _ = try load.finish()
        _ = try administration.revoke(
            (0..<Self.keyCount).filter { Self.ending($0) == .revoked }.map(Self.keyID))
    }

    // MARK: Apple

    /// Throttles for an hour on day 5, fails for two on day 20.
    private static func isThrottling(_ seconds: Int64) -> Bool {
        (5 * day..<5 * day + 3600).contains(seconds)
    }
    private static func isDown(_ seconds: Int64) -> Bool {
        (20 * day..<20 * day + 7200).contains(seconds)
    }

    private func answer(_ due: DueReceipt, at seconds: Int64) -> RenewalResult {
        if Self.isThrottling(seconds) { return .throttled(retryAfter: .seconds(300)) }
        if Self.isDown(seconds) { return .serverError(retryAfter: nil) }
        switch Self.ending(Self.number(due.keyID)) {
        case .poisoned: return .serverError(retryAfter: nil)
        case .notFound: return .notFound
        case .tooEarly where due.state.lastOutcome == nil: return .tooEarly
        case .refused: return .badPayload
        case .renewed, .tooEarly, .revoked:
            guard let fields = fields(at: seconds) else { return .invalid("fields") }
            return .renewed([4, 5, 6], fields)
        }
    }

    private static let point =
        (try? P256PrivateKey(scalar: Bytes32(word0: 1, word1: 2, word2: 3, word3: 4)).publicKey
            .x963) ?? []

    /// Receipts of the same five minutes are made once.
    private func fields(at seconds: Int64) -> ReceiptFields? {
        let createdAt = RenewalSimulation.startSeconds + seconds / 300 * 300
        if let fields = made[createdAt] { return fields }
        let receipt = SimulatedReceipt(
            kind: .receipt, appID: Self.appID, attestedKey: Self.point, clientHash: [],
            environment: .production, createdAt: createdAt, riskMetric: 7)
        made[createdAt] = try? ReceiptFields(content: receipt.content.span)
        return made[createdAt]
    }

    private static var rules: RenewalPlanner.Rules {
        var settings = ReceiptSettings()
        // So that a month holds one renewal of each key.
        settings.interval = .seconds(28 * day)
        settings.jitter = .seconds(day)
        settings.retry.failed = .seconds(3 * 3600)
        var backOff = BackOff()
        backOff.shortest = .seconds(10)
        backOff.longest = .seconds(600)
        return RenewalPlanner.Rules(
            schedule: ReceiptSchedule(settings), spacing: spacing, inFlightCountMax: 8,
            backOff: backOff, unauthorizedPause: .seconds(600), pollInterval: .seconds(300),
            groups: [
                ReceiptGroup(appID: appID, environment: .production),
                ReceiptGroup(appID: appID, environment: .development),
            ])
    }

    // MARK: the month

    @Test("100,000 receipts: never too fast, none forgotten, each in time, through a crash")
    func month() throws {
        try fill()
        let registry = try SQLiteRegistry(path: registryPath)
        let simulation = RenewalSimulation(
            registry: registry, rules: Self.rules, leaseLife: .seconds(300))
        simulation.apple = { [unowned self] in answer($0, at: $1) }
        let first = simulation.startGateway()
        let second = simulation.startGateway()
        // The holder is killed in the middle of the rush, with requests and results under way.
        simulation.run(until: Self.rushSeconds + 7200)
        #expect(simulation.holder() == first)
        simulation.kill(first)
        let crashedAt = simulation.clock.now
        simulation.run(until: Self.rushSeconds + 7800)
        #expect(simulation.holder() == second)
        // Later it is stopped for a while, and another one takes its place.
        let third = simulation.startGateway()
        simulation.run(until: 25 * Self.day)
        simulation.freeze(second, for: .seconds(1200))
        simulation.run(until: 31 * Self.day)
        #expect(simulation.holder() == third)
        #expect(simulation.takeovers == 3)
        registry.close()
        checkRate(simulation, crashedAt)
        checkEachWasSentInTime(simulation)
        try checkOutcomes()
    }

    private func checkRate(_ simulation: RenewalSimulation, _ crashedAt: MonotonicInstant) {
        let sendings = simulation.sendings
        var shortest = UInt64.max
        for (former, latter) in zip(sendings, sendings.dropFirst()) {
            shortest = min(shortest, latter.at.nanoseconds(since: former.at))
        }
        #expect(shortest >= Self.spacing)
        // The rate is used, too: the rush ends within a tenth more than it has to take.
        let rushEnd = sendings.last { Self.number($0.keyID) < Self.rushCount / 2 }
        #expect(rushEnd != nil)
        // Leaving Apple alone means one question for each pause.
        let throttled = sendings.count {
            Self.isThrottling(Self.seconds($0.at))
        }
        #expect(throttled > 5 && throttled < 30, "\(throttled)")
        let down = sendings.count { Self.isDown(Self.seconds($0.at)) }
        #expect(down > 10 && down < 60, "\(down)")
    }

    private static func seconds(_ instant: MonotonicInstant) -> Int64 {
        Int64(instant.nanoseconds(since: RenewalSimulation.start) / 1_000_000_000)
    }

    /// None before it is due, none that was revoked, and each within half a day of its time.
    private func checkEachWasSentInTime(_ simulation: RenewalSimulation) {
        var first: [Int: Int64] = [:]
        var counts: [Int: Int] = [:]
        for sending in simulation.sendings {
            let number = Self.number(sending.keyID)
            first[number] = first[number] ?? Self.seconds(sending.at)
            counts[number, default: 0] += 1
        }
        var early = 0
        var late = 0
        var forgotten = 0
        var repeated = 0
        for number in 0..<Self.keyCount {
            guard Self.ending(number) != .revoked else {
                #expect(first[number] == nil)
                continue
            }
            guard let sentAt = first[number] else {
                forgotten += 1
                continue
            }
            let dueAt = Self.dueOffset(number)
            if sentAt < dueAt { early += 1 }
            if sentAt > dueAt + Self.day / 2 { late += 1 }
            if Self.ending(number) == .renewed, counts[number] ?? 0 > 1 { repeated += 1 }
        }
        #expect(early == 0)
        #expect(late == 0)
        #expect(forgotten == 0)
        // Throttled, failed, or lost with a holder before they were kept; and those renewed early
        // in the month are due again at its end.
        let again = (0..<Self.keyCount).count { Self.dueOffset($0) < 3 * Self.day + 3600 }
        #expect(repeated < again + 400, "\(repeated) of \(again)")
    }

    private func checkOutcomes() throws {
        let administration = try SQLiteAdministration(path: registryPath)
        var wrong: [String] = []
        try administration.export(KeyFilter()) { (record) throws(StoreError) in
            let state = record.receiptState
            let isRight =
                switch Self.ending(Self.number(record.keyID)) {
                // The month ends before the second attempt.
                case .tooEarly where state?.lastOutcome == .tooEarly:
                    Self.dueOffset(Self.number(record.keyID)) > 28 * Self.day
                case .renewed, .tooEarly:
                    state?.lastOutcome == .renewed && record.receipt == [4, 5, 6]
                        && record.riskMetric == 7 && state?.failureCount == 0
                case .poisoned: state?.lastOutcome == .serverError && state?.dueAt != nil
                case .notFound: state?.lastOutcome == .notFound && record.receipt == [1, 2, 3]
                case .refused: state?.lastOutcome == .badPayload && state?.dueAt == nil
                case .revoked: state?.lastOutcome == nil && state?.dueAt == nil
                }
            if !isRight { wrong.append("\(Self.number(record.keyID)): \(record)") }
        }
        #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(3))")
    }
}
