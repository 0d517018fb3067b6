import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import KeyStore
import Testing

@testable import Gateway

/// The header that carries the next challenge.
let challengeField = "X-App-Attest-Challenge"

extension HTTPMessage {
    /// A member of a JSON body, as text.
    func member(_ name: String) -> String? {
        guard let value = try? JSONValue.parse(body.span, byteCountMax: 1 << 20, depthMax: 8),
            case .object(let members) = value, case .string(let text) = members[name]
        else { return nil }
        return text
    }

    /// The code of a problem document.
    var code: String? { member("code") }
}

/// A simulated device and its connection to a gateway under test.
final class EnrolledDevice {
    let gateway: GatewayUnderTest
    let device: SimulatedDevice
    let client: RawClient
    /// The last challenge that an answer carried.
    private(set) var challenge: String?

    /// A device whose key the registry knows unless `isKnown` is false; `enrols` makes it do that
    /// over the wire.
    init(
        _ gateway: GatewayUnderTest, appID: String = GatewayUnderTest.appID,
        environment: AttestEnvironment = .production, system: SimulatedSystem = .iOS26,
        version: String = "1", category: ValidationCategory = .appStore, isKnown: Bool = true,
        enrols: Bool = false
    ) throws {
        self.gateway = gateway
        device = try SimulatedDevice(
            appID: appID, environment: environment, system: system, bundleVersion: version,
            validationCategory: category.rawValue)
        client = try gateway.client()
        if enrols {
            let answer = try attest()
            try #require(answer.status == 200)
        } else if isKnown {
            gateway.registry.insert(record)
        }
    }

    /// Seconds since 1970.
    var now: Int64 { Int64(Date().timeIntervalSince1970) }

    var record: KeyRecord {
        KeyRecord(
            keyID: device.keyID, publicKey: device.publicKey, appID: device.appID,
            environment: device.environment, enrolledAt: 1)
    }

    /// Fetches an attestation challenge and enrols with it.
    func attest(fault: AttestationFault? = nil, boundTo keyID: KeyID? = nil) throws -> HTTPMessage {
        let token = try fetchChallenge(
            "/attest/challenge" + (keyID.map { "?key_id=\($0.base64)" } ?? ""))
        return try attest(challenge: token, fault: fault)
    }

    func attest(
        challenge token: String, fault: AttestationFault? = nil, fields: [(String, String)] = []
    ) throws -> HTTPMessage {
        let body = try attestation(challenge: token, fault: fault)
        return try send("POST", "/attest/verify", fields: fields, body: body)
    }

    /// The body of `POST /attest/verify`.
    func attestation(challenge token: String, fault: AttestationFault? = nil) throws -> [UInt8] {
        let hash = SHA256.hash(Array(token.utf8)).array
        let attestation = try device.attest(
            clientDataHash: hash, by: gateway.apple, at: now, fault: fault)
        return enrolment(attestation, challenge: token)
    }

    func enrolment(_ attestation: [UInt8], challenge: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("key_id", string: device.keyID.base64)
        writer.member("attestation", string: Base64.encode(attestation))
        writer.member("challenge", string: challenge)
        writer.endObject()
        return writer.finish().readable.array
    }

    func fetchChallenge(_ path: String = "/assert/challenge") throws -> String {
        let answer = try client.exchange("GET", path)
        try #require(answer.status == 200)
        return answer.bodyText
    }

    /// The challenge of the last answer, or a fresh one.
    func nextChallenge() throws -> String {
        if let challenge { return challenge }
        return try fetchChallenge()
    }

    func send(
        _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8] = []
    ) throws -> HTTPMessage {
        let answer = try client.exchange(method, target, fields: fields, body: body)
        challenge = answer[challengeField]
        return answer
    }

    /// Signs what it sends, in the `header` shape.
    func signedFields(
        _ method: String, _ path: String, body: [UInt8] = [], challenge: String? = nil,
        fault: AssertionFault? = nil
    ) throws -> [(String, String)] {
        let signed = try device.sign(
            method: method, path: path, body: body, challenge: challenge ?? nextChallenge(),
            fault: fault)
        return signed.headers.map { ($0.name, $0.value) }
    }

    /// A signed request and its answer.
    func request(
        _ method: String, _ path: String, body: [UInt8] = [], challenge: String? = nil,
        fault: AssertionFault? = nil
    ) throws -> HTTPMessage {
        let fields = try signedFields(
            method, path, body: body, challenge: challenge, fault: fault)
        return try send(method, path, fields: fields, body: body)
    }
}
