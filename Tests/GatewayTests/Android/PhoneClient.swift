import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import KeyStore
import Settings
import Testing

@testable import Gateway

/// A simulated Android phone and its connection to a gateway under test.
final class PhoneClient {
    static let package = "com.example.bank"
    static let digest = SHA256.hash(Array("the certificate that signs the app".utf8))
    /// Made once: its keys take longer than most tests.
    static let google = Result {
        try SimulatedGoogle(around: Int64(Date().timeIntervalSince1970))
    }

    let phone: SimulatedPhone
    let client: RawClient

    init(
        _ gateway: GatewayUnderTest, _ configure: (inout PhoneProfile) -> Void = { _ in }
    ) throws {
        var profile = PhoneProfile(package: Self.package, signingDigest: Self.digest)
        configure(&profile)
        phone = try SimulatedPhone(profile)
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
        let bytes = Array(challenge.utf8)
        let attested = bytes.count > 128 ? SHA256.hash(bytes).array : bytes
        let chain = try phone.attestation(
            challenge: attested, by: Self.google.get(), at: Int64(Date().timeIntervalSince1970),
            fault: fault)
        var writer = JSONWriter()
        writer.beginObject()
        if let platform { writer.member("platform", string: platform) }
        writer.member("key_id", string: phone.keyID.base64)
        writer.beginArray("chain")
        for certificate in chain { writer.element(string: Base64.encode(certificate)) }
        writer.endArray()
        writer.member("challenge", string: challenge)
        writer.endObject()
        return try client.exchange(
            "POST", "/attest/verify", body: writer.finish().readable.array)
    }

    /// The fields of a request whose client data is in a header.
    func fields(
        _ method: String, _ path: String, body: [UInt8] = [], challenge: String? = nil
    ) throws -> [(String, String)] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member(
            "challenge",
            string: try challenge ?? client.exchange("GET", "/assert/challenge").bodyText)
        writer.member("method", string: method)
        writer.member("path", string: path)
        writer.member("bodySHA256", string: Base64.encode(SHA256.hash(body).array))
        writer.endObject()
        let clientData = writer.finish().readable.array
        return [
            ("X-App-Attest-Key-Id", phone.keyID.base64),
            ("X-App-Attest-Client-Data", Base64.encode(clientData)),
            (
                "X-App-Attest-Assertion",
                Base64.encode(try phone.sign(clientData: clientData))
            ),
        ]
    }

    func request(_ method: String, _ path: String, body: [UInt8] = []) throws -> HTTPMessage {
        try client.exchange(
            method, path, fields: fields(method, path, body: body), body: body)
    }
}
