import AppAttest
import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// Honest apps, attackers and failing machines all at once, for some seconds, under an oracle that
/// knows what may never happen.
///
/// `SALLYPORT_STRESS_SECONDS` and `SALLYPORT_STRESS_SEED` make a run longer and another one.
@Suite("Everything at once", .timeLimit(.minutes(10)))
struct FaultStressTests {
    private static func number(_ variable: String, _ fallback: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? fallback
    }

    private static let seconds = number("SALLYPORT_STRESS_SECONDS", 4)
    private static let seed = UInt64(number("SALLYPORT_STRESS_SEED", 1))

    @Test("one gateway with embedded counters that is killed, stopped and reloaded")
    func embedded() throws {
        let site = try FaultSite()
        site.configuration.workers = 2
        let gateway = try site.start()
        var extended = site.configuration
        extended.routes.append(.init("extra", path: "/extra"))
        let configurations = [site.configuration, extended]
        try run(site, [gateway], redis: nil) { step, generator in
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                try gateway.kill()
                try gateway.start()
            case 1:
                #expect(try gateway.terminate() == .exited(0))
                try gateway.start()
            default:
                #expect("\(try gateway.reload(configurations[step % 2]))".contains("reloaded"))
            }
        }
    }

    @Test(
        "two gateways on a Redis that is killed, flushed and stopped",
        .enabled(if: RedisServer.isInstalled))
    func redis() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        site.configuration.counters =
            "{ redis: \"\(redis.url)\", command_timeout: 100ms, connect_timeout: 200ms }"
        let gateways = [try site.start(), try site.start()]
        try run(site, gateways, redis: redis) { _, generator in
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: try redis.restart()
            case 1: try redis.command("FLUSHALL")
            case 2:
                redis.stop()
                _ = try? gateways[0].exchange("GET", "/open/x")
                redis.resume()
            case 3:
                try gateways[1].kill()
                try gateways[1].start()
            case 4:
                #expect(try gateways[0].terminate() == .exited(0))
                try gateways[0].start()
            default: break
            }
        }
    }

    /// Lets clients loose on `gateways` while `fault` breaks something again and again; then
    /// everything is whole again, and the books are compared.
    private func run(
        _ site: FaultSite, _ gateways: [GatewayProcess], redis: RedisServer?,
        fault: (Int, inout SeededGenerator) throws -> Void
    ) throws {
        let ledger = StressLedger(end: Date(timeIntervalSinceNow: TimeInterval(Self.seconds)))
        let (apple, ports) = (site.apple, gateways.map(\.port))
        let threads = (0..<4).map { index in
            let done = Gate()
            Thread.detachNewThread {
                StressClient(seed: Self.seed &* 100 &+ UInt64(index), ports, apple, ledger).run()
                done.open()
            }
            return done
        }
        var generator = SeededGenerator(Self.seed)
        var step = 0
        while ledger.waitForProgress(Int.random(in: 20...120, using: &generator)) {
            step += 1
            try fault(step, &generator)
            if step % 3 == 0, let keyID = ledger.expendableKey() {
                let outcome = try BuiltProgram.run(
                    ["keys", "revoke", "-c", gateways[0].configurationPath, keyID])
                // Where Redis was away, the registry has it all the same.
                #expect([.exited(0), .exited(1)].contains(outcome.status))
                ledger.noteRevoked(keyID)
            }
        }
        for thread in threads { thread.wait() }
        #expect(ledger.violations.isEmpty, "\(ledger.violations.prefix(5))")
        #expect(ledger.acceptedCount > 20, "\(ledger.summary)")
        if Self.seconds > 10 { print("seed \(Self.seed), \(step) faults: \(ledger.summary)") }

        // The books: what was answered with 200 reached the upstream, once; nothing else that is
        // not a signed request did; and nothing twice.
        let seen = site.seenBodies
        #expect(seen.values.allSatisfy { $0 == 1 })
        #expect(ledger.accepted.isSubset(of: seen.keys))
        #expect(Set(seen.keys).isSubset(of: ledger.signed))
        // An acknowledged enrolment and an acknowledged revocation are never lost.
        let listed = try BuiltProgram.run(
            ["keys", "list", "--limit", "100000", "-c", gateways[0].configurationPath])
        let lines = listed.standardOutput.split(separator: "\n")
        #expect(ledger.acknowledged.isSubset(of: KeyLines(listed.standardOutput).keyIDs))
        for keyID in ledger.revoked {
            let line = lines.first { $0.contains(keyID) }
            #expect(line?.contains(#""status":"revoked""#) == true)
        }
        for gateway in gateways {
            #expect(gateway.isUnharmed, "\(gateway.alarms)")
            let device = try site.enrolledDevice(at: gateway)
            let verdict = try gateway.poll { client in
                let challenge = try client.exchange("GET", "/assert/challenge").bodyText
                let answer = try device.call("window", challenge: challenge).exchange(on: client)
                return answer.status == 200 ? answer.verdict : nil
            }
            #expect(verdict == "200")
        }
    }
}

/// One app on its devices, an attacker who hears all it sends, and a broken network.
private final class StressClient {
    private let ports: [UInt16]
    private let apple: SimulatedApple
    private let ledger: StressLedger
    private var generator: SeededGenerator
    private var devices: [SimulatedDevice] = []
    private var sent: [(call: SignedCall, keyID: String)] = []
    private var connections: [UInt16: RawClient] = [:]

    init(seed: UInt64, _ ports: [UInt16], _ apple: SimulatedApple, _ ledger: StressLedger) {
        generator = SeededGenerator(seed)
        self.ports = ports
        self.apple = apple
        self.ledger = ledger
    }

    func run() {
        while !ledger.isOver {
            let port = ports[Int.random(in: ports.indices, using: &generator)]
            do {
                try act(on: port)
                ledger.progress()
            } catch {
                // The gateway has just died, or has closed what was garbage.
                connections[port] = nil
                _ = poll(nil, 0, 1)
            }
        }
    }

    private func connection(_ port: UInt16) throws -> RawClient {
        if let connection = connections[port] { return connection }
        let fresh = try RawClient(port: port)
        connections[port] = fresh
        return fresh
    }

    private func act(on port: UInt16) throws {
        let client = try connection(port)
        guard devices.count >= 2 else { return try enrol(client) }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: try enrol(client)
        case 1..<10: try send(client)
        case 10..<14: try replay(client)
        case 14, 15: try forge(client)
        case 16:
            let answer = try client.exchange("GET", "/open/x")
            ledger.expect(answer.status == 200, "an open route: \(answer.verdict)")
        case 17: try garbage(RawClient(port: port))
        default: try half(RawClient(port: port))
        }
    }

    private func enrol(_ client: RawClient) throws {
        let device = try SimulatedDevice(appID: GatewayConfiguration.appID)
        let challenge = try client.exchange("GET", "/attest/challenge")
        guard challenge.status == 200 else { return }
        let body = try FaultSite.attestation(device, challenge: challenge.bodyText, by: apple)
        let answer = try client.exchange("POST", "/attest/verify", body: body)
        ledger.expect([200, 503].contains(answer.status), "an enrolment: \(answer.verdict)")
        guard answer.status == 200 else { return }
        ledger.noteAcknowledged(device.keyID.base64)
        devices.append(device)
        if devices.count > 4 { devices.removeFirst() }
    }

    private func send(_ client: RawClient) throws {
        let challenge = try client.exchange("GET", "/assert/challenge")
        guard challenge.status == 200 else {
            ledger.expect(challenge.status == 503, "a challenge: \(challenge.verdict)")
            return
        }
        let device = devices[Int.random(in: devices.indices, using: &generator)]
        let route = ["strict", "window", "window", "durable", "body"].randomElement(
            using: &generator)
        let call = try device.call(route ?? "strict", challenge: challenge.bodyText)
        let keyID = device.keyID.base64
        sent.append((call, keyID))
        ledger.noteSigned(call.bodyText)
        let mayBeRevoked = ledger.revoked.contains(keyID)
        let verdict = try call.exchange(on: client).verdict
        ledger.note(verdict, of: call.bodyText, key: keyID)
        let allowed: Set = [
            "200", "503 store_unavailable", "401 challenge_expired", "403 key_revoked",
        ]
        ledger.expect(allowed.contains(verdict), "a fresh request: \(verdict)")
        ledger.expect(
            verdict != "403 key_revoked" || mayBeRevoked || ledger.isBeingRevoked(keyID),
            "revoked by nobody")
        if verdict == "403 key_revoked" { devices.removeAll { $0 === device } }
    }

    /// Whatever was sent before, answered or not, perhaps with another body or to another route.
    private func replay(_ client: RawClient) throws {
        guard let (call, keyID) = sent.suffix(60).randomElement(using: &generator) else { return }
        let verdict = try call.exchange(on: client).verdict
        ledger.note(verdict, of: call.bodyText, key: keyID)
    }

    private func forge(_ client: RawClient) throws {
        guard let (call, _) = sent.suffix(60).randomElement(using: &generator) else { return }
        var fields = call.fields
        var body = call.body
        let place = Int.random(in: 0...fields.count, using: &generator)
        if place == fields.count {
            body.append(0x20)
        } else {
            // Base64 of other bytes, whichever they are.
            let swap: [Character: Character] = ["A": "B", "B": "A"]
            fields[place].1 = String(fields[place].1.map { swap[$0] ?? $0 })
            guard fields[place].1 != call.fields[place].1 else { return }
        }
        let answer = try client.exchange(call.method, call.target, fields: fields, body: body)
        ledger.expect([401, 403, 503].contains(answer.status), "a forgery: \(answer.verdict)")
    }

    private func garbage(_ client: RawClient) throws {
        let count = Int.random(in: 1...400, using: &generator)
        try client.send((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
        client.socket.shutdownSending()
        _ = try client.receiveToEnd()
    }

    private func half(_ client: RawClient) throws {
        guard let (call, _) = sent.last else { return }
        var head = "\(call.method) \(call.target) HTTP/1.1\r\nHost: a\r\n"
        for (name, value) in call.fields { head += "\(name): \(value)\r\n" }
        head += "Content-Length: \(call.body.count + 1)\r\n\r\n"
        try client.send(Array(head.utf8) + call.body)
        if Bool.random(using: &generator) { client.socket.reset() }
    }
}

/// What the clients of a stress test know, and what must never happen.
private final class StressLedger: @unchecked Sendable {
    private let changed = NSCondition()
    private let end: Date
    private var actionCount = 0
    private var state = Books()

    private struct Books {
        var signed: Set<String> = []
        var accepted: Set<String> = []
        var acknowledged: Set<String> = []
        var revoked: Set<String> = []
        /// When a key was first refused as revoked.
        var refused: [String: Date] = [:]
        var candidate: String?
        var violations: [String] = []
        var verdicts: [String: Int] = [:]
    }

    init(end: Date) { self.end = end }

    var isOver: Bool { Date() >= end }
    var signed: Set<String> { changed.withLock { state.signed } }
    var accepted: Set<String> { changed.withLock { state.accepted } }
    var acceptedCount: Int { accepted.count }
    var acknowledged: Set<String> { changed.withLock { state.acknowledged } }
    var revoked: Set<String> { changed.withLock { state.revoked } }
    var violations: [String] { changed.withLock { state.violations } }
    var summary: String { changed.withLock { "\(actionCount) actions, \(state.verdicts)" } }

    func progress() {
        changed.withLock {
            actionCount += 1
            changed.broadcast()
        }
    }

    /// Waits until the clients have done `count` more things; false when the time is over.
    func waitForProgress(_ count: Int) -> Bool {
        changed.withLock {
            let goal = actionCount + count
            while actionCount < goal, Date() < end { _ = changed.wait(until: end) }
            return Date() < end
        }
    }

    func expect(_ isFine: Bool, _ text: String) {
        guard !isFine else { return }
        changed.withLock { state.violations.append(text) }
    }

    func noteSigned(_ body: String) { changed.withLock { _ = state.signed.insert(body) } }

    func noteAcknowledged(_ keyID: String) {
        changed.withLock { _ = state.acknowledged.insert(keyID) }
    }

    func note(_ verdict: String, of body: String, key keyID: String) {
        changed.withLock {
            state.verdicts[verdict, default: 0] += 1
            if verdict == "200" {
                if !state.accepted.insert(body).inserted {
                    state.violations.append("accepted twice: \(body)")
                }
                // The other worker or gateway may hear of it a quarter of a second later.
                if let since = state.refused[keyID], since.timeIntervalSinceNow < -2 {
                    state.violations.append("accepted after its revocation: \(body)")
                }
            }
            if verdict == "403 key_revoked", state.refused[keyID] == nil {
                state.refused[keyID] = Date()
            }
            if verdict == "401 key_unknown" { state.violations.append("a known key: \(verdict)") }
        }
    }

    /// A key whose revocation the caller is about to order.
    func expendableKey() -> String? {
        changed.withLock {
            let key = state.acknowledged.subtracting(state.revoked).randomElement()
            state.candidate = key
            return key
        }
    }

    func isBeingRevoked(_ keyID: String) -> Bool {
        changed.withLock { state.candidate == keyID || state.revoked.contains(keyID) }
    }

    func noteRevoked(_ keyID: String) { changed.withLock { _ = state.revoked.insert(keyID) } }
}
