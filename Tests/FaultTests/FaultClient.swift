import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting

/// One app on its devices, Apple's and Android phones, in the middle of everything that fails.
final class FaultClient: @unchecked Sendable {
    private let ports: [UInt16]
    private let apple: SimulatedApple
    private let google: SimulatedGoogle
    private let ledger: FaultLedger
    private let allowed: Set<String>
    private let clonedRoutes: [String]
    private var generator: SeededGenerator
    /// Those that sign now; for whoever waits until the client has ended also all that ever did.
    private var devices: [TestDevice] = []
    private(set) var allDevices: [TestDevice] = []
    private var connections: [UInt16: RawClient] = [:]
    /// What came with a device's last answer.
    private var nextChallenges: [KeyID: String] = [:]

    /// The routes that need no challenge, so that they take no phones.
    private static let unchallengedRoutes: Set = ["durable", "body"]

    /// What may be said to a fresh request, beside 200.
    static let refusals: Set = [
        "503 store_unavailable", "503 gateway_busy", "401 challenge_expired",
    ]

    /// `allowed`: what a scenario's faults may do to a fresh request beyond that. `clonedRoutes`:
    /// where a clone that repeats a counter is always found out.
    init(
        seed: UInt64, ports: [UInt16], apple: SimulatedApple, google: SimulatedGoogle,
        ledger: FaultLedger, allowed: Set<String>, clonedRoutes: [String]
    ) {
        generator = SeededGenerator(seed)
        self.ports = ports
        self.apple = apple
        self.google = google
        self.ledger = ledger
        self.clonedRoutes = clonedRoutes
        self.allowed = Self.refusals.union(allowed).union(["200"])
    }

    /// Until the ledger is closed.
    func run() {
        while !ledger.isOver {
            let port = ports[Int.random(in: ports.indices, using: &generator)]
            do {
                try act(on: port)
                ledger.progress()
            } catch {
                // The gateway has just died.
                connections = [:]
                _ = poll(nil, 0, 1)
            }
        }
        connections = [:]
    }

    private func connection(_ port: UInt16) throws -> RawClient {
        if let connection = connections[port] { return connection }
        let fresh = try RawClient(port: port)
        connections[port] = fresh
        return fresh
    }

    private func act(on port: UInt16) throws {
        guard devices.count >= 2 else { return try enrol(port) }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: try enrol(port)
        case 1..<12: try send(port)
        case 12..<14: try sendAtOnce()
        case 14: try signTwice(port)
        case 15: try clone(port)
        case 16, 17: try forge(port)
        case 18: try half(port)
        default:
            let answer = try connection(port).exchange("GET", "/open/x")
            ledger.expect(answer.status == 200, "an open route: \(answer.outcome)")
        }
    }

    private func enrol(_ port: UInt16) throws {
        let client = try connection(port)
        let challenge = try client.exchange("GET", "/attest/challenge")
        guard challenge.status == 200 else { return }
        let (device, body) = try enrolment(challenge.bodyText)
        let answer = try client.exchange("POST", "/attest/verify", body: body)
        ledger.expect(
            answer.outcome == "200" || Self.refusals.contains(answer.outcome),
            "an enrolment: \(answer.outcome)")
        guard answer.status == 200 else { return }
        ledger.noteAcknowledged(device.keyID.base64)
        devices.append(device)
        allDevices.append(device)
        if devices.count > 4 { devices.removeFirst() }
    }

    /// A new device and the body that enrols it. Every second device is a phone.
    private func enrolment(_ challenge: String) throws -> (TestDevice, [UInt8]) {
        guard allDevices.count.isMultiple(of: 2) else {
            let device = try SimulatedDevice(appID: GatewayConfiguration.appID)
            let body = try FaultSite.attestation(device, challenge: challenge, by: apple)
            return (.apple(device), body)
        }
        let isRemote = Bool.random(using: &generator)
        let phone = try SimulatedPhone.ofTests {
            if isRemote { $0.provisioning = .remote }
        }
        return (.android(phone), try phone.enrolmentBody(challenge: challenge, by: google))
    }

    /// For one of its devices, or for any; nil where the gateway has none to give now.
    private func challenge(_ port: UInt16, for device: TestDevice) throws -> String? {
        let kept = nextChallenges.removeValue(forKey: device.keyID)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: if let kept { return kept }
        case 1:
            return try fetchChallenge(
                port, "?key_id=" + Base64.encodeURL(device.keyID.digest.array))
        default: break
        }
        return try fetchChallenge(port)
    }

    private func fetchChallenge(_ port: UInt16, _ query: String = "") throws -> String? {
        // Any gateway's challenge is as good as another's.
        let isElsewhere = Int.random(in: 0..<5, using: &generator) == 0
        let source = isElsewhere ? ports.randomElement(using: &generator) ?? port : port
        let answer = try connection(source).exchange("GET", "/assert/challenge" + query)
        ledger.expect([200, 503].contains(answer.status), "a challenge: \(answer.outcome)")
        return answer.status == 200 ? answer.bodyText : nil
    }

    private func anyDevice() -> TestDevice {
        devices[Int.random(in: devices.indices, using: &generator)]
    }

    private func anyRoute() -> String {
        let routes = ["strict", "strict", "window", "window", "durable", "body"]
        return routes[Int.random(in: routes.indices, using: &generator)]
    }

    private func sign(_ device: TestDevice, _ route: String, _ challenge: String) throws
        -> SignedCall
    {
        // Routes without challenges take any number of requests with one.
        let isChallenged = !Self.unchallengedRoutes.contains(route)
        let call = try device.call(route, challenge: isChallenged ? challenge : nil)
        ledger.noteSigned(call)
        return call
    }

    private func send(_ port: UInt16) throws {
        let device = anyDevice()
        guard let challenge = try challenge(port, for: device) else { return }
        let route = anyRoute()
        let call = try sign(device, route, challenge)
        let keyID = device.keyID.base64
        defer { ledger.capture(call, key: keyID) }
        let start = Date()
        let answer = try call.exchange(on: try connection(port))
        ledger.note(answer, to: call, key: keyID, sentAt: start, isReplay: false)
        nextChallenges[device.keyID] = answer.nextChallenge
        let isRevoked = answer.outcome == "403 key_revoked" && ledger.isBeingRevoked(keyID)
        let isUnrepeatable = device.apple != nil || !Self.unchallengedRoutes.contains(route)
        let outcomes =
            isUnrepeatable ? allowed : Self.refusals.union(["401 challenge_required"])
        ledger.expect(
            isRevoked || outcomes.contains(answer.outcome), "a fresh request: \(answer.outcome)")
        if isRevoked { devices.removeAll { $0.keyID == device.keyID } }
    }

    /// The same request through all gateways at the same moment.
    private func sendAtOnce() throws {
        let device = anyDevice()
        guard let challenge = try challenge(ports[0], for: device) else { return }
        let call = try sign(device, anyRoute(), challenge)
        let keyID = device.keyID.base64
        defer { ledger.capture(call, key: keyID) }
        let start = Date()
        let clients = try (ports + ports).map { try RawClient(port: $0) }
        for client in clients { try call.send(on: client) }
        for (index, client) in clients.enumerated() {
            // One that has died takes nothing from what the others say.
            guard let answer = try? client.receive() else { continue }
            ledger.note(answer, to: call, key: keyID, sentAt: start, isReplay: index > 0)
        }
    }

    /// An app that uses one challenge for two requests.
    private func signTwice(_ port: UInt16) throws {
        let device = anyDevice()
        guard let challenge = try challenge(port, for: device) else { return }
        let route = Bool.random(using: &generator) ? "strict" : "window"
        let calls = try (0..<2).map { _ in try sign(device, route, challenge) }
        try sendBoth(calls, of: device)
    }

    /// Two devices with one key: both sign with the same counter, each with a challenge of its own.
    private func clone(_ port: UInt16) throws {
        let device = anyDevice()
        // Phones count nothing, so both of theirs are accepted.
        guard let apple = device.apple else { return try signTwice(port) }
        guard let one = try challenge(port, for: device),
            let other = try challenge(port, for: device)
        else { return }
        let route = clonedRoutes[Int.random(in: clonedRoutes.indices, using: &generator)]
        let first = try sign(device, route, one)
        apple.counter -= 1
        try sendBoth([first, try sign(device, route, other)], of: device)
    }

    /// Each to another gateway; at most one may pass.
    private func sendBoth(_ calls: [SignedCall], of device: TestDevice) throws {
        let keyID = device.keyID.base64
        defer { for call in calls { ledger.capture(call, key: keyID) } }
        let gateways = ports.shuffled(using: &generator)
        for (index, call) in calls.enumerated() {
            let start = Date()
            let answer = try call.exchange(on: try connection(gateways[index % gateways.count]))
            ledger.note(answer, to: call, key: keyID, sentAt: start, isReplay: index > 0)
        }
    }

    private func forge(_ port: UInt16) throws {
        guard let captured = ledger.captured(using: &generator) else { return }
        let call = captured.call
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
        let answer = try connection(port).exchange(
            call.method, call.target, fields: fields, body: body)
        ledger.noteForged()
        ledger.expect([401, 403, 503].contains(answer.status), "a forgery: \(answer.outcome)")
    }

    /// A request whose client goes away before it is whole.
    private func half(_ port: UInt16) throws {
        guard let call = ledger.captured(using: &generator)?.call else { return }
        var head = "\(call.method) \(call.target) HTTP/1.1\r\nHost: a\r\n"
        for (name, value) in call.fields { head += "\(name): \(value)\r\n" }
        head += "Content-Length: \(call.body.count + 1)\r\n\r\n"
        let client = try RawClient(port: port)
        try client.send(Array(head.utf8) + call.body)
        if Bool.random(using: &generator) { client.socket.reset() }
    }
}

/// Somebody who has heard every request and sends it again, to whoever may take it.
struct FaultAttacker {
    let ports: [UInt16]
    let ledger: FaultLedger
    var generator: SeededGenerator

    mutating func run() {
        while !ledger.isOver {
            guard let captured = ledger.captured(using: &generator) else {
                ledger.wait(actions: 1, until: Date(timeIntervalSinceNow: 1))
                continue
            }
            for port in ports.shuffled(using: &generator) {
                guard let client = try? RawClient(port: port) else { continue }
                for _ in 0..<2 where !ledger.isOver {
                    guard (try? replay(captured, on: client)) != nil else { break }
                }
            }
            ledger.progress()
        }
    }

    private func replay(_ captured: CapturedCall, on client: RawClient) throws {
        let start = Date()
        let answer = try captured.call.exchange(on: client)
        ledger.note(
            answer, to: captured.call, key: captured.keyID, sentAt: start, isReplay: true)
    }
}
