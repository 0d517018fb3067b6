import AndroidAttestation
import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Crypto
import Foundation
import GatewayTesting
import KeyStore
import Settings
import Testing

@testable import Gateway

/// A simulated Android phone and its connection to a gateway under test.
final class PhoneClient {
    static let package = GatewayConfiguration.package
    static let digest = GatewayConfiguration.signingDigest
    /// Made once: its keys take longer than most tests.
    static let google = Result {
        try SimulatedGoogle(around: Int64(Date().timeIntervalSince1970))
    }

    let phone: SimulatedPhone
    let client: RawClient

    init(
        _ gateway: GatewayUnderTest, _ configure: (inout PhoneProfile) -> Void = { _ in }
    ) throws {
        phone = try .ofTests(configure)
        client = try gateway.client()
    }

    /// A gateway whose operator has an app for Android beside those of Apple's platforms.
    static func gateway(
        demands: AndroidDemands = AndroidDemands(signingDigests: [digest]),
        revocations: @escaping @Sendable () -> AndroidPlatform.Revocations = { .off },
        _ configure: (inout Settings) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        let roots = try Certificate.parsePEM(google.get().rootPEM).map(\.der)
        return try GatewayUnderTest(
            platforms: [.appAttest(), .android(revocations: revocations)]
        ) {
            $0.apps.append(
                AppIdentity(android: package, environments: [.production], demands: demands))
            $0.trust.androidRoots = roots
            configure(&$0)
        }
    }

    func enrol(fault: AndroidFault? = nil, platform: String? = "android") throws -> HTTPMessage {
        let challenge = try client.exchange("GET", "/attest/challenge").bodyText
        return try enrol(challenge: challenge, fault: fault, platform: platform)
    }

    func enrol(
        challenge: String, fault: AndroidFault? = nil, platform: String? = "android"
    ) throws -> HTTPMessage {
        try client.exchange(
            "POST", "/attest/verify",
            body: phone.enrolmentBody(
                challenge: challenge, by: Self.google.get(), fault: fault, platform: platform))
    }

    /// The fields of a request whose client data is in a header.
    func fields(
        _ method: String, _ path: String, body: [UInt8] = [], challenge: String? = nil
    ) throws -> [(String, String)] {
        let challenge = try challenge ?? client.exchange("GET", "/assert/challenge").bodyText
        return try phone.sign(method: method, path: path, body: body, challenge: challenge)
            .headers.map { ($0.name, $0.value) }
    }

    func request(_ method: String, _ path: String, body: [UInt8] = []) throws -> HTTPMessage {
        try client.exchange(
            method, path, fields: fields(method, path, body: body), body: body)
    }
}
