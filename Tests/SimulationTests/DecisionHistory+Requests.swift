import AppAttestTesting
import Attestation
import Bytes
import Foundation
import GatewayTesting
import GatewayTokens
import Policy
import Settings
import Testing

@testable import Gateway

/// The requests of a history: signed and not, rightly and with a fault, with tokens and again.
extension DecisionHistory {
    /// `key`: whose request it is; anybody's without it.
    func sendSigned(by key: Int? = nil) throws {
        let route = random.isOne(in: 10) ? nil : chooseRoute()
        let name = route?.name ?? AppEndpoint.assertToken.routeName
        let index = key ?? random.below(devices.count)
        var event: Event = ["event": "request", "route": name, "key": index]
        let challenge = try chooseChallenge(
            isOptional: route?.attest.challenge == .off, of: index, &event)
        let fault = chooseFault(of: devices[index], &event)
        // As its own platform signs with its key, or as the other one does.
        let device = fault == .platform ? twins[index] : devices[index]
        if let apple = devices[index].apple {
            let counter = chooseCounter(of: apple)
            event["counter"] = Int(counter)
            apple.counter = counter &- 1
        }
        let mismatch = random.isOne(in: 16) ? ["method", "path", "body"][random.below(3)] : ""
        if !mismatch.isEmpty { event["mismatch"] = mismatch }
        let body = try route == nil ? chooseAudience(&event) : String(sent.count)
        let signed = try sign(
            device, fault, method: mismatch == "method" ? "PUT" : "POST",
            path: mismatch == "path" ? "/other" : "/" + name,
            body: Array((mismatch == "body" ? body + "x" : body).utf8), challenge: challenge)
        if devices[index].apple == nil {
            let mark = phoneMarks[signed.clientData] ?? phoneMarks.count
            phoneMarks[signed.clientData] = mark
            event["mark"] = mark
        }
        var fields = signed.headers.map { ($0.name, $0.value) }
        fields += chooseBoundField(&event)
        // An assertion comes first, where the route takes both.
        if random.isOne(in: 16) { fields += try chooseToken(&event) }
        let bytes = Self.request(to: name, fields, body)
        sent.append((event, bytes))
        try send(event, bytes, to: anyGateway)
    }

    /// The only fault of what was signed.
    private enum Fault: String {
        case signature
        case app
        case platform
    }

    private func chooseFault(of device: TestDevice, _ event: inout Event) -> Fault? {
        let fault: Fault? =
            switch random.below(80) {
            case 0..<5: .signature
            case 5, 6: .platform
            // A phone's signature does not name its app.
            case 7, 8: device.apple == nil ? nil : .app
            default: nil
            }
        if let fault { event["fault"] = fault.rawValue }
        return fault
    }

    private func sign(
        _ device: TestDevice, _ fault: Fault?, method: String, path: String, body: [UInt8],
        challenge: String?
    ) throws -> SignedRequest {
        if case .apple(let apple) = device, fault == .app {
            return try apple.sign(
                method: method, path: path, body: body, challenge: challenge, fault: .otherApp)
        }
        return try device.sign(
            method: method, path: path, body: body, challenge: challenge,
            isForged: fault == .signature)
    }

    /// Hardly ever one on which an assertion is no proof.
    private func chooseRoute() -> Route {
        let route = routes[random.below(routes.count)]
        return route.attest.accept.contains(.assertion) || random.isOne(in: 10) ? route : routes[0]
    }

    private static func request(
        to name: String, _ fields: [(String, String)], _ body: String = ""
    ) -> [UInt8] {
        var text = "POST /\(name) HTTP/1.1\r\nHost: a\r\n"
        text += "Content-Length: \(body.utf8.count)\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        return Array((text + "\r\n" + body).utf8)
    }

    /// The app's counter as it is, a gap, or a step back.
    private func chooseCounter(of device: SimulatedDevice) -> UInt32 {
        let next = (highestSigned[device.keyID] ?? 0) + 1
        let counter: UInt32 =
            switch random.below(80) {
            case 0: next + 1_023
            case 1: UInt32(max(1, Int(next) - 1_026 + random.below(3)))
            case 2..<11: next + UInt32(random.below(6))
            case 11..<30: UInt32(max(1, Int(next) - 1 - random.below(7)))
            case 30..<40: max(1, next - 1)
            default: next
            }
        highestSigned[device.keyID] = max(highestSigned[device.keyID] ?? 0, counter)
        return counter
    }

    private func chooseChallenge(
        isOptional: Bool, of key: Int, _ event: inout Event
    ) throws -> String? {
        switch random.below(isOptional ? 4 : 24) {
        case 0:
            event["words"] = "none"
            return nil
        case 1:
            guard let opened = challenges.last?.opened else { break }
            event["words"] = "foreign"
            let other = try #require(ChallengeSealer(keys: [Self.foreignKey]))
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
        if choice == nil {
            try fetchChallenge()
            choice = challenges.indices.last
        }
        guard let choice else {
            // No gateway has reached its store yet.
            event["words"] = "own"
            return "a word of the app's"
        }
        event["challenge"] = choice
        return challenges[choice].text
    }

    func sendAgain() throws {
        guard !sent.isEmpty else { return }
        let reach = random.isOne(in: 2) ? min(sent.count, 6) : sent.count
        let (event, bytes) = sent[sent.count - 1 - random.below(reach)]
        try send(event, bytes, to: anyGateway)
    }

    func sendUnsigned() throws {
        let name = try #require(openNames.randomElement(using: &random))
        try send(["event": "request", "route": name], Self.request(to: name, []), to: anyGateway)
    }

    /// Which side of a rollout a client without a key is on is its address's business.
    private var openNames: [String] { routes.map(\.name).filter { $0 != "rollout" } }

    // MARK: session tokens

    func sendToken() throws {
        guard !tokens.isEmpty else { return }
        let names =
            openNames + [
                "session", "session", "tokens", "tokens", AppEndpoint.assertToken.routeName,
            ]
        let name = names[random.below(names.count)]
        var event: Event = ["event": "request", "route": name]
        let fields = try chooseToken(&event) + chooseBoundField(&event)
        try send(event, Self.request(to: name, fields), to: anyGateway)
    }

    private func chooseToken(_ event: inout Event) throws -> [(String, String)] {
        guard !tokens.isEmpty else { return [] }
        let reach = random.isOne(in: 4) ? tokens.count : min(tokens.count, 3)
        let index = tokens.count - 1 - random.below(reach)
        var text = tokens[index]
        event["token"] = index
        switch random.below(16) {
        case 0:
            event["token_fault"] = "signature"
            var parts = text.split(separator: ".").map(String.init)
            parts[2] = (parts[2].first == "A" ? "B" : "A") + parts[2].dropFirst()
            text = parts.joined(separator: ".")
        case 1:
            event["token_fault"] = "foreign"
            let ours = try #require(SessionTokenSealer(keys: [Self.challengeKey]))
            let others = try #require(SessionTokenSealer(keys: [Self.foreignKey]))
            let session = try ours.open(Array(text.utf8).span)
            text = String(decoding: others.token(of: session), as: UTF8.self)
        default: break
        }
        return [("X-App-Attest-Token", text)]
    }

    /// What the body asks for at the endpoint that issues tokens.
    private func chooseAudience(_ event: inout Event) throws -> String {
        let audiences = [[], [], ["session"], ["tokens"], ["session", "tokens"], ["strict"]]
        let names = audiences[random.below(audiences.count)]
        guard !names.isEmpty else { return "" }
        event["audience"] = names
        let body = try JSONSerialization.data(withJSONObject: ["routes": names])
        return String(decoding: body, as: UTF8.self)
    }

    /// The header that tokens may be bound to: mostly that of the same user.
    private func chooseBoundField(_ event: inout Event) -> [(String, String)] {
        let value: String? =
            switch random.below(12) {
            case 0: nil
            case 1: "another"
            default: "user"
            }
        guard let value else { return [] }
        event["bound"] = value
        return [("Authorization", value)]
    }
}
