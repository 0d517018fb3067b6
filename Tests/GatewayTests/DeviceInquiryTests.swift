import AppAttest
import AppAttestTesting
import AppleServices
import Attestation
import Background
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import JSON
import Judgement
import KeyStore
import Settings
import Testing

import class EventLoop.Thread

@testable import Gateway

/// Bits of devices if a store or the service that asks Apple fails, and what signals make of them.
@Suite("Bits of devices", .timeLimit(.minutes(30)))
struct DeviceInquiryTests {}

extension DeviceInquiryTests {
    private static let secret = Array("0123456789abcdef".utf8)

    private static func gateway(
        _ configure: (inout SignalSettings.DeviceBits) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest { settings in
            var deviceCheck = DeviceCheckSettings(teamID: "ABCDE12345")
            deviceCheck.bitNames = ["trial_used", "banned"]
            deviceCheck.adminSecret = Secret(secret)
            settings.deviceCheck = deviceCheck
            var bits = SignalSettings.DeviceBits()
            configure(&bits)
            settings.signals.deviceBits = bits
            settings.timeouts.registry = .seconds(1)
            settings.rateLimits.append(.suspects)
        }
    }

    private func device(
        _ gateway: GatewayUnderTest, _ bits: DeviceBits?
    ) throws -> EnrolledDevice {
        let device = try EnrolledDevice(gateway, isKnown: false)
        var record = device.record
        record.deviceBits = bits
        gateway.registry.insert(record)
        return device
    }

    private func request(
        _ device: EnrolledDevice, _ path: String = "/attested/x"
    ) throws -> HTTPMessage {
        try device.send("GET", path, fields: try device.signedFields("GET", path))
    }

    private func ask(
        _ gateway: GatewayUnderTest, _ action: String, of keyID: KeyID, _ more: String = ""
    ) throws -> HTTPMessage {
        try RawClient(port: gateway.adminPort).exchange(
            "POST", "/device-check/" + action,
            fields: [("Authorization", "bearer 0123456789abcdef")],
            body: Array("{\"device_token\":\"AAAA\",\"key_id\":\"\(keyID.base64)\"\(more)}".utf8))
    }

    /// Stands for the control thread, for one question.
    private func answerOne(
        _ gateway: GatewayUnderTest, _ answer: @escaping @Sendable (DeviceQuestion) -> Void
    ) throws -> Thread {
        let mailbox = try Mailbox<DeviceQuestion>(countMax: 8)
        gateway.hub.devices.connect(mailbox)
        return try Thread.spawn(name: "apple", preparing: { try EventLoop() }) { loop in
            let receiver = mailbox.attach(to: loop) { question in
                answer(question)
                loop.stop()
            }
            loop.run()
            receiver.close()
        }
    }

    // MARK: the registry, beside Apple

    @Test("a registry that fails is told of, and Apple is not asked")
    func lookUpFails() throws {
        let gateway = try Self.gateway()
        let device = try device(gateway, nil)
        gateway.registry.fail("down")
        let down = try ask(gateway, "query", of: device.device.keyID)
        #expect(down.status == 503 && down.member("error") == "store_unavailable")
        #expect(down.member("detail")?.contains("not asked") == true)
        gateway.registry.fail(nil)
        let gate = Gate()
        gateway.registry.hold(until: gate)
        let slow = try ask(gateway, "query", of: device.device.keyID)
        #expect(slow.status == 503 && slow.member("error") == "store_unavailable")
        gate.open()
    }

    @Test("a registry that fails after Apple has answered is told of as that")
    func keepFails() throws {
        let gateway = try Self.gateway()
        let device = try device(gateway, nil)
        let registry = gateway.registry
        let answering = try answerOne(gateway) { question in
            registry.fail("down")
            question.reply(.changed(DeviceCheck.Bits(bit0: false, bit1: true)))
        }
        let answer = try ask(
            gateway, "update", of: device.device.keyID, #","bits":{"banned":true}"#)
        answering.join()
        #expect(answer.status == 503 && answer.member("error") == "store_unavailable")
        #expect(answer.member("detail")?.hasPrefix("Apple answered") == true)
        registry.fail(nil)
        // Sent again it is kept.
        let again = try answerOne(gateway) {
            $0.reply(.changed(DeviceCheck.Bits(bit0: false, bit1: true)))
        }
        let kept = try ask(
            gateway, "update", of: device.device.keyID, #","bits":{"banned":true}"#)
        again.join()
        #expect(kept.status == 200)
        #expect(try request(device).status == 200)
        #expect(gateway.upstream.requests.last?["X-Attest-Device-Bits"] == "banned")
    }

    @Test("a key that is erased while Apple answers is not there any more")
    func erasedMeanwhile() throws {
        let gateway = try Self.gateway()
        let device = try device(gateway, nil)
        let (registry, keyID) = (gateway.registry, device.device.keyID)
        let answering = try answerOne(gateway) { question in
            registry.set(.erased, of: keyID)
            question.reply(.answered(.neverSet))
        }
        let answer = try ask(gateway, "query", of: keyID)
        answering.join()
        #expect(answer.status == 404 && answer.member("error") == "key_unknown")
    }

    // MARK: enrolment

    @Test("where nobody can be asked a key enrols unless a token is required")
    func noDesk() throws {
        for token in SignalSettings.DeviceBits.Token.allCases {
            let gateway = try Self.gateway { $0.token = token }
            let device = try EnrolledDevice(gateway, isKnown: false)
            let challenge = try device.fetchChallenge("/attest/challenge")
            let answer = try device.attest(
                challenge: challenge, fields: [("X-Device-Check-Token", "AAAA")])
            #expect(answer.status == (token == .required ? 503 : 200))
            #expect(gateway.registry.recordCount == (token == .required ? 0 : 1))
            #expect(gateway.hub.meters[0].deviceTokenCount(.unavailable) == 1)
            #expect(gateway.hub.meters[0].deviceBitCount(1, .unknown) == 1)
        }
    }

    // MARK: requests

    @Test(
        "each bit has its own rule: one limits such keys, the other denies where a route enforces")
    func rules() throws {
        let gateway = try Self.gateway {
            $0.rules = [.atMost(0, .limit), .atMost(0, .deny)]
        }
        let clean = try device(gateway, DeviceBits(bit0: false, bit1: false))
        let unknown = try device(gateway, nil)
        let trial = try device(gateway, DeviceBits(bit0: true, bit1: false))
        let banned = try device(gateway, DeviceBits(bit0: false, bit1: true))
        #expect(try request(trial).status == 200)
        let limited = try request(trial)
        #expect(limited.status == 429 && limited.code == "rate_limited")
        for device in [clean, clean, unknown, unknown] {
            #expect(try request(device).status == 200)
        }
        #expect(try request(banned).code == "abuse_suspected")
        #expect(try request(banned, "/observed/x").status == 200)
        #expect(gateway.upstream.requests.last?["X-Attest-Result"] == "unverified")
        #expect(gateway.upstream.requests.last?["X-Attest-Device-Bits"] == nil)
        #expect(gateway.hub.meters[0].raisedCount(.bit0Keys) == 2)
        #expect(gateway.hub.meters[0].raisedCount(.bit1Keys) == 2)
    }
}
