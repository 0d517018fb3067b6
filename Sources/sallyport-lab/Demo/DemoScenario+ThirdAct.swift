import AndroidAttestation
import AndroidAttestationTesting
import EventLoop

/// The third act: Android phones, on the route of the first act.
extension DemoScenario {
    mutating func playThirdAct(_ phones: DemoPhones) throws {
        let phone = try SimulatedPhone(phones.profile(.trustedEnvironment))
        try enrol(phone, phones.google)
        try presentOtherChains(phones)
        try passAndAlter(phone)
        try withdraw(phone, phones)
    }

    // MARK: enrolment

    private func enrolment(
        _ phone: SimulatedPhone, _ google: SimulatedGoogle, fault: AndroidFault? = nil
    ) throws -> HTTPRequest {
        try DeviceClient.enrolment(
            of: phone, by: google, challenge: try client.attestationChallenge(for: nil),
            fault: fault)
    }

    private mutating func enrol(_ phone: SimulatedPhone, _ google: SimulatedGoogle) throws {
        let enrolment = try enrolment(phone, google)
        try send("certificates of the phone's key", enrolment)
        try send("the same certificates again (a lost answer)", enrolment)
    }

    private mutating func presentOtherChains(_ phones: DemoPhones) throws {
        let faults: [(fault: AndroidFault, title: String)] = [
            (.otherRoot, "certificates under another root"),
            (.leafBelowGenuineLeaf, "a genuine phone's key vouches for one outside it"),
            (.softwareKey, "a key in software"),
            (.unlocked, "a phone with an unlocked boot loader"),
            (.bootUnverified, "a phone that booted a changed system"),
            (.otherPackage, "another package"),
            (.otherSigner, "the package, signed by another developer"),
        ]
        for (fault, title) in faults {
            let stranger = try SimulatedPhone(phones.profile(.trustedEnvironment))
            try send(
                title, try enrolment(stranger, phones.google, fault: fault),
                .refused(403, "attestation_invalid"))
        }
    }

    // MARK: signed requests

    private func signed(
        by phone: SimulatedPhone, challenge: String? = nil, fault: PhoneSignatureFault? = nil
    ) throws -> HTTPRequest {
        try phone.signing(
            Self.transfer, challenge: try challenge ?? client.assertionChallenge(), fault: fault)
    }

    private mutating func passAndAlter(_ phone: SimulatedPhone) throws {
        let arrived = DemoRow.Outcome.arrived(.verified(level: "tee"))
        let answer = try send("request that the phone signed", try signed(by: phone), arrived)
        guard let next = answer.nextChallenge else {
            throw LabError("the answer brought no next challenge")
        }
        let second = try signed(by: phone, challenge: next)
        try send("the phone's next request, with that answer's challenge", second, arrived)
        try send("the same signature again", second, .refused(401, "assertion_replayed"))
        try send(
            "new signature over that spent challenge", try signed(by: phone, challenge: next),
            .refused(401, "assertion_replayed"))
        var changed = try signed(by: phone)
        changed.body = Array(#"{"amount":1000000}"#.utf8)
        try send("body changed after the phone signed it", changed, .refused(401, "body_mismatch"))
        try send(
            "signature of another key", try signed(by: phone, fault: .otherKey),
            .refused(401, "assertion_invalid"))
    }

    // MARK: withdrawn certificates

    /// A leaked key of a phone maker: its certificate is withdrawn after phones have enrolled.
    private mutating func withdraw(_ phone: SimulatedPhone, _ phones: DemoPhones) throws {
        try phones.withdraw(.trustedEnvironment)
        try waitForRevocation(of: phone)
        try send(
            "the phone, whose maker's key has leaked", try signed(by: phone),
            .refused(403, "key_revoked"))
        let forged = try SimulatedPhone(phones.profile(.trustedEnvironment))
        try send(
            "another key under the withdrawn certificate", try enrolment(forged, phones.google),
            .refused(403, "attestation_invalid"))
        let strongBox = try SimulatedPhone(phones.profile(.strongBox))
        try send("a key in StrongBox, under another one", try enrolment(strongBox, phones.google))
        try send(
            "request that StrongBox signed", try signed(by: strongBox),
            .arrived(.verified(level: "strongbox")))
    }

    /// Sends requests until one is refused. The gateway revokes keys in the background.
    private func waitForRevocation(of phone: SimulatedPhone) throws {
        let limit = MonotonicInstant.now() + UpstreamLog.patience
        while try client.send(try signed(by: phone)).status == 200 {
            guard MonotonicInstant.now() < limit else {
                throw LabError("the gateway did not revoke the key")
            }
            try waitUntil(MonotonicInstant.now() + .milliseconds(50))
        }
    }
}
