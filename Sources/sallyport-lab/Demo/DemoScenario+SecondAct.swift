import AppAttestTesting
import Bytes

/// The second act: other kinds of proof, and other demands.
extension DemoScenario {
    mutating func playSecondAct() throws {
        try exchangeForToken()
        try comeInVersions()
        try fallBack()
        try beObserved()
    }

    // MARK: session tokens

    private static let feed = HTTPRequest(method: "GET", target: "/feed/latest")
    private static let tokenField = "X-App-Attest-Token"

    private mutating func exchangeForToken() throws {
        let exchange = HTTPRequest(method: "POST", target: "/assert/token")
        let answer = try send("an assertion, for a session token", try signed(exchange))
        guard let token = answer.member("token") else {
            throw LabError("no session token: \(answer.text)")
        }
        var request = Self.feed
        request.fields = [(Self.tokenField, token)]
        try send(
            "the token, on a route that accepts it", request, .arrived(.verified(tier: "token")))
        try send("the token once more", request, .arrived(.verified(tier: "token")))
        request.fields = [(Self.tokenField, String(token.dropLast(4)) + "AAAA")]
        try send("a tampered token", request, .refused(401, "token_invalid"))
        var transfer = Self.transfer
        transfer.fields.append((Self.tokenField, token))
        try send(
            "the token, on a route that wants an assertion", transfer,
            .refused(401, "assertion_required"))
    }

    // MARK: versions

    private mutating func comeInVersions() throws {
        let order = HTTPRequest(
            method: "POST", target: "/shop/order", fields: [("Content-Type", "application/json")],
            body: Array(#"{"item":7}"#.utf8))
        let versions: [(version: String, title: String, outcome: DemoRow.Outcome)] = [
            ("4.2", "app 4.2, which the route requires", .arrived(.verified())),
            (
                "4.1", "app 4.1, in its grace period",
                .arrived(.verified(), told: "update_app")
            ),
            ("3.9", "app 3.9, outdated", .refused(403, "app_outdated")),
        ]
        for (version, title, outcome) in versions {
            let installation = try SimulatedDevice(
                appID: device.appID, system: .iOS27, bundleVersion: version)
            try enrol(installation)
            try send(title, try signed(order, by: installation), outcome)
        }
    }

    // MARK: the fallback tier

    private mutating func fallBack() throws {
        var trial = HTTPRequest(method: "GET", target: "/trial/start")
        trial.fields = [("X-Device-Check-Token", deviceToken)]
        try send(
            "a device token, of a device without App Attest", trial,
            .arrived(.verified(tier: "device_check")))
        try send("the same device token again", trial, .refused(401, "device_token_invalid"))
        trial.fields = [("X-Device-Check-Token", Base64.encode(Array("unknown".utf8)))]
        try send(
            "a device token that Apple does not know", trial,
            .refused(401, "device_token_invalid"))
    }

    // MARK: observing

    private mutating func beObserved() throws {
        let old = HTTPRequest(method: "GET", target: "/legacy/list")
        try send("an old app without a proof, only observed", old, .arrived(.unverified))
        try send(
            "a forged signature, only observed", try signed(old, fault: .otherKey),
            .arrived(.unverified))
        try send("an assertion, only observed", try signed(old), .arrived(.verified()))
    }
}
