import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// How long a scenario goes on, and which one: `FAULT_SECONDS` and `FAULT_SEED`.
enum FaultLength {
    private static func number(_ variable: String, _ fallback: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? fallback
    }

    static let seconds = TimeInterval(number("FAULT_SECONDS", 2))
    static let seed = UInt64(number("FAULT_SEED", 1))
    /// How long one fault lasts at most, where nothing else ends it.
    static let holdSeconds: TimeInterval = seconds > 20 ? 3 : 0.6
}

/// Something that goes wrong. Returns when the cause is gone; what it broke may still be broken.
struct Fault {
    let name: String
    let inject: (FaultRun) throws -> Void

    init(_ name: String, _ inject: @escaping (FaultRun) throws -> Void) {
        self.name = name
        self.inject = inject
    }
}

/// Lets clients, attackers and an operator loose on gateways while one fault follows the other;
/// then everything is whole again, all that was ever sent is sent once more, and the books are
/// compared with what the upstream saw.
final class FaultRun {
    private static let clientCount = 3
    /// A fault's end is noticed by polling; nobody waits for this time to pass.
    private static let recoverySeconds = TimeInterval(ChildProcess.patienceSeconds)

    let site: FaultSite
    let gateways: [GatewayProcess]
    let ledger = FaultLedger()
    var generator: SeededGenerator
    private let name: String
    private let allowed: Set<String>
    private let clonedRoutes: [String]
    /// A device of each platform at each gateway.
    private var probes: [(gateway: GatewayProcess, device: TestDevice)] = []
    private var clients: [FaultClient] = []

    /// `allowed`: what these faults may do to a fresh request beyond a refusal that tells to sign
    /// again or to come later. `keepsCounters`: nothing happens to the counters themselves, so that
    /// a clone's repeated counter is refused even with a challenge of its own; else only the
    /// registry can tell.
    init(
        _ name: String, _ site: FaultSite, _ gateways: [GatewayProcess],
        allowed: Set<String> = [], keepsCounters: Bool = false
    ) {
        self.name = name
        self.site = site
        self.gateways = gateways
        self.allowed = allowed
        clonedRoutes = keepsCounters ? ["strict", "window", "durable"] : ["durable"]
        generator = SeededGenerator(FaultLength.seed)
    }

    // MARK: for faults

    /// Lets everybody go on for a while.
    func hold() {
        let seconds = TimeInterval.random(in: 0.1...FaultLength.holdSeconds, using: &generator)
        ledger.wait(until: Date(timeIntervalSinceNow: seconds))
    }

    func anyGateway() -> GatewayProcess {
        gateways[Int.random(in: gateways.indices, using: &generator)]
    }

    /// What was sent last comes again, through every gateway, twice.
    func replayRecent() {
        let recent = ledger.captured.suffix(40)
        for gateway in gateways + gateways.reversed() {
            guard let client = try? gateway.connect() else { continue }
            for item in recent {
                let start = Date()
                guard let answer = try? item.call.exchange(on: client) else { break }
                ledger.note(
                    answer, to: item.call, key: item.keyID, sentAt: start, isReplay: true)
            }
        }
    }

    // MARK: the run

    /// Each fault comes once before any comes again, in an order that the seed says.
    func run(_ faults: [Fault]) throws {
        try explore(faults, for: FaultLength.seconds)
        print("\(name), seed \(FaultLength.seed): \(ledger.summary)")
        let violations = ledger.violations
        #expect(
            violations.isEmpty,
            "FAULT_SEED=\(FaultLength.seed): \(name): \(violations.prefix(8)) \(ledger.summary)")
        // A run in which nothing happens shows nothing.
        #expect(ledger.faultCount > 0)
        #expect(ledger.accepted.count > 10, "\(ledger.summary)")
        #expect(ledger.refusedCount > 10, "\(ledger.summary)")
        for gateway in gateways { #expect(gateway.isUnharmed, "\(gateway.alarms)") }
    }

    /// As ``run(_:)``, for a canary and not for long: what was found.
    func violations(of faults: [Fault]) throws -> [String] {
        try explore(faults, for: 2)
        return ledger.violations
    }

    private func explore(_ faults: [Fault], for seconds: TimeInterval) throws {
        for gateway in gateways {
            for probe in try site.enrolledDevices(at: gateway) {
                ledger.noteAcknowledged(probe.keyID.base64, isExpendable: false)
                probes.append((gateway, probe))
            }
        }
        let crowd = startCrowd()
        do {
            try injectAll(faults, for: seconds)
        } catch {
            Issue.record("FAULT_SEED=\(FaultLength.seed): \(name): \(error)")
        }
        ledger.close()
        for gate in crowd { gate.wait() }
        replayAll()
        try compareKeys()
        try serveEverybody()
        compareUpstream()
    }

    private func injectAll(_ faults: [Fault], for seconds: TimeInterval) throws {
        let end = Date(timeIntervalSinceNow: seconds)
        var waiting: [Fault] = []
        ledger.wait(actions: 30, until: Date(timeIntervalSinceNow: 30))
        repeat {
            if waiting.isEmpty { waiting = faults.shuffled(using: &generator) }
            let fault = waiting.removeLast()
            try inject(fault)
            ledger.noteFault(fault.name)
            try recover(from: fault.name)
            let count = Int.random(in: 5...40, using: &generator)
            ledger.wait(actions: count, until: Date(timeIntervalSinceNow: 10))
        } while Date() < end
    }

    /// A cluster or a set of Sentinels may just be busy with a failover of its own: what could not
    /// be broken as intended is tried once more. What the gateways do meanwhile counts as ever.
    private func inject(_ fault: Fault) throws {
        do {
            try fault.inject(self)
        } catch {
            print("\(name), seed \(FaultLength.seed): once more: \(fault.name): \(error)")
            do {
                try fault.inject(self)
            } catch {
                throw FaultSiteError("\(fault.name): \(error)")
            }
        }
    }

    /// The devices of each gateway's own are served again, without a hand on anything.
    private func recover(from fault: String) throws {
        let start = Date()
        for (gateway, probe) in probes { try serve(probe, by: gateway, after: fault) }
        ledger.noteRecovery(Date().timeIntervalSince(start), from: fault)
    }

    /// Signs again and again until a request on each kind of route passes.
    private func serve(
        _ device: TestDevice, by gateway: GatewayProcess, after fault: String
    ) throws {
        let limit = Date(timeIntervalSinceNow: Self.recoverySeconds)
        var last = "nothing"
        var routes = ["strict", device.apple == nil ? "window" : "durable"]
        while let route = routes.first {
            guard Date() < limit else {
                throw FaultSiteError("no service on \(route) after \(fault): \(last)")
            }
            do {
                last = try request(device, route, by: gateway)
            } catch {
                last = "\(error)"
            }
            if last == "200" { routes.removeFirst() } else { _ = poll(nil, 0, 10) }
        }
    }

    private func request(
        _ device: TestDevice, _ route: String, by gateway: GatewayProcess
    ) throws -> String {
        let client = try gateway.connect()
        var challenge: String?
        if route != "durable" {
            let answer = try client.exchange("GET", "/assert/challenge")
            guard answer.status == 200 else { return "a challenge: \(answer.outcome)" }
            challenge = answer.bodyText
        }
        let call = try device.call(route, challenge: challenge)
        ledger.noteSigned(call)
        let keyID = device.keyID.base64
        defer { ledger.capture(call, key: keyID) }
        let start = Date()
        let answer = try call.exchange(on: client)
        ledger.note(answer, to: call, key: keyID, sentAt: start, isReplay: false)
        let isFine = FaultClient.refusals.union(allowed).contains(answer.outcome)
        ledger.expect(isFine || answer.status == 200, "a request again: \(answer.outcome)")
        return answer.outcome
    }

    // MARK: the crowd

    private func startCrowd() -> [Gate] {
        let (ports, ledger) = (gateways.map(\.port), ledger)
        clients = (0..<Self.clientCount).map { index in
            FaultClient(
                seed: FaultLength.seed &* 100 &+ UInt64(index), ports: ports, apple: site.apple,
                google: site.google, ledger: ledger, allowed: allowed, clonedRoutes: clonedRoutes)
        }
        let path = gateways[0].configurationPath
        var parts: [@Sendable () -> Void] = clients.map { client in { client.run() } }
        parts.append {
            let generator = SeededGenerator(FaultLength.seed &+ 7)
            var attacker = FaultAttacker(ports: ports, ledger: ledger, generator: generator)
            attacker.run()
        }
        parts.append { Self.operate(path, ledger) }
        return parts.map { part in
            let gate = Gate()
            Thread.detachNewThread {
                part()
                gate.open()
            }
            return gate
        }
    }

    /// Revokes a key now and then.
    private static func operate(_ configurationPath: String, _ ledger: FaultLedger) {
        while !ledger.isOver {
            ledger.wait(actions: 60, until: Date(timeIntervalSinceNow: 5))
            guard !ledger.isOver, let keyID = ledger.takeExpendableKey() else { continue }
            do {
                let outcome = try BuiltProgram.run(
                    ["keys", "revoke", "-c", configurationPath, keyID])
                // 1: a store was away, and the operator knows that he has to ask again.
                if outcome.status == .exited(0) { ledger.noteRevoked(keyID) }
                ledger.expect(
                    [.exited(0), .exited(1)].contains(outcome.status),
                    "keys revoke: \(outcome.status) \(outcome.standardError)")
            } catch {
                ledger.expect(false, "keys revoke: \(error)")
            }
        }
    }

    // MARK: the end

    /// Everything that was ever sent comes once more, through every gateway.
    private func replayAll() {
        let (captured, ledger, gateways) = (ledger.captured, ledger, gateways)
        // Two connections to each gateway share the work.
        DispatchQueue.concurrentPerform(iterations: gateways.count * 2) { index in
            let gateway = gateways[index / 2]
            var client: RawClient?
            for item in stride(from: index % 2, to: captured.count, by: 2).map({ captured[$0] }) {
                guard Self.replay(item, through: gateway, on: &client, ledger) else {
                    // One that no longer serves does not for the rest, either.
                    return ledger.expect(
                        false, "no answer to replays in peace; \(gateway.ending)")
                }
            }
        }
    }

    /// False where the gateway has not answered, or only with 503, for as long as a recovery may
    /// take.
    private static func replay(
        _ item: CapturedCall, through gateway: GatewayProcess, on client: inout RawClient?,
        _ ledger: FaultLedger
    ) -> Bool {
        let limit = Date(timeIntervalSinceNow: recoverySeconds)
        while Date() < limit {
            do {
                let open = try client ?? gateway.connect()
                client = open
                let start = Date()
                let answer = try item.call.exchange(on: open)
                ledger.note(answer, to: item.call, key: item.keyID, sentAt: start, isReplay: true)
                if answer.status != 503 { return true }
            } catch {
                client = nil
            }
            _ = poll(nil, 0, 10)
        }
        return false
    }

    /// An acknowledged enrolment and an acknowledged revocation are never lost.
    private func compareKeys() throws {
        let outcome = try BuiltProgram.run(
            ["keys", "list", "--limit", "100000", "-c", gateways[0].configurationPath])
        ledger.expect(outcome.status == .exited(0), "keys list: \(outcome.standardError)")
        var statuses: [String: String] = [:]
        for line in outcome.standardOutput.split(separator: "\n") {
            let value = try JSONValue.parse(String(line))
            guard let keyID = value["key_id"]?.stringValue else { continue }
            statuses[keyID] = value["status"]?.stringValue ?? ""
        }
        for keyID in ledger.acknowledged {
            ledger.expect(statuses[keyID] != nil, "an enrolment was lost: \(keyID)")
        }
        for keyID in ledger.revoked {
            ledger.expect(
                statuses[keyID] == "revoked",
                "a revocation was lost: \(keyID) is \(statuses[keyID] ?? "unknown")")
        }
    }

    /// Each honest device goes on with its key at each gateway; each revoked one does not.
    private func serveEverybody() throws {
        let revoked = ledger.revoked
        for device in clients.flatMap({ $0.allDevices.suffix(20) }) {
            for gateway in gateways {
                if revoked.contains(device.keyID.base64) {
                    try refuse(device, by: gateway)
                } else if !ledger.isBeingRevoked(device.keyID.base64) {
                    try serve(device, by: gateway, after: "everything")
                }
            }
        }
    }

    /// A gateway that has yet to hear of the counters' last loss says so first, once.
    private func refuse(_ device: TestDevice, by gateway: GatewayProcess) throws {
        let limit = Date(timeIntervalSinceNow: Self.recoverySeconds)
        var outcome: String
        repeat {
            outcome = try device.call("strict", at: gateway).exchange(with: gateway).outcome
        } while FaultClient.refusals.contains(outcome) && Date() < limit
        ledger.expect(outcome == "403 key_revoked", "a revoked key in peace: \(outcome)")
    }

    /// What was answered with 200 reached the upstream; nothing else but signed requests did; and
    /// no counter and no challenge of a key came twice. A phone's request has a challenge.
    private func compareUpstream() {
        var bodies: Set<String> = []
        var counters: Set<String> = []
        var challenges: Set<String> = []
        var platforms: Set<String> = []
        for request in site.upstream.requests where !request.body.isEmpty {
            let body = request.message.bodyText
            ledger.expect(bodies.insert(body).inserted, "seen twice: \(body)")
            guard let value = try? JSONValue.parse(body), let key = value["key"]?.stringValue else {
                ledger.expect(false, "nobody signed this: \(body)")
                continue
            }
            let counter = value["counter"]?.integerValue
            let platform = counter == nil ? "android" : "apple"
            platforms.insert(platform)
            ledger.expect(
                request["X-Attest-Result"] == "verified" && request["X-Attest-Key"] == key
                    && request["X-Attest-Platform"] == platform,
                "not said to be verified: \(body)")
            if let counter {
                ledger.expect(
                    counters.insert("\(key) \(counter)").inserted, "a counter came twice: \(body)")
            }
            let challenge = value["challenge"]?.stringValue
            ledger.expect(
                counter != nil || challenge != nil, "nothing stops its replay: \(body)")
            if let challenge {
                ledger.expect(
                    challenges.insert("\(key) \(challenge)").inserted,
                    "a challenge came twice: \(body)")
            }
        }
        ledger.expect(platforms.count == 2, "only devices of \(platforms) were served")
        ledger.expect(ledger.accepted.isSubset(of: bodies), "200 without the upstream")
        ledger.expect(bodies.isSubset(of: ledger.signed), "what nobody has signed was passed on")
    }
}
