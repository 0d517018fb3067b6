import AppAttestTesting
import EventLoop

/// The requests of the demo, in order. The first act: keys and assertions.
struct DemoScenario {
    let client: DeviceClient
    let apple: SimulatedApple
    let device: SimulatedDevice
    /// A token of another device, for DeviceCheck.
    let deviceToken: String
    /// The gateway's setting `challenge.ttl`.
    let challengeLife: Duration
    private(set) var rows: [DemoRow] = []

    init(
        client: DeviceClient, apple: SimulatedApple, device: SimulatedDevice,
        deviceToken: String, challengeLife: Duration
    ) {
        self.client = client
        self.apple = apple
        self.device = device
        self.deviceToken = deviceToken
        self.challengeLife = challengeLife
    }

    /// Marks a request, so that the upstream's log tells the rows apart.
    static let rowField = "X-Demo-Row"
    static let transfer = HTTPRequest(
        method: "POST", target: "/api/transfer",
        fields: [("Content-Type", "application/json")], body: Array(#"{"amount":10}"#.utf8))

    mutating func playFirstAct() throws {
        let early = try client.assertionChallenge()
        let earlyAt = MonotonicInstant.now()
        try enrol()
        let accepted = try pass()
        try alter(accepted)
        try presentOtherKeys()
        try presentStaleChallenges(early, issuedAt: earlyAt)
        var open = HTTPRequest(method: "GET", target: "/health")
        open.fields = [("X-Attest-Result", "verified"), ("X_Attest_Key", "mine")]
        try send("open route, with X-Attest-* of its own", open, .arrived(.unmarked))
    }

    // MARK: enrolment

    private mutating func enrol() throws {
        let challenge = try client.attestationChallenge(for: device.keyID)
        let enrolment = try DeviceClient.enrolment(of: device, by: apple, challenge: challenge)
        try send("attestation of the device's key", enrolment)
        try send("the same attestation again (a lost answer)", enrolment)
        let stranger = try SimulatedDevice(appID: device.appID)
        let other = try SimulatedApple(around: WallClock.now().seconds)
        let forged = try DeviceClient.enrolment(
            of: stranger, by: other, challenge: try client.attestationChallenge(for: stranger.keyID)
        )
        try send("attestation under another root", forged, .refused(403, "attestation_invalid"))
    }

    // MARK: asserted requests

    func signed(
        _ request: HTTPRequest = transfer, by signer: SimulatedDevice? = nil,
        challenge: String? = nil, fault: AssertionFault? = nil
    ) throws -> HTTPRequest {
        try (signer ?? device).signing(
            request, challenge: try challenge ?? client.assertionChallenge(), fault: fault)
    }

    /// Sends a request that must reach the upstream, and returns it.
    private mutating func pass() throws -> HTTPRequest {
        let request = try signed()
        let answer = try send("asserted request", request, .arrived(.verified()))
        guard let next = answer.nextChallenge else {
            throw LabError("the answer brought no next challenge")
        }
        let second = try signed(challenge: next)
        try send("another request, with that answer's challenge", second, .arrived(.verified()))
        return second
    }

    private mutating func alter(_ accepted: HTTPRequest) throws {
        try send("the same assertion again", accepted, .refused(401, "assertion_replayed"))
        var changed = try signed()
        changed.body = Array(#"{"amount":1000000}"#.utf8)
        try send("changed body", changed, .refused(401, "body_mismatch"))
        changed = try signed()
        changed.target = "/api/refund"
        try send("another path than was signed", changed, .refused(401, "request_mismatch"))
        changed = try signed()
        changed.method = "PUT"
        try send("another method than was signed", changed, .refused(401, "request_mismatch"))
        try send("no assertion", Self.transfer, .refused(401, "assertion_required"))
        try send(
            "forged signature", try signed(fault: .otherKey), .refused(401, "assertion_invalid"))
    }

    private mutating func presentOtherKeys() throws {
        let stranger = try SimulatedDevice(appID: device.appID)
        try send("key that never enrolled", try signed(by: stranger), .refused(401, "key_unknown"))
    }

    private mutating func presentStaleChallenges(
        _ early: String, issuedAt: MonotonicInstant
    ) throws {
        let challenge = try client.assertionChallenge()
        try send(
            "request with a fresh challenge", try signed(challenge: challenge),
            .arrived(.verified()))
        try send(
            "new assertion over that spent challenge", try signed(challenge: challenge),
            .refused(401, "challenge_expired"))
        try waitUntil(issuedAt + challengeLife + .milliseconds(200))
        try send(
            "expired challenge", try signed(challenge: early), .refused(401, "challenge_expired"))
    }

    func waitUntil(_ instant: MonotonicInstant) throws {
        guard MonotonicInstant.now() < instant else { return }
        let loop = try EventLoop()
        let timer = Timer(loop: loop) { loop.stop() }
        timer.schedule(after: instant - MonotonicInstant.now())
        loop.run()
    }

    /// Sends a request and notes the outcome. `leaving`: the client leaves once the body of the
    /// answer has begun.
    @discardableResult
    mutating func send(
        _ title: String, _ request: HTTPRequest, _ expected: DemoRow.Outcome = .accepted,
        leaving: Bool = false
    ) throws -> HTTPAnswer {
        var marked = request
        marked.fields.append((Self.rowField, "\(rows.count + 1)"))
        let answer = leaving ? try client.leave(marked) : try client.send(marked)
        rows.append(
            DemoRow(
                title: title, request: "\(request.method) \(request.target)", expected: expected,
                answer: answer))
        return answer
    }

    /// Enrols a device without a row in the table, and returns the ticket of its installation.
    @discardableResult
    func enrol(_ device: SimulatedDevice) throws -> String? {
        let challenge = try client.attestationChallenge(for: device.keyID)
        let answer = try client.send(
            try DeviceClient.enrolment(of: device, by: apple, challenge: challenge))
        guard answer.status == 200 else { throw LabError("not enrolled: \(answer.text)") }
        return answer.member("installation")
    }
}
